"""How runs are spread over threads: small ones several at a time, large ones each on all."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import NoReturn, TypeVar

from popsnet.network import Network

__all__ = ["RESIDENT", "in_turn", "no_records", "runs_at_a_time", "threads_here"]

RESIDENT = 2**20
"""The most packets of a run that is done by one thread."""

_PACKETS_AT_A_TIME = 2**22
_MOST_RUNS_AT_A_TIME = 4096

B = TypeVar("B")


def threads_here() -> int:
    """The processors that this program may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def runs_at_a_time(network: Network) -> int:
    """How many small runs a thread does before it comes back."""
    return min(max(_PACKETS_AT_A_TIME // network.n, 1), _MOST_RUNS_AT_A_TIME)


def in_turn(
    executor: Executor, workers: Sequence[Callable[[int, int], list[B]]], first: int, last: int,
    stride: int,
) -> Iterator[B]:  # fmt: skip
    """Runs first … last - 1, ``stride`` of them by each worker in its turn; in order."""
    waiting: deque[Future[list[B]]] = deque()
    for turn, start in enumerate(range(first, last, stride)):
        if len(waiting) == len(workers):  # the oldest is of the worker that comes now
            yield from waiting.popleft().result()
        work = workers[turn % len(workers)]
        waiting.append(executor.submit(work, start, min(start + stride, last)))
    for future in waiting:
        yield from future.result()


def no_records() -> NoReturn:
    """What an event of this engine says when asked for messages."""
    raise ValueError("The fused engine has no messages to record; use the slots engine.")
