"""The paper's router, compiled: its variants as kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from functools import cached_property, partial
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.coins import number_of
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.deferred import route_deferred, route_many_deferred
from popsnet.engines.fused.kernel import Kernel, Worker, rows_of_log
from popsnet.engines.fused.large import LargeRun, StepCounts, large_run_bytes, listed
from popsnet.engines.fused.passes import I64, U8, U32, Layout
from popsnet.engines.fused.resident import Scratch, law_of, route, route_many
from popsnet.engines.fused.summaries import summarize_deferred, summarize_mei_rizzi
from popsnet.engines.fused.threads import RESIDENT, runs_at_a_time, tell
from popsnet.engines.outcome import COLUMNS, Outcome, Outcomes
from popsnet.experiment import Instance
from popsnet.network import Network
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.permutations.uniform import CHUNK, RANDOM, UniformPermutation
from popsnet.routing.mei_rizzi import INTERMEDIATE_GROUP
from popsnet.slot import Ints
from popsnet.system import threads_here
from popsnet.trace import Observer

_SECONDS_BETWEEN_LOOKS = 0.5
_NOT_YET = -1
_LOGGED, _LOGGED_DEFERRED = 4, 7


def bytes_needed(network: Network, keyed: bool) -> int:
    """Memory for runs on all threads; permutations that are not computed are stored."""
    n, threads = network.n, threads_here()
    if n <= RESIDENT:
        return 40 * n * threads + 2**26
    waiting = 16 * n if network.d > network.g else 0  # copies, of the variant that stores them
    return large_run_bytes(Layout.of(network), threads) + (0 if keyed else 4 * n) + waiting


def obstacle(network: Network, variant: str, keyed: bool) -> str | None:
    """Why a variant cannot be run on a network, however much memory there is."""
    if variant == "published" and network.d != network.g:
        return "it has published for d = g only"
    if network.d >= 2**31:
        return f"it numbers the processors of a group with 31 bits, and d = {network.d:,}"
    if network.n > 2**38:
        return f"it numbers at most 2^38 processors, and n = {network.n:,}"
    stored = not keyed or variant == "deferred"
    if stored and network.n > RESIDENT and not listed(Layout.of(network)):
        return f"it stores permutations of up to 2^29 processors only, and n = {network.n:,}"
    return None


class MeiRizziKernel(Kernel):
    """The variants ``published``, for d = g, and ``idealized``."""

    _scratch: ClassVar = ("workers", "_resident", "_large_run", "_residues")

    def __init__(
        self, network: Network, variant: str, max_steps: int, threads: int | None = None
    ) -> None:
        super().__init__(network, max_steps, threads)
        self._layout, self._law = Layout.of(network), law_of(network, max_steps)
        self._executed = variant == "published"

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Route one permutation, a large one on all threads."""
        by = self._route_small if self._network.n <= RESIDENT else self._route_large
        counts: list[StepCounts] = []
        try:
            for step in by(instance, observers):
                counts.append(step)
                _tell(observers, step.pending, len(counts))
        except BaseException:  # threads are still at work in their memory
            self._abandon()
            raise
        return outcome_of(self._network.n, self._executed, counts)

    def _route_small(
        self, instance: Instance, observers: Sequence[Observer]
    ) -> Iterator[StepCounts]:
        log = np.empty((self._max_steps, _LOGGED), dtype=np.int64)
        seed, purpose = np.uint64(instance.coins.seed), np.uint64(number_of(INTERMEDIATE_GROUP))
        residues = (instance.array() % self._network.g).astype(np.uint16)
        fixed = self._layout, self._law, self._max_steps
        work = partial(route, *fixed, residues, seed, purpose, self._resident, log)
        steps = self._interruptible(work)
        yield from (StepCounts(*row) for row in log[:steps].tolist())

    def _route_large(
        self, instance: Instance, observers: Sequence[Observer]
    ) -> Iterator[StepCounts]:
        targets = self._targets(instance.destination)
        yield from self._large_run.steps(targets, instance.coins, partial(_tell, observers))

    def _targets(
        self, destination: Ints | KeyedPermutation | UniformPermutation
    ) -> npt.NDArray[np.uint16] | KeyedPermutation:
        """What says where packets go: all temporary groups, or the computed permutation."""
        if isinstance(destination, KeyedPermutation):
            return destination
        g, residues = self._network.g, self._residues
        if isinstance(destination, UniformPermutation):
            destination.write(residues, g, self._threads, self._executor.map)
        else:
            np.remainder(destination, g, out=residues, casting="unsafe")
        return residues

    @cached_property
    def _resident(self) -> Scratch:
        return Scratch.of(self._layout, self._stop)

    @cached_property
    def _large_run(self) -> LargeRun:
        return LargeRun(self._layout, self._law, self._max_steps, self._threads, self._executor)

    @cached_property
    def _residues(self) -> npt.NDArray[np.uint16]:
        return np.empty(self._network.n, dtype=np.uint16)

    def make_worker(self) -> Worker:
        """Return the memory of one more thread."""
        return _Worker(
            self._network, self._layout, self._law, self._max_steps, self._stop, self._executed
        )


