"""The interface of compiled routers, which sessions run on their threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import run_key, step_key
from popsnet.engines.fused.arrays import I64, U8, U16, U32, U64, Records
from popsnet.engines.fused.team import Team
from popsnet.experiment.experiment import Instance
from popsnet.model.coins import Coins, number_of
from popsnet.model.network import Network
from popsnet.programs.router import Variant
from popsnet.workloads.permutations.keyed import KeyedPermutation
from popsnet.workloads.permutations.resolved import Destinations
from popsnet.workloads.permutations.uniform import UniformPermutation, fill, shuffle

RESIDENT = 2**20
"""The most packets of a run that is done by one thread, if it can be divided among several."""

W = TypeVar("W")
P = TypeVar("P")

StepReport: TypeAlias = Callable[[int, int, int], None]
"""A function of the steps done, the slots and the packets that are not delivered."""


class Seeds(NamedTuple):
    """Seeds of a sequence of runs on uniform permutations."""

    coins: np.uint64
    permutations: np.uint64


class RunSequence(NamedTuple):
    """The runs first, first + 1, … up to last, of which a thread does as many as a log holds."""

    seeds: Seeds
    first: int
    last: int
    drawn: bool
    """Whether a permutation is drawn for each run. If not, there is one run, of that in memory."""


class KeyedRounds(NamedTuple):
    """A computed permutation, for compiled code."""

    n: np.uint64
    half: np.uint64
    keys: U64

    @classmethod
    def of(cls, permutation: KeyedPermutation) -> KeyedRounds:
        """Return the rounds of a permutation."""
        return cls(np.uint64(permutation.n), np.uint64(permutation.half), permutation.keys)


class LargeRun(ABC):
    """Runs on all threads of a team, one after another in the same memory."""

    def __init__(self, n: int, modulus: int, kind: type[np.unsignedinteger[Any]], team: Team):
        self.team, self._n, self._modulus, self._kind = team, n, modulus, kind
        self._stored: npt.NDArray[Any] | None = None

    @abstractmethod
    def steps(self, instance: Instance, report: StepReport) -> Iterator[np.void]:
        """Route one permutation, and yield the row of the log of each step."""

    def targets(self, destination: Destinations) -> tuple[npt.NDArray[Any], KeyedRounds]:
        """Return all destinations mod ``modulus``, or none and the rounds that compute them."""
        if isinstance(destination, KeyedPermutation):
            return np.empty(0, dtype=self._kind), KeyedRounds.of(destination)
        if self._stored is None:
            self._stored = np.empty(self._n, dtype=self._kind)
        if isinstance(destination, UniformPermutation):
            destination.write(self._stored, self._modulus, self.team.size, self.team.executor.map)
        else:
            np.remainder(destination, self._modulus, out=self._stored, casting="unsafe")
        return self._stored, KeyedRounds.of(KeyedPermutation(1, Coins(0)))


class CompiledRuns(NamedTuple):
    """Compiled functions that do whole runs, each on one thread."""

    log: np.dtype[np.void]
    """The type of a row of the log: counts after a step, at least ``undelivered`` and ``slots``."""
    route: Callable[..., int]
    """``route(layout, program, work, sequence, log, steps, *kinds)`` executes runs, writes the
    number of steps of each, and returns how many there are."""
    summarize: Callable[..., None]
    """``summarize(layout, program, log, steps, table, survivors)`` sums up the log of runs into a
    row of counts each, and the survivors of each step."""


class Kernel(ABC, Generic[W]):
    """A compiled router on one network, with a workspace W for each thread.

    A kernel has no threads and no memory of its own.
    """

    layout: Any
    """The division of packets into blocks, a named tuple for compiled code."""
    program: Any
    """The steps, a named tuple for compiled code."""
    runs: ClassVar[CompiledRuns]
    """The functions that execute whole runs on one thread."""
    divisible: ClassVar[bool] = True
    """Whether a large run can be divided among threads."""

    def __init__(self, network: Network, variant: Variant, max_steps: int) -> None:
        self.network, self.variant, self.max_steps = network, variant, max_steps

    @property
    def kinds(self) -> tuple[bool | None, ...]:
        """For each kind of code that few programs need, True, or None to leave it uncompiled."""
        return ()

    def route(self, work: W, sequence: RunSequence, log: Records, steps: I64) -> int:
        """Execute runs as long as the log has room, and return how many."""
        fixed = self.layout, self.program, work
        return self.runs.route(*fixed, sequence, log, steps, *self.kinds)

    @abstractmethod
    def obstacle(self, keyed: bool) -> str | None:
        """Return why the kernel cannot run, with any amount of memory, or None if it can."""

    @property
    @abstractmethod
    def workspace_bytes(self) -> int:
        """The memory of a workspace."""

    @abstractmethod
    def large_run_bytes(self, threads: int, keyed: bool) -> int:
        """Return the memory of a large run on this many threads."""

    @abstractmethod
    def workspace(self, stop: U8) -> W:
        """Return the memory of a thread that executes whole runs, until ``stop`` is set."""

    @abstractmethod
    def load(self, work: W, instance: Instance) -> None:
        """Put the permutation of an instance into a workspace."""

    @abstractmethod
    def large_run(self, team: Team) -> LargeRun:
        """Return the memory of runs on all threads."""


def as_purposes(kind: Callable[..., P], *names: str) -> P:
    """Return the numbers of purposes of coins, for compiled code."""
    return kind(*(np.uint64(number_of(name)) for name in names))


@compiled
def begin_run(
    places: U16 | U32, modulus: int, purposes: Any, runs: RunSequence, run: int, drawn: U32
) -> np.uint64:
    """Write the uniform permutation of a run, mod ``modulus``, if it is drawn; return its seed.

    The purposes of every kernel's coins have those of runs and of permutations.
    """
    seeds = runs.seeds
    if not runs.drawn:
        return seeds.coins
    fill(places, modulus)
    key = step_key(run_key(seeds.permutations, purposes.run, run), purposes.permutation, 1)
    shuffle(places, 0, len(places), key, drawn)
    return run_key(seeds.coins, purposes.run, run)
