"""The runner: does the shards that a store is missing, on threads or any other executor."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Event
from typing import TypeAlias

from popsnet import system
from popsnet.engines import Tally, choose_engine
from popsnet.errors import InputError
from popsnet.experiment import Experiment, whole_number
from popsnet.progress import Progress, patient_progress
from popsnet.sweeps.shard import LARGE, MOST_RUNS, SHARD_RUNS, Shards, execute_shards, shards_of
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep

_AHEAD = 2
"""Pieces of work handed over for each worker: enough to keep the executor busy."""

Wanted: TypeAlias = Sweep | Iterable[Experiment | tuple[Experiment, int]]
Work: TypeAlias = tuple[Experiment, range]
"""An experiment and some of its shards."""


def require_workers(workers: int | None) -> None:
    """Refuse a number of workers that could do nothing."""
    if workers is not None:
        whole_number("workers", workers, 1)


def collect(
    experiments: Wanted,
    runs: int | None = None,
    store: Store | str | Path = "results.sqlite",
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    progress: Progress = None,
) -> list[Tally]:
    """Do runs of experiments, except what a store has already.

    Every finished shard of ten runs is kept in the store, so that an interrupted or killed
    collection loses nothing that was finished: the same call does the rest.

    Parameters
    ----------
    experiments : Sweep, or iterable of Experiment or of pairs
        What to run: experiments, with ``runs``; pairs of an experiment and its number of runs;
        or a sweep, which has both.
    runs : int, optional
        Runs of each experiment, rounded up to whole shards of ten.
    store : Store, str or Path
        Where results are kept. A file that does not exist is made.
    executor : concurrent.futures.Executor, optional
        What does the work: a process pool, or a cluster. Threads of this program if not given.
    workers : int, optional
        How many shards are done at once; as many as there are processors if not given.
    progress : function, bool or None
        A function that is called with the shards done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.

    Returns
    -------
    list of Tally
        Histograms of the runs of each experiment, in the order given.

    Examples
    --------
    >>> import popsnet
    >>> experiments = [popsnet.Experiment(g, g) for g in (4, 8)]
    >>> tallies = popsnet.collect(experiments, runs=20, store="results.sqlite")
    >>> [tally.runs for tally in tallies]
    [20, 20]
    """
    wanted = _pairs(experiments, runs)
    require_workers(workers)
    for experiment, _ in wanted:
        if not experiment.storable:
            raise InputError(
                f"Router {experiment.router} is not registered, so that its results could not be "
                "told from those of a later version; put it into a file with "
                "@popsnet.register(...) and give the file."
            )
        choose_engine("auto", experiment)
    most = _most_shards(wanted)
    total = sum(most.values())
    with (
        nullcontext(store) if isinstance(store, Store) else Store(store, create=True) as kept,
        Workers(executor, workers) as crew,
        patient_progress("runs", total, progress, "shards") as report,
    ):
        missing = {
            experiment: kept.missing(experiment, count * SHARD_RUNS)
            for experiment, count in sorted(most.items(), key=lambda item: item[0].network.n)
        }
        done = total - sum(map(len, missing.values()))
        pieces = (work_on(one, shards, crew.count) for one, shards in missing.items())
        work = list(chain.from_iterable(pieces))
        try:
            for finished in crew.do(work):
                kept.put(finished)
                done += len(finished.numbers)
                report(done)
        except BaseException:
            for finished in crew.stop():
                kept.put(finished)
            raise
        found = [kept.tally(one, count) for one, count in wanted]
    assert None not in found
    return found  # type: ignore[return-value]


def _pairs(experiments: Wanted, runs: int | None) -> list[tuple[Experiment, int]]:
    """Every experiment with the number of its runs."""
    if runs is not None:
        runs = whole_number("runs", runs, 1, MOST_RUNS)
    if isinstance(experiments, Sweep):
        return [(one, runs or count) for one, count in experiments.wanted]
    if isinstance(experiments, Experiment):
        experiments = [experiments]
    pairs = []
    for one in experiments:
        experiment, count = one if isinstance(one, tuple) and len(one) == 2 else (one, runs)
        if not isinstance(experiment, Experiment):
            raise InputError(
                f"{experiment!r:.60} is not an Experiment, nor a pair of one and runs."
            )
        if count is None:
            raise InputError(f"runs = None: say how many runs of {experiment} to do.")
        pairs.append((experiment, whole_number("runs", count, 1, MOST_RUNS)))
    return pairs


def _most_shards(wanted: Iterable[tuple[Experiment, int]]) -> dict[Experiment, int]:
    """The shards of each experiment; one that is there twice is done once, the larger number."""
    most: dict[Experiment, int] = {}
    for experiment, runs in wanted:
        most[experiment] = max(most.get(experiment, 0), shards_of(runs))
    return most


def shards_done(sweep: Sweep, store: Store) -> tuple[int, int]:
    """Return how many shards of a sweep a store has, and how many there are in all."""
    most = _most_shards(sweep.wanted)
    missing = (len(store.missing(one, count * SHARD_RUNS)) for one, count in most.items())
    total = sum(most.values())
    return total - sum(missing), total


def work_on(experiment: Experiment, shards: Sequence[int], workers: int) -> Iterator[Work]:
    """Cut shards into consecutive pieces: cheap to hand over, and some for every worker."""
    engine = choose_engine("auto", experiment, fitting=False)
    batch = engine.batch(experiment) // SHARD_RUNS
    most = max(min(batch, len(shards) // (_AHEAD * workers)), 1)
    start = 0
    for place in range(1, len(shards) + 1):
        ends = place == len(shards) or shards[place] != shards[place - 1] + 1
        if ends or place - start == most:
            yield experiment, range(shards[start], shards[place - 1] + 1)
            start = place


class Workers:
    """Do shards: some at a time, no more than fit in memory."""

    def __init__(self, executor: Executor | None = None, workers: int | None = None) -> None:
        require_workers(workers)
        self.count = workers or system.threads_here()
        self._own = ThreadPoolExecutor(self.count) if executor is None else None
        self._executor = executor or self._own
        self._stopped = Event()
        self._at_work: dict[Future[Shards], int] = {}
        self._available = system.available_memory()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)

    def do(self, work: Iterable[Work]) -> Iterator[Shards]:
        """Do the work; results come as they are finished.

        It is taken from the front, but for one piece at a time that is taken from the back: where
        the largest come last, they do not keep one worker busy when all others are done.
        """
        waiting, last = deque(work), None
        while waiting or self._at_work:
            while waiting:
                from_back = self.count > 1 and last not in self._at_work
                if not self._has_room(waiting[-1 if from_back else 0][0]):
                    break
                future = self._hand_over(*(waiting.pop() if from_back else waiting.popleft()))
                last = future if from_back else last
            done, _ = wait(self._at_work, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
                del self._at_work[future]  # only now: who was interrupted asks for it again

    def stop(self) -> Iterator[Shards]:
        """Do nothing more; give what is finished and was not taken.

        Threads of this program give up at the next step; others are not waited for.
        """
        self._stopped.set()
        for future in self._at_work:
            future.cancel()
        if self._own is not None:
            wait(self._at_work)
        for future in self._at_work:
            if future.done() and not future.cancelled() and future.exception() is None:
                yield future.result()

    def _has_room(self, experiment: Experiment) -> bool:
        taken = sum(self._at_work.values())
        fits = taken + _memory(experiment) <= self._available or not self._at_work
        return fits and len(self._at_work) < _AHEAD * self.count

    def _hand_over(self, experiment: Experiment, shards: range) -> Future[Shards]:
        stopped = self._stopped.is_set if self._own else None
        assert self._executor is not None
        work = partial(execute_shards, stopped=stopped) if stopped else execute_shards
        future = self._executor.submit(work, experiment, shards)
        self._at_work[future] = _memory(experiment)
        return future


def _memory(experiment: Experiment) -> int:
    if experiment.network.n <= LARGE:
        return 0
    return choose_engine("auto", experiment, fitting=False).memory(experiment)