def outcome_of(n: int, executed: bool, counts: Sequence[StepCounts]) -> Outcome:
    """Return the outcome of one run of n packets; see ``summarize_mei_rizzi``."""
    log, steps = np.array(counts, dtype=np.int64), np.array([len(counts)])
    table = np.empty((1, len(COLUMNS)), dtype=np.int64)
    survivors = np.empty(len(counts), dtype=np.int64)
    summarize_mei_rizzi(n, executed, log, steps, table, survivors)
    return Outcomes(table, survivors, steps[:0]).at(0)


def _purposes() -> npt.NDArray[np.uint64]:
    """The numbers of what coins are drawn for, as ``route_many`` wants them."""
    purposes = ("run", RANDOM, INTERMEDIATE_GROUP)
    return np.array([number_of(purpose) for purpose in purposes], dtype=np.uint64)


class _Worker(Worker):
    def __init__(
        self, network: Network, layout: Layout, law: npt.NDArray[np.uint64], max_steps: int,
        stop: U8, executed: bool,
    ) -> None:  # fmt: skip
        self._n, self._executed = network.n, executed
        self._fixed = layout, law, max_steps
        self._purposes, self._scratch = _purposes(), Scratch.of(layout, stop)
        rows = rows_of_log(network, max_steps)
        self._residues, self._drawn, self.steps, log = cut(
            (network.n, np.uint16), (CHUNK, np.uint32),
            (runs_at_a_time(network), np.int64), (_LOGGED * rows, np.int64),
        )  # fmt: skip
        self.log = log.reshape(rows, _LOGGED)

    def route(self, seeds: tuple[int, int], first: int, last: int) -> int:
        return route_many(
            *self._fixed, np.uint64(seeds[0]), np.uint64(seeds[1]), self._purposes, first, last,
            self._scratch, self._residues, self._drawn, self.log, self.steps,
        )  # fmt: skip

    def summarize(self, count: int, table: I64, survivors: I64) -> None:
        steps = self.steps[:count]
        summarize_mei_rizzi(self._n, self._executed, self.log, steps, table, survivors)


class _Copies(NamedTuple):
    """What a thread needs for runs in which copies wait."""

    scratch: Scratch
    waiting: U32

    @classmethod
    def of(cls, layout: Layout, stop: U8) -> _Copies:
        (waiting,) = cut((layout.d << layout.group_bits, np.uint32))
        return cls(Scratch.of(layout, stop), waiting)


class DeferredKernel(Kernel):
    """The variant ``deferred``, in which copies wait."""

    _scratch: ClassVar = ("workers", "_copies")

    def __init__(self, network: Network, max_steps: int, threads: int | None = None) -> None:
        super().__init__(network, max_steps, threads)
        self._layout, self._law = Layout.of(network), law_of(network, max_steps)

    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Route one permutation on one thread."""
        log = np.full((self._max_steps, _LOGGED_DEFERRED), _NOT_YET, dtype=np.int64)
        seed, purpose = np.uint64(instance.coins.seed), np.uint64(number_of(INTERMEDIATE_GROUP))
        destination = instance.array().astype(np.uint32)
        fixed = self._layout, self._law, self._max_steps, destination, seed, purpose
        future = self._executor.submit(route_deferred, *fixed, *self._copies, log)
        try:
            while not wait([future], _SECONDS_BETWEEN_LOOKS).done:
                steps = int(np.count_nonzero(log[:, 0] != _NOT_YET))
                _tell(observers, int(log[steps - 1, 0]) if steps else self._network.n, steps)
            steps, more = future.result()
        except BaseException:  # the thread is still at work in its memory
            self._abandon()
            raise
        table = np.empty((1, len(COLUMNS)), dtype=np.int64)
        survivors = np.empty(steps, dtype=np.int64)
        counts = np.array([more]), log, np.array([steps])
        summarize_deferred(self._network.n, *counts, table, survivors)
        return Outcomes(table, survivors, survivors[:0]).at(0)

    @cached_property
    def _copies(self) -> _Copies:
        return _Copies.of(self._layout, self._stop)

    def make_worker(self) -> Worker:
        """Return the memory of one more thread."""
        return _DeferredWorker(self._network, self._layout, self._law, self._max_steps, self._stop)


class _DeferredWorker(Worker):
    def __init__(
        self, network: Network, layout: Layout, law: npt.NDArray[np.uint64], max_steps: int,
        stop: U8,
    ) -> None:  # fmt: skip
        self._n, self._fixed = network.n, (layout, law, max_steps)
        self._purposes, self._copies = _purposes(), _Copies.of(layout, stop)
        rows, runs = rows_of_log(network, max_steps), runs_at_a_time(network)
        self._destination, self._drawn, self.steps, self._more, log = cut(
            (network.n, np.uint32), (CHUNK, np.uint32), (runs, np.int64), (runs, np.int64),
            (_LOGGED_DEFERRED * rows, np.int64),
        )  # fmt: skip
        self.log = log.reshape(rows, _LOGGED_DEFERRED)

    def route(self, seeds: tuple[int, int], first: int, last: int) -> int:
        return route_many_deferred(
            *self._fixed, np.uint64(seeds[0]), np.uint64(seeds[1]), self._purposes, first, last,
            *self._copies, self._destination, self._drawn, self.log, self.steps, self._more,
        )  # fmt: skip

    def summarize(self, count: int, table: I64, survivors: I64) -> None:
        counts = self._more[:count], self.log, self.steps[:count]
        summarize_deferred(self._n, *counts, table, survivors)


def _tell(observers: Sequence[Observer], pending: int, steps: float) -> None:
    tell(observers, int(steps), int(5 * steps), pending)
