"""The runner: does the shards and points that a store is missing, on threads or any executor."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from heapq import nlargest
from pathlib import Path
from statistics import median
from threading import Event
from typing import Any

from popsnet.base import system
from popsnet.base.errors import PopsnetError, wrong
from popsnet.base.progress import Progress, duration, patient_progress
from popsnet.base.report import plural
from popsnet.base.spellings import refusing_old
from popsnet.engines import Tally
from popsnet.experiment.experiment import Experiment, whole_number
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.runs.traffic_result import TrafficResult
from popsnet.sweeps.cluster import ClusterExecutor
from popsnet.sweeps.goals import Experiments, Goals
from popsnet.sweeps.kind import ANYWHERE, ResultBatch
from popsnet.sweeps.rows import KINDS, SHARD, WINDOW, kind_of
from popsnet.sweeps.shard import SHARD_RUNS
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep
from popsnet.sweeps.work import AHEAD, Queue, Work, cut, estimate_work, rounds, suits


class Pace:
    """How fast work is done, and how long what is left will take.

    Work of an experiment takes what it has taken before. If none of it is finished, it takes what
    is estimated, times the ratio that work of the same program had last. Medians keep compilations
    out. To each piece is added what the thread that writes spends on one, for as many workers as
    may wait for it. Elapsed time is to all of that as the time left is to what is left.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._begin, self._text_time = clock(), -math.inf
        self._text: list[str] = []
        self._results = self._pieces = 0
        self._seconds = self.writing = 0.0
        self._taken: dict[Experiment, deque[float]] = {}
        self._ratios: dict[str, deque[float]] = {}
        self._estimate = cache(estimate_work)

    def note(self, results: Sequence[ResultBatch], engine: str = ANYWHERE, pieces: int = 1) -> None:
        """Count results that were finished together, and the pieces that they were joined of."""
        self._pieces += pieces
        for batch in results:
            each, experiment = batch.provenance.seconds, batch.experiment
            self._results += len(batch.numbers)
            self._seconds += each * len(batch.numbers)
            self._taken.setdefault(experiment, deque(maxlen=3)).append(each)
            if each > 0 and (estimate := self._estimate(experiment, engine)) > 0:
                for key in ("", experiment.program, f"engine {engine}"):
                    self._ratios.setdefault(key, deque(maxlen=_LAST)).append(each / estimate)

    def estimate_of(self, seconds: float, engine: str = ANYWHERE) -> float:
        """Return the estimate of work that takes this many seconds with an engine."""
        return seconds / median(self._ratios.get(f"engine {engine}", (1.0,)))

    def _expected(self, experiment: Experiment) -> float:
        """Return how many seconds a result of an experiment will take a worker."""
        ratios = self._ratios.get(experiment.program, ())
        few = len(ratios) < _LAST // 2
        usual = self._estimate(experiment) * median(self._ratios[""] if few else ratios)
        least = min(taken := self._taken.get(experiment, (usual,)))
        return usual if len(taken) == 1 and least > _UNUSUAL * usual else least

    def left(self, queue: Queue, handed: Sequence[Sequence[Work]], workers: int) -> float:
        """Return the seconds left for a queue and the work that was handed over, in order.

        Of the work in progress, the first of what was handed over, half is taken to be done.
        """
        written = workers * self.writing
        each = written / max(self._pieces, 1)
        tasks = [
            sum(self._expected(experiment) * len(shards) for experiment, shards in work)
            for work in handed
        ]
        half = sum(tasks[:workers]) / 2
        queued = sum(self._expected(key) * count for key, count in queue.left.items())
        left = queued + sum(tasks) - half + each * (len(queue) + sum(map(len, handed)))
        return left * (self.clock() - self._begin) / (self._seconds + written + half)

    def words(
        self, queue: Queue, handed: Sequence[Sequence[Work]], workers: int, whole: bool
    ) -> list[str]:
        """Return the speed, and the time left if all work is known; once per second."""
        now = self.clock()
        if self._seconds and (now >= self._text_time + 1 or not (queue or handed)):
            rate = self._results / max(now - self._begin, 1e-9)
            self._text, self._text_time = [f"{rate:,.{0 if rate >= 10 else 2}f} per second"], now
            if whole:
                self._text.append(f"{duration(self.left(queue, handed, workers))} left")
        return self._text


