"""A kernel: one compiled router on one network, with its threads and their memory.

Small runs are done several at a time, a run per thread; a large one on all threads.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from queue import SimpleQueue
from typing import ClassVar, Self

import numpy as np

from popsnet.engines.fused.passes import I64, U8
from popsnet.engines.fused.threads import STEPS_EXPECTED, runs_at_a_time
from popsnet.engines.outcome import COLUMNS, Outcome, Outcomes
from popsnet.experiment import Instance
from popsnet.network import Network
from popsnet.system import threads_here
from popsnet.trace import Observer


class Worker(ABC):
    """The memory of one thread that does run after run on uniform permutations."""

    log: I64
    """A row per step, run after run."""
    steps: I64
    """The steps of each run."""

    @abstractmethod
    def route(self, seeds: tuple[int, int], first: int, last: int) -> int:
        """Do runs first, first + 1, … up to last, or as many as the log holds; return how many.

        The seeds are those of the coins and of the permutations.
        """

    @abstractmethod
    def summarize(self, count: int, table: I64, survivors: I64) -> None:
        """Write a row of counts for each of the first runs in the log, and their survivors."""

    def run(self, seeds: tuple[int, int], numbers: range, stop: U8) -> Outcomes:
        """Do runs; fewer than these numbers if another thread says stop."""
        parts, first = [], numbers.start
        while first < numbers.stop and not stop[0]:
            count = self.route(seeds, first, numbers.stop)
            rows = int(self.steps[:count].sum())
            table = np.empty((count, len(COLUMNS)), dtype=np.int64)
            survivors = np.empty(rows, dtype=np.int64)
            self.summarize(count, table, survivors)
            parts.append(Outcomes(table, survivors, np.empty(0, dtype=np.int64)))
            first += count
        return Outcomes.joined(parts)


def rows_of_log(network: Network, max_steps: int) -> int:
    """Rows that the log of a worker has: at least one more run fits until it is nearly full."""
    return runs_at_a_time(network) * STEPS_EXPECTED + max_steps


class Kernel(ABC):
    """Runs of one compiled router, one after another in the same memory."""

    _scratch: ClassVar[tuple[str, ...]] = ("workers",)
    """Cached properties that threads write to."""

    def __init__(self, network: Network, max_steps: int, threads: int | None = None) -> None:
        self._network, self._max_steps = network, max_steps
        self._threads = threads or threads_here()
        self._executor = ThreadPoolExecutor(self._threads)
        self._stop = np.zeros(1, dtype=np.uint8)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop[0] = 1
        self._executor.shutdown(cancel_futures=True)

    @abstractmethod
    def execute(self, instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
        """Route one permutation, a large one on all threads."""

    @abstractmethod
    def make_worker(self) -> Worker:
        """Return the memory of one more thread."""

    @cached_property
    def workers(self) -> list[Worker]:
        """A worker for each thread."""
        return [self.make_worker() for _ in range(self._threads)]

    def execute_many(self, seeds: tuple[int, int], numbers: range) -> Iterator[Outcomes]:
        """Do runs on uniform permutations, a run per thread; in order, many at a time."""
        idle: SimpleQueue[Worker] = SimpleQueue()
        for worker in self.workers:
            idle.put(worker)
        stop, stride = self._stop, runs_at_a_time(self._network)

        def work(some: range) -> Outcomes:
            worker = idle.get()
            try:
                return worker.run(seeds, some, stop)
            finally:
                idle.put(worker)

        waiting: deque[Future[Outcomes]] = deque()
        try:
            for first in range(numbers.start, numbers.stop, stride):
                if len(waiting) >= 2 * self._threads:
                    yield waiting.popleft().result()
                some = range(first, min(first + stride, numbers.stop))
                waiting.append(self._executor.submit(work, some))
            while waiting:
                yield waiting.popleft().result()
        except BaseException:  # interrupted, or given up: threads are still at work
            for future in waiting:
                future.cancel()
            self._abandon()
            raise

    def _abandon(self) -> None:
        """Stop threads that are still at work, and leave them their memory."""
        self._stop[0] = 1
        self._stop = np.zeros(1, dtype=np.uint8)
        for name in self._scratch:
            self.__dict__.pop(name, None)

    def _interruptible(self, work: Callable[[], int]) -> int:
        """Do work on another thread, so that a wait for it can be interrupted."""
        return self._executor.submit(work).result()
