"""A point: one router on one network, with everything that decides its runs."""

from __future__ import annotations

import io
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from popsnet.coins import Coins
from popsnet.engines import ENGINES, Engine, Instance, Outcome, choose_engine, fused
from popsnet.errors import InputError, SizeError
from popsnet.experiments.footprint import require_memory
from popsnet.experiments.shown import shown
from popsnet.files import write_whole
from popsnet.network import Network
from popsnet.permutations import find_permutation, make_permutation
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.permutations.uniform import UniformPermutation
from popsnet.routing import Router, find_router
from popsnet.slot import Ints
from popsnet.trace import Observer, TraceWriter

__all__ = ["MAX_STEPS", "MOST_STEPS", "Point", "Run", "routed"]

MOST_STEPS = 10**6
"""No run may be longer."""

MAX_STEPS = 1000
"""Where a run is capped unless told otherwise."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its outcome and how long it took, permutation included.

    Of runs that were done together, each gets an equal share of the time.
    """

    outcome: Outcome
    seconds: float
    point: Point | None = field(default=None, compare=False, repr=False)
    """What was run; None if the run comes from another process."""
    number: int = field(default=0, compare=False, repr=False)
    """Which of the point's runs it is."""

    def __reduce__(self) -> tuple[type[Run], tuple[Outcome, float]]:
        """It can be sent to another process, as a result: a point cannot."""
        return type(self), (self.outcome, self.seconds)

    def _repr_html_(self) -> str:
        """The run in a notebook, played slot by slot."""
        return shown(self)


@dataclass(frozen=True)
class Point:
    """What is run. The same point gives the same runs, on any engine that can run it."""

    network: Network
    router: Router
    variant: str
    permutation: str
    seed: int
    permutation_seed: int
    engine: Engine
    max_steps: int

    @classmethod
    def of(
        cls,
        d: int,
        g: int,
        *,
        router: str = "mei-rizzi",
        variant: str | None = None,
        permutation: str = "random",
        seed: int = 0,
        permutation_seed: int = 0,
        engine: str = "auto",
        max_steps: int = MAX_STEPS,
        runs: int = 1,
        traced: bool = False,
    ) -> Point:
        """The point with these names and numbers; refuses what cannot be run, before any work.

        ``runs`` and ``traced`` say what is going to be done: how many runs, and whether one is
        traced; they decide which engine ``auto`` is.
        """
        network = Network(d, g)
        chosen = find_router(router)
        variant = chosen.choose_variant(variant, network)
        if traced:
            _require_route(chosen, variant)
        if not 1 <= max_steps <= MOST_STEPS:
            raise InputError(
                f"max_steps = {max_steps}: a run is capped after 1 to {MOST_STEPS:,} steps."
            )
        Coins(seed), Coins(permutation_seed)  # refuse what is no seed
        find_permutation(permutation)
        engine_chosen = choose_engine(engine, chosen, variant, network, runs=runs, traced=traced)
        keyed = permutation == "keyed"
        require_memory(network, engine_chosen, chosen, variant, keyed=keyed, traced=traced)
        if network.n >= 2**31 and permutation not in ("keyed", "random"):
            raise SizeError(
                f"Permutation {permutation} has 31-bit numbers and {network} n = {network.n:,} "
                "processors. Use --permutation keyed or random."
            )
        return cls(
            network=network,
            router=chosen,
            variant=variant,
            permutation=permutation,
            seed=seed,
            permutation_seed=permutation_seed,
            engine=engine_chosen,
            max_steps=max_steps,
        )

    def destination(self, run: int) -> Ints:
        """The permutation of a run: from the permutation seed and the run's number."""
        return self._instance(run).array()

    def execute(self, run: int, observers: Sequence[Observer] = ()) -> Run:
        """Do one run."""
        begin = time.perf_counter()
        outcome = self.engine.execute(self._instance(run), observers)
        return Run(outcome, time.perf_counter() - begin, self, run)

    def execute_traced(self, run: int, path: Path, observers: Sequence[Observer] = ()) -> Run:
        """Do one run and write its trace; the file appears when the run has ended."""
        with write_whole(path) as file:
            return self.write_trace(run, file, observers)

    def trace(self, run: int) -> str:
        """The trace of one run as text."""
        file = io.StringIO()
        self.with_messages().write_trace(run, file)
        return file.getvalue()

    def with_messages(self) -> Point:
        """The same point on an engine that executes messages, which can be traced."""
        _require_route(self.router, self.variant)
        return self if self.engine.messages else replace(self, engine=ENGINES["slots"])

    def write_trace(self, run: int, file: TextIO, observers: Sequence[Observer] = ()) -> Run:
        """Do one run and write its trace, as it happens, to an open file."""
        begin = time.perf_counter()
        instance = self._instance(run)
        trace = TraceWriter(file)
        trace.begin(
            self.network,
            self.router.name,
            self.variant,
            self.seed,
            instance.array(),
            self.router.buffers_on(self.network, self.variant),
        )
        outcome = self.engine.execute(instance, [trace, *observers])
        trace.end(outcome.slots, outcome.delivered, outcome.lost_packets)
        return Run(outcome, time.perf_counter() - begin, self, run)

    def _instance(self, run: int) -> Instance:
        coins = Coins(self.permutation_seed).for_run(run)
        destination: Ints | KeyedPermutation | UniformPermutation
        if self.permutation == "keyed":
            destination = KeyedPermutation(self.network.n, coins)
        elif self.permutation == "random":
            destination = UniformPermutation(self.network.n, coins)
        else:
            destination = make_permutation(self.permutation, self.network, coins)
            destination.flags.writeable = False
        coins = Coins(self.seed).for_run(run)
        return Instance(self.network, self.router, self.variant, destination, coins, self.max_steps)


def _require_route(router: Router, variant: str) -> None:
    """Refuse to trace what is no route."""
    if router.variant(variant).idealized:
        raise InputError(
            f"Variant {variant} of {router.name} gives statistics only, not a route to be traced."
        )


def routed(
    point: Point,
    runs: int,
    observers: Sequence[Observer] = (),
    threads: int | None = None,
    first: int = 0,
) -> Iterator[Run]:
    """So many runs of a point from number ``first`` on, each with its own permutation and coins.

    The ``fused`` engine uses so many ``threads`` (all there are, unless told): for small runs on
    uniform permutations several runs at a time, for large ones inside the run. Results do not
    depend on it.
    """
    numbers = range(first, first + runs)
    if point.engine.name != "fused":
        for run in numbers:
            yield point.execute(run, observers)
        return
    what = point.router.name, point.variant, point.network, point.max_steps
    with fused.open_session(*what, threads) as session:
        small = point.network.n <= fused.RESIDENT
        together: Iterator[list[Outcome]]
        if point.variant == "deferred" and small and isinstance(session, fused.Session):
            instances = (point._instance(run) for run in numbers)
            together = ([outcome] for outcome in session.execute_deferred(instances))
        elif point.permutation == "random" and small:
            seeds = (point.seed, point.permutation_seed)
            together = session.execute_many(point.variant, *seeds, runs, first)
        else:
            together = ([session.execute(point._instance(run), observers)] for run in numbers)
        number = iter(numbers)
        begin = time.perf_counter()
        for outcomes in together:
            share = (time.perf_counter() - begin) / len(outcomes)
            yield from (Run(outcome, share, point, next(number)) for outcome in outcomes)
            begin = time.perf_counter()
