"""How runs are spread over threads: small ones several at a time, large ones each on all.

A session has threads and memory of its own, for run after run: fresh memory is slow.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import NamedTuple, NoReturn, Self

import numpy as np

from popsnet.engines.fused.passes import I64, U8
from popsnet.network import Network
from popsnet.trace import Event, Observer

__all__ = [
    "RESIDENT",
    "STEPS_EXPECTED",
    "Block",
    "Threads",
    "in_blocks",
    "in_turn",
    "runs_at_a_time",
    "tell",
    "threads_here",
]

RESIDENT = 2**20
"""The most packets of a run that is done by one thread."""

STEPS_EXPECTED = 16
"""A log has room for so many steps of each run; when it is full it is emptied."""

_PACKETS_AT_A_TIME = 2**22
_MOST_RUNS_AT_A_TIME = 4096


def threads_here() -> int:
    """The processors that this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def runs_at_a_time(network: Network) -> int:
    """How many small runs a thread does before it comes back."""
    return min(max(_PACKETS_AT_A_TIME // network.n, 1), _MOST_RUNS_AT_A_TIME)


class Threads:
    """The threads of a session, and the flag that tells them to stop."""

    def __init__(self, threads: int | None) -> None:
        self._threads = threads or threads_here()
        self._executor = ThreadPoolExecutor(self._threads)
        self._stop = np.zeros(1, dtype=np.uint8)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop[0] = 1
        self._executor.shutdown(cancel_futures=True)

    def _abandon(self, *memory: str) -> None:
        """Stop threads that are still at work, and leave them these cached properties."""
        self._stop[0] = 1
        self._stop = np.zeros(1, dtype=np.uint8)
        for name in memory:
            self.__dict__.pop(name, None)


class Block(NamedTuple):
    """Some runs: how many steps each took, and what was logged of all their steps."""

    steps: I64
    log: I64

    def rows(self) -> Iterator[list[list[int]]]:
        """What was logged of each run."""
        start, rows = 0, self.log.tolist()
        for steps in self.steps.tolist():
            yield rows[start : start + steps]
            start += steps


def in_blocks(
    work: Callable[[int, int], int], first: int, last: int, stop: U8, steps: I64, log: I64
) -> list[Block]:
    """Runs first … last - 1 by ``work``, which does as many as it can log, and says how many."""
    blocks: list[Block] = []
    while first < last and not stop[0]:
        count = work(first, last)
        done = steps[:count].copy()
        blocks.append(Block(done, log[: done.sum()].copy()))
        first += count
    return blocks


def in_turn(
    executor: Executor, workers: Sequence[Callable[[int, int], list[Block]]], first: int, last: int,
    stride: int,
) -> Iterator[Block]:  # fmt: skip
    """Runs first … last - 1, ``stride`` of them by each worker in its turn; in order."""
    waiting: deque[Future[list[Block]]] = deque()
    for turn, start in enumerate(range(first, last, stride)):
        if len(waiting) == len(workers):  # the oldest is of the worker that comes now
            yield from waiting.popleft().result()
        work = workers[turn % len(workers)]
        waiting.append(executor.submit(work, start, min(start + stride, last)))
    for future in waiting:
        yield from future.result()


def tell(observers: Sequence[Observer], step: int, slots: int, pending: int) -> None:
    """Let observers know how far a run has come."""
    event = Event(slots, "step", step, pending, _no_records)
    for observe in observers:
        observe(event)


def _no_records() -> NoReturn:
    raise ValueError("The fused engine has no messages to record; use the slots engine.")
