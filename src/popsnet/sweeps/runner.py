"""The runner: does the shards and points that a store is missing, on threads or any executor."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import nullcontext
from functools import partial
from heapq import nlargest
from pathlib import Path
from threading import Event
from typing import Any, TypeAlias

from popsnet import system
from popsnet.engines import Tally
from popsnet.errors import InputError, PopsnetError
from popsnet.experiment import Experiment, whole_number
from popsnet.progress import Progress, patient_progress
from popsnet.sweeps.goals import Goals, Wanted
from popsnet.sweeps.points import Point, execute_point, memory_of_point
from popsnet.sweeps.shard import Shards, execute_shards, memory_of
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep
from popsnet.sweeps.work import AHEAD, ONE_PIECE, Queue, Subject, cut
from popsnet.traffic.experiment import TrafficExperiment
from popsnet.traffic.result import TrafficResult

Finished: TypeAlias = Shards | Point


def require_workers(workers: int | None) -> None:
    """Refuse a number of workers that could do nothing."""
    if workers is not None:
        whole_number("workers", workers, 1)


def collect(
    experiments: Wanted,
    runs: int | None = None,
    store: Store | str | Path = "results.sqlite",
    *,
    until_se: float | str | None = None,
    max_runs: int | None = None,
    seconds: float | None = None,
    part: str | Sequence[int] | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = None,
) -> list[Tally]:
    """Run experiments, except for the runs that a store has already.

    Every finished shard of ten runs is kept in the store, so an interrupted or killed collection
    loses no finished shard: the same call does the rest.

    Parameters
    ----------
    experiments : Sweep, or iterable of Experiment or of pairs
        What to run: experiments, with ``runs``; pairs of an experiment and its number of runs;
        or a sweep, which has both, and may have points of continuous traffic, which are simulated
        as well.
    runs : int, optional
        Runs of each experiment, rounded up to whole shards of ten. With ``until_se``, the runs
        that are done in any case.
    store : Store, str or Path
        Where results are kept. A file that does not exist is made.
    until_se : str or float, optional
        Run each experiment until the standard error of its mean number of slots is at most this:
        a text such as ``"1%"`` is relative to the mean, a number is in slots. See Notes.
    max_runs : int, optional
        The most runs of an experiment with ``until_se``; 10,000 by default.
    seconds : float, optional
        Stop after this time. Finished shards are kept, and the tallies have fewer runs.
    part : str or pair of int, optional
        Do only one of several parts of equal work, such as ``"3/20"`` or ``(3, 20)``: for jobs
        that share the work. Parts are disjoint, together they are everything, and they do not
        depend on the store. The tallies are those of the part.
    executor : concurrent.futures.Executor, optional
        Where the work is done: a process pool or a cluster; by default, threads of this program.
    workers : int, optional
        How many shards are done at once; by default, as many as there are processors.
    progress : function, bool or None
        A function that is called with the shards done and the total (with ``until_se``, with
        experiments). None shows a bar on a terminal after two seconds, False shows nothing.

    Returns
    -------
    list of Tally
        Histograms of the runs of each experiment, in the order given.

    Notes
    -----
    The longest shards are handed out first, by an estimate: the slots that the router expects,
    times a constant plus a time per processor that depend on the engine.

    With ``until_se`` the standard error is computed after 50 runs, or ``runs`` if that is more,
    and then each time the number of runs has grown by a quarter. Which runs are done is therefore
    a function of the results, and does not depend on workers, interruptions or parts (with
    ``part``, whole experiments are divided, not their shards). Stopping at a small sample standard
    deviation makes that deviation slightly too small on average. For heavy-tailed results the
    mean is then too small as well; use a fixed number of runs for them. An experiment with capped
    runs ends at the next look without being precise: its mean is a lower bound.

    Examples
    --------
    >>> import popsnet
    >>> experiments = [popsnet.Experiment(g, g) for g in (4, 8)]
    >>> tallies = popsnet.collect(experiments, runs=20, store="results.sqlite")
    >>> [tally.runs for tally in tallies]
    [20, 20]

    Until the standard error of the mean is at most 2 % of it:

    >>> tallies = popsnet.collect(experiments, until_se="2%", store="results.sqlite")
    >>> [tally.runs for tally in tallies]
    [190, 50]
    """
    require_workers(workers)
    goals = Goals.of(experiments, runs, until_se, max_runs, part)
    deadline = deadline_after(seconds)
    with nullcontext(store) if isinstance(store, Store) else Store(store, create=True) as kept:
        kept.require_writes()
        pursue(goals, kept, deadline, Workers(executor, workers), progress)
        return goals.tallies(kept)


def collect_traffic(
    experiments: Sweep | Iterable[TrafficExperiment],
    store: Store | str | Path = "results.sqlite",
    *,
    seconds: float | None = None,
    part: str | Sequence[int] | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = None,
) -> list[TrafficResult | None]:
    """Simulate points of continuous traffic, except for those that a store has already.

    Every finished point is kept in the store, so an interrupted or killed collection loses no
    finished point: the same call does the rest.

    Parameters
    ----------
    experiments : Sweep or iterable of TrafficExperiment
        The points; of a sweep, its points of traffic alone.
    store, seconds, part, executor, workers, progress
        As for :func:`collect`, with points in place of shards.

    Returns
    -------
    list of TrafficResult or None
        The result of each point in the order given; None if it is not there yet. A result does not
        depend on the engine and names none.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.sweeps import collect_traffic
    >>> from popsnet.traffic.experiment import TrafficExperiment
    >>> points = [TrafficExperiment(4, 4, load=load, slots=1000) for load in (0.1, 0.2)]
    >>> results = collect_traffic(points, store="results.sqlite")
    >>> [result.load for result in results]
    [0.1, 0.2]
    """
    wanted = list(experiments.traffic if isinstance(experiments, Sweep) else experiments)
    require_workers(workers)
    goals = Goals.of_traffic(wanted, part)
    deadline = deadline_after(seconds)
    with nullcontext(store) if isinstance(store, Store) else Store(store, create=True) as kept:
        kept.require_writes()
        pursue(goals, kept, deadline, Workers(executor, workers), progress)
        found = {point.experiment: point.result for point in kept.traffic.points()}
        return [found.get(one) for one in wanted]


def deadline_after(seconds: float | None) -> float:
    """Return the moment after which no more work is done."""
    if seconds is None:
        return math.inf
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise InputError(f"seconds = {seconds!r}: it must be a positive number.")
    return time.monotonic() + seconds


def pursue(
    goals: Goals, store: Store, deadline: float, workers: Workers, progress: Progress = None
) -> None:
    """Do what the goals are missing, until a deadline; every finished shard or point is kept."""
    done, total = goals.shards_done(store)
    points = goals.missing_points(store)
    left = {one: None for one, goal in goals.goals.items() if goal.missing(store)}
    fixed = goals.precision is None
    counted, unit = (total, "shards") if fixed else (len(goals.goals), "experiments")
    counted, unit = counted + len(goals.points), _unit(unit, goals)
    simulated = len(goals.points) - len(points)
    with workers as crew, patient_progress("runs", counted, progress, unit) as report:
        queue, pending = Queue(), dict.fromkeys(goals.goals, 0)

        def add(experiment: Experiment) -> None:
            """Queue the next stage of an experiment, if it is not precise enough."""
            missing = goals.goals[experiment].missing(store)
            pending[experiment] = len(missing)
            queue.add(cut(experiment, missing, crew.count))
            if not missing:
                left.pop(experiment, None)

        for experiment in tuple(left):
            add(experiment)
        for point in points:
            queue.add([(point, ONE_PIECE)])
        try:
            for finished in crew.do(queue, deadline):
                store.put(finished)
                if isinstance(finished, Point):
                    simulated += 1
                else:
                    done += len(finished.numbers)
                    pending[finished.experiment] -= len(finished.numbers)
                    if not pending[finished.experiment]:
                        add(finished.experiment)
                report(simulated + (done if fixed else len(goals.goals) - len(left)))
        finally:
            for finished in crew.stop():
                store.put(finished)


def _unit(runs: str, goals: Goals) -> str:
    """Return what is counted, in words."""
    if not goals.points:
        return runs
    return f"{runs} and points" if goals.goals else "points"


class Workers:
    """Do shards and points: some at a time, no more than fit in memory."""

    def __init__(self, executor: Executor | None = None, workers: int | None = None) -> None:
        require_workers(workers)
        self.count = workers or system.threads_here()
        self._own = ThreadPoolExecutor(self.count) if executor is None else None
        self._executor = executor or self._own
        self._stopped = Event()
        self._at_work: dict[Future[Finished], int] = {}
        self._available = system.available_memory()
        self._needed: dict[Subject, int] = {}

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)

    def do(self, queue: Queue, deadline: float = math.inf) -> Iterator[Finished]:
        """Do the work of a queue and yield results as they are finished.

        Work may be added to the queue between results. After the deadline there are no more.
        """
        while queue or self._at_work:
            while len(self._at_work) < AHEAD * self.count:
                work = queue.take(self._fits)
                if work is None:
                    break
                self._hand_over(*work)
            time_left = None if deadline == math.inf else max(deadline - time.monotonic(), 0)
            done, _ = wait(self._at_work, timeout=time_left, return_when=FIRST_COMPLETED)
            for future in done:
                yield _result_of(future)
                del self._at_work[future]  # only now: after an interrupt, stop() yields it again
            if time.monotonic() >= deadline:
                return

    def stop(self) -> Iterator[Finished]:
        """Stop all work; yield the results that are finished and were not taken.

        Threads of this program stop at the next step; other executors are not waited for.
        """
        self._stopped.set()
        for future in self._at_work:
            future.cancel()
        if self._own is not None:
            wait(self._at_work)
        for future in self._at_work:
            if future.done() and not future.cancelled() and future.exception() is None:
                yield future.result()

    def _fits(self, experiment: Subject) -> bool:
        """Whether there is memory for one more, if the largest are those that are executed."""
        handed_over = [*self._at_work.values(), self._memory(experiment)]
        return sum(nlargest(self.count, handed_over)) <= self._available or not self._at_work

    def _memory(self, experiment: Subject) -> int:
        if experiment not in self._needed:
            self._needed[experiment] = (
                memory_of_point(experiment)
                if isinstance(experiment, TrafficExperiment)
                else memory_of(experiment)
            )
        return self._needed[experiment]

    def _hand_over(self, experiment: Subject, shards: range) -> None:
        stopped = self._stopped.is_set if self._own else None
        assert self._executor is not None
        work: Callable[..., Finished] = execute_shards
        arguments: tuple[Any, ...] = experiment, shards
        if isinstance(experiment, TrafficExperiment):
            work, arguments = execute_point, (experiment,)
        work = partial(work, stopped=stopped) if stopped else work
        self._at_work[self._executor.submit(work, *arguments)] = self._memory(experiment)


def _result_of(future: Future[Finished]) -> Finished:
    """Return a result, and say what to do about worker processes that were killed."""
    try:
        return future.result()
    except BrokenExecutor as error:
        raise PopsnetError(
            "A worker process ended without a result, perhaps because memory ran out "
            f"({system.amount(system.available_memory())} are available here). Finished results "
            "are kept. Collect again with fewer workers."
        ) from error
