"""The runner: does the shards that a store is missing, on threads or any other executor."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from functools import partial
from threading import Event
from typing import NamedTuple

from popsnet.engines.fused import threads_here
from popsnet.errors import InputError
from popsnet.experiments.footprint import available_memory, memory_needed
from popsnet.experiments.point import Point
from popsnet.experiments.shard import (
    SHARD_RUNS,
    Finished,
    Identity,
    Task,
    execute,
    shards_of,
    with_shard_engine,
)
from popsnet.experiments.store import Store

__all__ = ["Crew", "Job", "collect", "jobs_of", "require_workers"]

_LARGE = 2**22
"""Shards of networks up to this many processors are not counted against the memory."""

_AHEAD = 2
"""Shards handed over for each that can be at work: enough to keep the executor busy."""


def require_workers(workers: int | None) -> None:
    """Refuse a number of workers that could do nothing."""
    if workers is not None and workers < 1:
        raise InputError(f"workers = {workers}: somebody has to do the work; give at least 1.")


class Job(NamedTuple):
    """A task and the memory it takes."""

    task: Task
    memory: int


def jobs_of(point: Point, identity: Identity, shards: Iterable[int]) -> list[Job]:
    """Some shards of a point, on the engine for shards."""
    point, digest, memory = with_shard_engine(point), identity.digest, 0
    if point.network.n > _LARGE:
        keyed = point.permutation == "keyed"
        memory = memory_needed(
            point.network, point.engine, point.router, point.variant, keyed=keyed
        )
    return [Job(Task.of(point, digest, shard), memory) for shard in shards]


def collect(
    wanted: Sequence[tuple[Point, int]],
    store: Store,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Do so many runs of each point, except what the store has: small networks first.

    ``workers`` shards are at work at once: as many as there are processors, unless told. They
    go to threads of this program, or to the ``executor`` handed in. Only this thread writes to
    the store. If it is interrupted, or a shard fails, all that is finished is kept.
    """
    shards = _shards_wanted(wanted)
    total = sum(count for _, count in shards.values())
    jobs = _missing(shards, store)
    done = total - len(jobs)
    with Crew(executor, workers) as crew:
        try:
            for finished in crew.work(jobs):
                store.put(finished)
                done += 1
                if progress is not None:
                    progress(done, total)
        except BaseException:
            for finished in crew.stop():
                store.put(finished)
            raise


def _shards_wanted(wanted: Iterable[tuple[Point, int]]) -> dict[Identity, tuple[Point, int]]:
    """A point that is wanted twice is done once, with the larger number of runs."""
    shards: dict[Identity, tuple[Point, int]] = {}
    for point, runs in wanted:
        if runs < 1:
            raise InputError(f"runs = {runs}: there is nothing to do; give at least 1.")
        identity = Identity.of(point)
        _, before = shards.get(identity, (point, 0))
        shards[identity] = (point, max(before, shards_of(runs)))
    return shards


def _missing(shards: dict[Identity, tuple[Point, int]], store: Store) -> list[Job]:
    """What is to be done, small networks first: most results come early, and errors too."""
    ordered = sorted(shards.items(), key=lambda item: item[1][0].network.n)
    return [
        job
        for identity, (point, count) in ordered
        for job in jobs_of(point, identity, store.missing(identity, count * SHARD_RUNS))
    ]


class Crew:
    """Those who do the shards: some at a time, no more than fit in memory."""

    def __init__(self, executor: Executor | None = None, workers: int | None = None) -> None:
        require_workers(workers)
        self._workers = workers or threads_here()
        self._own = ThreadPoolExecutor(self._workers) if executor is None else None
        self._executor = executor or self._own
        self._stopped = Event()
        self._at_work: dict[Future[Finished], int] = {}
        self._memory = available_memory()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)

    def work(self, jobs: Iterable[Job]) -> Iterator[Finished]:
        """Do the jobs; results come as they are finished."""
        waiting = deque(jobs)
        while waiting or self._at_work:
            while waiting and self._has_room(waiting[0]):
                self._hand_over(waiting.popleft())
            done, _ = wait(self._at_work, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
                del self._at_work[future]  # only now: who was interrupted asks for it again

    def stop(self) -> Iterator[Finished]:
        """Do nothing more; give what is finished and was not taken.

        Threads of this program give up at the next step; nobody waits for others.
        """
        self._stopped.set()
        for future in self._at_work:
            future.cancel()
        if self._own is not None:
            wait(self._at_work)
        for future in self._at_work:
            if future.done() and not future.cancelled() and future.exception() is None:
                yield future.result()

    def _has_room(self, job: Job) -> bool:
        taken = sum(self._at_work.values())
        fits = taken + job.memory <= self._memory or not self._at_work
        return fits and len(self._at_work) < _AHEAD * self._workers

    def _hand_over(self, job: Job) -> None:
        work = partial(execute, stopped=self._stopped.is_set) if self._own else execute
        assert self._executor is not None
        self._at_work[self._executor.submit(work, job.task)] = job.memory
