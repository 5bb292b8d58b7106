"""A point: one router on one network, with everything that decides its runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from popsnet.coins import Coins
from popsnet.engines import Engine, Instance, Outcome, choose_engine
from popsnet.errors import InputError
from popsnet.experiments.footprint import require_memory
from popsnet.files import write_whole
from popsnet.network import Network
from popsnet.permutations import find_permutation, make_permutation
from popsnet.routing import Router, find_router
from popsnet.slot import Ints
from popsnet.trace import Observer, TraceWriter

__all__ = ["MAX_STEPS", "Point", "Run", "routed"]

MAX_STEPS = 1000
"""Where a run is capped unless told otherwise; no run of a shipped router comes near it."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run: its outcome and how long it took, permutation included."""

    outcome: Outcome
    seconds: float


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
        traced: bool = False,
    ) -> Point:
        """The point with these names and numbers; refuses what cannot be run, before any work.

        ``traced`` says that a run will be traced, which takes more memory.
        """
        network = Network(d, g)
        chosen = find_router(router)
        variant = chosen.choose_variant(variant, network)
        if max_steps < 1:
            raise InputError(f"max_steps = {max_steps}: a run does at least one step; give >= 1.")
        Coins(seed), Coins(permutation_seed)  # refuse what is no seed
        find_permutation(permutation)
        engine_chosen = choose_engine(engine, chosen)
        require_memory(network, engine_chosen, chosen, traced)
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
        coins = Coins(self.permutation_seed).for_run(run)
        destination = make_permutation(self.permutation, self.network, coins)
        destination.flags.writeable = False  # a router reads it, never changes it
        return destination

    def execute(self, run: int, observers: Sequence[Observer] = ()) -> Run:
        """Do one run."""
        begin = time.perf_counter()
        outcome = self._route(run, self.destination(run), observers)
        return Run(outcome, time.perf_counter() - begin)

    def execute_traced(self, run: int, path: Path, observers: Sequence[Observer] = ()) -> Run:
        """Do one run and write its trace; the file appears when the run has ended."""
        begin = time.perf_counter()
        destination = self.destination(run)
        with write_whole(path) as file:
            trace = TraceWriter(file)
            trace.begin(self.network, self.router.name, self.variant, self.seed, destination)
            outcome = self._route(run, destination, [trace, *observers])
            trace.end(outcome.slots, outcome.delivered, outcome.lost)
        return Run(outcome, time.perf_counter() - begin)

    def _route(self, run: int, destination: Ints, observers: Sequence[Observer]) -> Outcome:
        instance = Instance(
            self.network,
            self.router,
            self.variant,
            destination,
            Coins(self.seed).for_run(run),
            self.max_steps,
        )
        return self.engine.execute(instance, observers)


def routed(point: Point, runs: int, observers: Sequence[Observer] = ()) -> Iterator[Run]:
    """Runs 0 to ``runs`` - 1 of a point, each with its own permutation and coins."""
    for run in range(runs):
        yield point.execute(run, observers)
