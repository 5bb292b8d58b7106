"""The threads of a session, which execute several small runs at a time or share a large one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import numpy as np

from popsnet.base.system import threads_here

GAP = 16
"""Numbers between the parts of different threads: a cache line and its neighbour."""

_SECONDS_BETWEEN_REPORTS = 0.1


class Team:
    """Threads that work while the calling thread waits, and the flag that stops them.

    The calling thread does no work itself, so that an interrupt finds it waiting.
    """

    def __init__(self, size: int | None = None) -> None:
        self.size = size or threads_here()
        self.executor = ThreadPoolExecutor(self.size)
        self.stop = np.zeros(1, dtype=np.uint8)

    def do(self, work: Callable[[int], object], threads: int | None = None) -> Iterator[None]:
        """Call ``work(t)`` on each thread t, and yield now and then until all are done."""
        futures = [self.executor.submit(work, t) for t in range(threads or self.size)]
        while True:
            ended, others = wait(futures, _SECONDS_BETWEEN_REPORTS, FIRST_EXCEPTION)
            for future in ended:
                future.result()
            if not others:
                return
            yield

    def abandon(self) -> None:
        """Stop the threads that work. Later work has another flag."""
        self.stop[0] = 1
        self.stop = np.zeros(1, dtype=np.uint8)

    def close(self) -> None:
        """End the threads."""
        self.stop[0] = 1
        self.executor.shutdown(cancel_futures=True)