_LAST = 9
"""Ratios of the time that work took to its estimate that are kept."""

_UNUSUAL = 4
"""The first work of an experiment that takes this many times as long as usual has compiled."""

_SECONDS_PER_PARCEL = 0.3
"""How long a task of a cluster takes at most, unless one piece of work takes longer.

Dask needs some milliseconds per task. A worker that ends loses its tasks, which are done again.
"""

_SECONDS_BETWEEN_TICKS = 1.0


def require_workers(workers: int | None) -> None:
    """Refuse a number of workers that could do nothing."""
    if workers is not None:
        whole_number("workers", workers, 1)


@refusing_old
def collect(
    experiments: Experiments,
    runs: int | None = None,
    store: Store | str | Path = "results.sqlite",
    *,
    precision: float | str | None = None,
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
        Runs of each experiment, rounded up to whole shards of ten. With ``precision``, the runs
        that are done in any case.
    store : Store, str or Path
        Where results are kept. A file that does not exist is made.
    precision : str or float, optional
        Run each experiment until half the width of the 95 % interval of its mean number of slots,
        1.96 standard errors, is at most this share of the mean: ``"2%"`` or 0.02. See Notes.
    max_runs : int, optional
        The most runs of an experiment with ``precision``; 10,000 by default.
    seconds : float, optional
        Stop after this time. Finished shards are kept, and the tallies have fewer runs.
    part : str or pair of int, optional
        Do only one of several parts of equal work, such as ``"3/20"`` or ``(3, 20)``: for jobs
        that share the work. Parts are disjoint, together they are everything, and they do not
        depend on the store. The tallies are those of the part.
    executor : concurrent.futures.Executor, optional
        Where the work is done: a process pool, or a cluster that
        :func:`popsnet.sweeps.open_cluster` opened; by default, threads of this program.
    workers : int, optional
        How many shards are done at once; by default, as many as there are processors here, or as
        the workers of the cluster have threads.
    progress : function, bool or None
        A function that is called with the shards done and the total (with ``precision``, with
        experiments). None shows a bar on a terminal after two seconds, False shows nothing.

    Returns
    -------
    list of Tally
        Histograms of the runs of each experiment, in the order given.

    Notes
    -----
    The longest shards are handed out first, by an estimate: the slots that the router expects,
    times a constant plus a time per processor that depend on the engine.

    With ``precision`` the standard error is computed after 50 runs, or ``runs`` if that is more,
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

    Until the 95 % interval of the mean is at most ±4 % of it:

    >>> tallies = popsnet.collect(experiments, precision="4%", store="results.sqlite")
    >>> [tally.runs for tally in tallies]
    [190, 50]
    """
    require_workers(workers)
    goals = Goals.of(experiments, runs, precision, max_runs, part)
    with _reached(goals, store, seconds, executor, workers, progress) as opened:
        return [gathered.tally for gathered in goals.gathered(opened)]


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
        As for :func:`popsnet.collect`, with points in place of shards.

    Returns
    -------
    list of TrafficResult or None
        The result of each point in the order given; None if it is not there yet. A result does not
        depend on the engine and names none.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.sweeps import collect_traffic
    >>> from popsnet.experiment.traffic import TrafficExperiment
    >>> points = [TrafficExperiment(4, 4, load=load, slots=1000) for load in (0.1, 0.2)]
    >>> results = collect_traffic(points, store="results.sqlite")
    >>> [result.load for result in results]
    [0.1, 0.2]
    """
    wanted = list(experiments.traffic if isinstance(experiments, Sweep) else experiments)
    require_workers(workers)
    goals = Goals.of_traffic(wanted, part)
    with _reached(goals, store, seconds, executor, workers, progress) as opened:
        points = map(opened.traffic.get, wanted)
        return [None if point is None else point.result for point in points]


@contextmanager
def _reached(
    goals: Goals, store: Store | str | Path, seconds: float | None, executor: Executor | None,
    workers: int | None, progress: Progress,
) -> Iterator[Store]:  # fmt: skip
    """Do the work, and return the store that has the results, open."""
    deadline = deadline_after(seconds)
    with nullcontext(store) if isinstance(store, Store) else Store(store, create=True) as opened:
        opened.require_writes()
        pursue(goals, opened, deadline, Workers(executor, workers), progress)
        yield opened


def deadline_after(seconds: float | None) -> float:
    """Return the moment after which no more work is done."""
    if seconds is None:
        return math.inf
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not seconds > 0:
        raise wrong("seconds", repr(seconds))("it must be a positive number.")
    return time.monotonic() + seconds


def pursue(
    goals: Goals, store: Store, deadline: float, workers: Workers, progress: Progress = None
) -> None:
    """Do what the goals are missing, until a deadline; every finished shard or point is kept."""
    done, total = goals.done(store, *KINDS.values())
    if not goals.is_reached(store):
        store.convert()
    runs = f"parts of {SHARD_RUNS} runs" if goals.precision is None else "experiments"
    units = {SHARD: runs, WINDOW: "points"}
    unit = " and ".join(units[kind] for kind in units if goals.of_kind(kind)) or runs
    fixed = not any(goals.is_counted_whole(kind_of(experiment)) for experiment in goals.goals)
    with workers as crew, patient_progress("runs", total, progress, unit) as update:
        queue, pending = Queue(), dict[Experiment, int]()

        def add(experiment: Experiment) -> None:
            """Queue the next stage of an experiment, if it is not precise enough."""
            missing = goals.goals[experiment].missing(store)
            pending[experiment] = len(missing)
            begin = goals.goals[experiment].stages[0][0] if goals.is_breadth else None
            for turn, shards in rounds(missing, begin):
                queue.add(cut(experiment, shards, crew.count), turn)

        def report() -> None:
            """Report how much is done, how fast and, on a cluster, by how many workers."""
            words = crew.words(queue, fixed)
            update(done, f"{done:,} of {total:,} {unit}{', ' * bool(words)}{words}")

        for experiment in goals.goals:
            add(experiment)
        try:
            for finished in crew.do(queue, deadline, report):
                store.put(finished)
                experiment, count = finished.experiment, len(finished.numbers)
                pending[experiment] -= count
                if not pending[experiment]:
                    add(experiment)
                if not goals.is_counted_whole(kind_of(experiment)):
                    done += count
                elif not pending[experiment]:
                    done += 1
                report()
        finally:
            for finished in crew.stop():
                store.put(finished)


@dataclass(frozen=True)
class _Task:
    """Pieces of work that were handed over together."""

    work: Sequence[Work]
    memory: int
    engine: str = ANYWHERE
    pieces: int = 1
    """How many pieces were joined."""


class Workers:
    """What executes shards and points: some at a time, no more than fit in memory."""

    def __init__(self, executor: Executor | None = None, workers: int | None = None) -> None:
        require_workers(workers)
        self._given = workers
        self._cluster = executor if isinstance(executor, ClusterExecutor) else None
        self._own = ThreadPoolExecutor(self.count) if executor is None else None
        self._executor: Any = executor or self._own
        self._stopped = Event()
        self._at_work: dict[Future[Any], _Task] = {}
        self._available = system.available_memory()
        self._suits, self._memory = cache(suits), cache(lambda e: kind_of(e).memory(e))
        self._none_for: dict[str, int] = {}
        self._pace = Pace()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)

    @property
    def count(self) -> int:
        """How many pieces of work are done at once."""
        return sum(self._room().values())

    def _room(self) -> dict[str, int]:
        """Return how many pieces of work are done at once with each engine."""
        if self._given is not None:
            return {ANYWHERE: self._given}
        if self._cluster is None:
            return {ANYWHERE: system.threads_here()}
        return self._cluster.room

    def do(
        self, queue: Queue, deadline: float = math.inf, tick: Callable[[], None] = lambda: None
    ) -> Iterator[ResultBatch]:
        """Do the work of a queue and yield results as they are finished.

        Work may be added to the queue between results. After the deadline there are no more. With
        a cluster, ``tick`` is called about once per second while there are no results.
        """
        while queue or self._at_work:
            self._withdraw(queue)
            for engine, room in self._room().items():
                while sum(task.engine == engine for task in self._at_work.values()) < AHEAD * room:
                    before = len(queue)
                    if not (work := self._take(queue, engine)):
                        break
                    self._hand_over(work, engine, before - len(queue))
            done, _ = wait(self._at_work, self._patience(deadline), return_when=FIRST_COMPLETED)
            for future in done:
                handed = self._at_work[future]
                results = self._results_of(future)
                self._pace.note(results, handed.engine, handed.pieces)
                begin = self._pace.clock()
                yield from results
                self._pace.writing += self._pace.clock() - begin
                del self._at_work[future]  # only now: after an interrupt, stop() yields it again
            if time.monotonic() >= deadline:
                return
            if self._cluster is not None and not done:
                self._cluster.require_scheduler()
                tick()

    def stop(self) -> Iterator[ResultBatch]:
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
                yield from self._results_of(future)

    def words(self, queue: Queue, whole: bool = True) -> str:
        """Return the workers of a cluster, the speed, and if all work is known the time left."""
        handed = [task.work for future, task in self._at_work.items() if not future.done()]
        pace = self._pace.words(queue, handed, self.count, whole)
        workers = [plural(self._cluster.workers, "worker")] if self._cluster is not None else []
        return ", ".join([*workers, *pace])

    def _patience(self, deadline: float) -> float | None:
        """Return how long to wait for a result."""
        left = max(deadline - time.monotonic(), 0)
        if self._cluster is not None:
            left = min(left, _SECONDS_BETWEEN_TICKS)
        return None if left == math.inf else left

    def _withdraw(self, queue: Queue) -> None:
        """Take back what needs resources that no worker has any more."""
        room = self._room()
        for future, handed in list(self._at_work.items()):
            if handed.engine not in room and future.cancel():
                del self._at_work[future]
                for piece in handed.work:
                    queue.add([piece])

    def _take(self, queue: Queue, engine: str) -> list[Work]:
        """Take the next piece of work; for a cluster, as many as make a task of some length.

        Pieces get shorter towards the end, so that all workers end at about the same time.
        """
        if self._none_for.get(engine) == queue.added:
            return []
        suited = False

        def takes(subject: Experiment) -> bool:
            nonlocal suited
            suited = self._suits(subject, engine) or suited
            return self._suits(subject, engine) and self._fits(subject)

        first = queue.take(takes)
        if not suited:
            self._none_for[engine] = queue.added  # the queue is not searched again for nothing
        taken = [] if first is None else [first]
        if self._cluster is None or first is None or self._memory(first[0]):
            return taken
        seconds = _seconds(first, engine)
        most = (queue.seconds + seconds) / (AHEAD * self.count)
        most = min(most, self._pace.estimate_of(_SECONDS_PER_PARCEL, engine))
        while (piece := queue.first()) and self._suits(piece[0], engine):
            seconds += _seconds(piece, engine)
            if seconds > most or self._memory(piece[0]):
                break
            queue.take(lambda _: True)
            last, shards = taken[-1]
            if last == piece[0] and shards.stop == piece[1].start:
                taken[-1] = last, range(shards.start, piece[1].stop)
            else:
                taken.append(piece)
        return taken

    def _fits(self, experiment: Experiment) -> bool:
        """Whether there is memory for one more, if the largest are those that are executed."""
        handed_over = [*(task.memory for task in self._at_work.values()), self._memory(experiment)]
        available = self._available if self._cluster is None else self._cluster.memory
        return sum(nlargest(self.count, handed_over)) <= available or not self._at_work

    def _hand_over(self, work: Sequence[Work], engine: str, pieces: int) -> None:
        handed = _Task(work, max(self._memory(subject) for subject, _ in work), engine, pieces)
        if self._cluster is not None:
            future: Future[Any] = self._cluster.send(work, engine)
        else:
            ((experiment, shards),) = work
            stopped = {"stopped": self._stopped.is_set} if self._own else {}
            execute = kind_of(experiment).execute
            future = self._executor.submit(execute, experiment, shards, **stopped)
        self._at_work[future] = handed

    def _results_of(self, future: Future[Any]) -> Sequence[ResultBatch]:
        """Return results, and say what to do about worker processes that were killed."""
        if self._cluster is not None:
            return self._cluster.received(self._at_work[future].work, future)
        try:
            return [future.result()]
        except BrokenExecutor as error:
            raise PopsnetError(
                "A worker process ended without a result, perhaps because memory ran out "
                f"({system.format_bytes(system.available_memory())} are available here). Finished "
                "results are kept. Collect again with fewer workers."
            ) from error


def _seconds(piece: Work, engine: str) -> float:
    """Estimate how long a piece of work takes."""
    return len(piece[1]) * estimate_work(piece[0], engine)
