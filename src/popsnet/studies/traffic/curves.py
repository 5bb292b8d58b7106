"""Several points: loads of several schedulers, or one load in several runs, together on threads.

Loads may be given as a text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from itertools import groupby
from threading import Event, Lock
from typing import Any, TypeVar

import numpy as np

from popsnet.base import system
from popsnet.base.errors import InputError, PopsnetError
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Column, Fact, Plotted, Report, Reported, Row, Table, facts_of
from popsnet.base.report.table import plural
from popsnet.base.stats.inference import Estimate, confidence_interval
from popsnet.experiment.experiment import whole_number
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.hardware import Timing
from popsnet.model.network import about
from popsnet.runs.delays import CURVE_COLUMNS, time_table, with_times
from popsnet.runs.simulate import simulate
from popsnet.runs.traffic_result import COLUMNS, NESTED, TrafficResult, bounds_fact, faults_in_words


class _Stop(PopsnetError):
    """A point was stopped because the others were interrupted."""


@dataclass(frozen=True, repr=False)
class LoadCurves(Reported, Plotted):
    """The results of several schedulers at several loads.

    Parameters
    ----------
    results : tuple of TrafficResult
        The points, scheduler by scheduler, by load.
    not_run : tuple of TrafficExperiment
        Points that were left out, because their scheduler is unstable at a smaller load.
    unfinished : tuple of TrafficExperiment
        Points that were not finished, because the work was interrupted.

    Examples
    --------
    >>> from popsnet.traffic import TrafficExperiment, run_loads
    >>> points = [TrafficExperiment(4, 4, scheduler="tdm", load=load) for load in (0.1, 0.5)]
    >>> [result.verdict for result in run_loads(points).results]
    ['stable', 'stable']
    """

    __hash__ = None  # type: ignore[assignment]

    _draw = "draw_load_curves"

    results: tuple[TrafficResult, ...]
    not_run: tuple[TrafficExperiment, ...] = ()
    unfinished: tuple[TrafficExperiment, ...] = ()

    @property
    def _drawn(self) -> Any:
        return self.results

    def lines(self) -> dict[str, list[TrafficResult]]:
        """Return the results of every scheduler, by its name, and variant if it has several."""
        lines = groupby(self.results, lambda point: point.label)
        return {name: list(points) for name, points in lines}

    def in_short(self) -> str:
        """Return how many points of which schedulers there are, in a line."""
        left = len(self.not_run) + len(self.unfinished)
        more = f", {left:,} not run" * bool(left)
        return f"{plural(len(self.results), 'point')} of {', '.join(self.lines())}{more}"

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints: a table with a row per point.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times and bit rates as well.
        """
        if not self.results:
            return Report()
        first = self.results[0]
        title, facts = heading(first, *self._bounds())
        rows = [point.row(timing) for point in self.results]
        table = Table("points", "Delay in slots", COLUMNS, rows, nested=NESTED)
        left = Fact("not_run", self._left_out())
        same = about(first.network, arrival_seed=first.arrival_seed)
        report = Report(title, (*facts, left), (table, *self._notes()), about=same)
        return with_times(report, timing, self.results, time_table(CURVE_COLUMNS, rows))

    def _left_out(self) -> list[Row]:
        """Return the points without a result, each with the reason."""
        groups = {"unstable at a smaller load": self.not_run, "interrupted": self.unfinished}
        return [
            {"scheduler": experiment.label, "load": experiment.load, "reason": reason}
            for reason, experiments in groups.items()
            for experiment in experiments
        ]

    def _bounds(self) -> tuple[Fact, ...]:
        """Return the bounds: with dead parts they may differ between schedulers."""
        lines = {name: bounds_fact(points[0].bounds) for name, points in self.lines().items()}
        first, *others = lines.values()
        if all(bounds == first for bounds in others):
            return (first,)
        text = "; ".join(f"{name} {bounds.text}" for name, bounds in lines.items())
        each = {name: bounds.value for name, bounds in lines.items()}
        return Fact("bounds", first.value), Fact("bounds_of", each, "largest load", text=text)

    def _notes(self) -> Iterable[str]:
        for name, points in groupby(self.not_run, lambda point: point.label):
            loads = ", ".join(f"{point.load:.4g}" for point in points)
            yield f"{name} is unstable at a smaller load, and was not run at {loads}."
        for point in self.results:
            if point.verdict != "stable":
                yield f"{point.label} at {point.load:.4g} is {point.verdict}: {point.reason}"
            if point.faults:
                yield (
                    f"{point.label} at {point.load:.4g}: {point.lost:,} of "
                    f"{plural(point.arrived, 'packet')} lost, {point.unreachable:,} unreachable, "
                    f"{point.duplicated:,} delivered again."
                )


def fault_facts(point: TrafficResult) -> tuple[Fact, ...]:
    """Return the faults of points, which have the same."""
    names = ("faults", "fault_seed", "known_faults", "drawn_faults")
    return facts_of(point.setting, *names) if point.faults else ()


def heading(point: TrafficResult, *bounds: Fact) -> tuple[str, tuple[Fact, ...]]:
    """Return the title and the facts that all points have in common."""
    title = (
        f"{point.network}: {point.network.n:,} processors in {plural(point.network.g, 'group')} of "
        f"{point.network.d:,}\narrivals {point.arrivals}, arrival seed {point.arrival_seed}"
        f"{faults_in_words(replace(point.setting, survives=True))}"
    )
    same = facts_of(point, "network", "arrivals", "arrival_seed")
    return title, (*same, *bounds, *fault_facts(point))


def run_loads(
    experiments: Sequence[TrafficExperiment],
    *,
    engine: str = "auto",
    workers: int | None = None,
    progress: Progress = None,
) -> LoadCurves:
    """Run points, several at a time, and leave out those above an unstable one.

    Parameters
    ----------
    experiments : sequence of TrafficExperiment
        The points. Those of one scheduler that follow each other are run one after another.
    engine : {"auto", "slots", "fused"}
        What executes the slots.
    workers : int, optional
        How many schedulers are run at once; by default, as many as there are processors.
    progress : function, bool or None
        A function that is called with the points done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.

    Returns
    -------
    LoadCurves
        The results.

    Raises
    ------
    KeyboardInterrupt
        If interrupted. Its attribute ``curves`` has the points that were finished.

    Examples
    --------
    >>> from popsnet.traffic import TrafficExperiment, run_loads
    >>> points = [TrafficExperiment(4, 4, scheduler="aloha", load=load) for load in (0.1, 0.5)]
    >>> for result in run_loads(points).results:
    ...     print(result.load, result.verdict)
    0.1 stable
    0.5 unstable
    """
    groups = groupby(experiments, lambda point: point.label)
    lines = [sorted(points, key=lambda point: point.load) for _, points in groups]
    results: list[list[TrafficResult]] = [[] for _ in lines]

    def work(number: int, run: Run) -> None:
        for experiment in lines[number]:
            results[number].append(run(experiment))
            if results[number][-1].verdict == "unstable":
                return

    def so_far() -> LoadCurves:
        left: dict[bool, list[TrafficExperiment]] = {True: [], False: []}
        for line, done in zip(lines, results, strict=True):
            is_unstable = bool(done) and done[-1].verdict == "unstable"
            left[is_unstable] += line[len(done) :]
        finished = tuple(result for line in results for result in line)
        return LoadCurves(finished, tuple(left[True]), tuple(left[False]))

    result = "curves", so_far
    return run_together(work, len(lines), len(experiments), result, engine, workers, progress)


@dataclass(frozen=True, repr=False)
class Replications(Reported):
    """The runs of a point, each with arrivals and coins of its own.

    Parameters
    ----------
    experiment : TrafficExperiment
        The point, which is run 0.
    runs : int
        The number of runs that were asked for.
    results : mapping
        The result of each run that was finished, by its number.

    Examples
    --------
    >>> from popsnet.traffic import TrafficExperiment, replicate
    >>> point = TrafficExperiment(4, 4, scheduler="tdm", load=0.5, slots=2000)
    >>> runs = replicate(point, 5)
    >>> runs.verdicts["stable"], runs.delay.runs
    (5, 5)
    """

    __hash__ = None  # type: ignore[assignment]

    experiment: TrafficExperiment
    runs: int
    results: Mapping[int, TrafficResult]

    def in_short(self) -> str:
        """Return the point and the verdicts of its runs, in a line."""
        verdicts = "".join(f", {count} {name}" for name, count in self.verdicts.most_common())
        return f"{plural(len(self.results), 'run')} of {self.experiment}{verdicts}"

    @property
    def verdicts(self) -> Counter[str]:
        """The number of runs with each verdict."""
        return Counter(result.verdict for result in self.results.values())

    @property
    def delay(self) -> Estimate | None:
        """The mean of the mean delays of runs, and their spread; None for fewer than two runs.

        Runs without a delivered packet have no delay.
        """
        every = [result.delay.mean for result in self.results.values()]
        means = [mean for mean in every if mean is not None]
        if len(means) < 2:
            return None
        return Estimate(float(np.mean(means)), float(np.std(means, ddof=1)), len(means))

    def rows(self, timing: Timing | None = None) -> list[Row]:
        """Return a row per run, with its seeds, in order.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, for times and bit rates as well.
        """
        return [{"run": run, **result.row(timing)} for run, result in sorted(self.results.items())]

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints: a row per run.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times and bit rates as well.
        """
        if not self.results:
            return Report()
        point, rows = self.experiment, self.rows(timing)
        faults = f"\nfaults {point.faults}, fault seed {point.fault_seed}" if point.faults else ""
        title = (
            f"{plural(self.runs, 'run')} of {point}\nfrom seed {point.seed} and arrival seed "
            f"{point.arrival_seed}{faults}"
        )
        table = Table("points", "Delay in slots", (_RUN, *COLUMNS[2:]), rows, nested=NESTED)
        counts = [f"{verdict} in {count}" for verdict, count in self.verdicts.most_common()]
        verdict = f"{', '.join(counts)} of {plural(len(rows), 'run')}.".capitalize()
        same = about(point.network)
        report = Report(title, self._facts(), (table, *self._notes()), verdict, about=same)
        times = time_table((_RUN, *CURVE_COLUMNS[2:]), rows)
        return with_times(report, timing, self.results.values(), times)

    def _facts(self) -> tuple[Fact, ...]:
        names = "network", "scheduler", "variant", "arrivals", "load", "seed", "arrival_seed"
        facts = (
            *facts_of(self.experiment, *names, "buffer"),
            *fault_facts(next(iter(self.results.values()))),
            *facts_of(self, "runs"),
            Fact("finished", len(self.results)),
            Fact("verdicts", dict(self.verdicts)),
        )
        if (delay := self.delay) is None:
            return facts
        low, high = confidence_interval(delay)
        spread = {"mean": delay.mean, "sd": delay.sd, "low": low, "high": high}
        text = f"{delay.mean:,.2f} ± {(high - low) / 2:,.2f} (95 %), standard deviation "
        return (*facts, Fact("delay", spread, "mean delay of runs", text=f"{text}{delay.sd:,.2f}"))

    def _notes(self) -> Iterable[str]:
        if len(self.results) < self.runs:
            yield f"{plural(self.runs - len(self.results), 'run')} not finished."
        for run, result in sorted(self.results.items()):
            if result.verdict != "stable":
                yield f"Run {run} is {result.verdict}: {result.reason}"


_RUN = Column("run", kind="integer")


def replicate(
    experiment: TrafficExperiment,
    runs: int,
    *,
    engine: str = "auto",
    workers: int | None = None,
    progress: Progress = None,
) -> Replications:
    """Run a point several times, each time with other arrivals and coins.

    Parameters
    ----------
    experiment : TrafficExperiment
        The point. It is run 0, and :meth:`TrafficExperiment.for_run` gives the others.
    runs : int
        The number of runs.
    engine : {"auto", "slots", "fused"}
        What executes the slots.
    workers : int, optional
        How many runs are executed at once; by default, as many as there are processors.
    progress : function, bool or None
        A function that is called with the runs done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.

    Returns
    -------
    Replications
        The results, with a verdict for each run.

    Raises
    ------
    KeyboardInterrupt
        If interrupted. Its attribute ``replications`` has the runs that were finished.

    Examples
    --------
    >>> from popsnet.traffic import TrafficExperiment, replicate
    >>> point = TrafficExperiment(4, 4, scheduler="aloha", load=0.1, slots=2000)
    >>> list(replicate(point, 3).results)
    [0, 1, 2]
    """
    whole_number("runs", runs, 1)
    results: dict[int, TrafficResult] = {}

    def work(run: int, execute: Run) -> None:
        results[run] = execute(experiment.for_run(run))

    def so_far() -> Replications:
        return Replications(experiment, runs, dict(sorted(results.items())))

    return run_together(work, runs, runs, ("replications", so_far), engine, workers, progress)


Run = Callable[[TrafficExperiment], TrafficResult]
Result = TypeVar("Result")


def run_together(
    work: Callable[[int, Run], None],
    count: int,
    points: int | None,
    result: tuple[str, Callable[[], Result]],
    engine: str,
    workers: int | None,
    progress: Progress,
) -> Result:
    """Do pieces of work on threads, and return the result; after an exception, stop the others.

    An interruption has the result so far as an attribute of that name.
    """
    if workers is not None:
        whole_number("workers", workers, 1)
    if not count:
        raise InputError("There is nothing to run; give at least one scheduler and load.")
    stopped, lock, done = Event(), Lock(), 0

    with patient_progress("traffic", points, progress) as update:

        def run(experiment: TrafficExperiment) -> TrafficResult:
            nonlocal done
            name = f"{experiment.label}, load {experiment.load:.4g}"

            def watch(slots: int, _: int) -> None:
                if stopped.is_set():
                    raise _Stop("Stopped.")
                with lock:
                    update(detail=f"{plural(done, 'point')} done; {name}: {slots:,} slots")

            point = simulate(experiment, engine=engine, progress=watch)
            with lock:
                done += 1
                update(done)
            return point

        pool = ThreadPoolExecutor(workers or min(count, system.threads_here()))
        futures: list[Future[None]] = [pool.submit(work, number, run) for number in range(count)]
        try:
            try:
                for future in as_completed(futures):
                    future.result()
            finally:
                stopped.set()
                pool.shutdown(wait=True, cancel_futures=True)
        except KeyboardInterrupt as stop:
            setattr(stop, result[0], result[1]())
            raise
    return result[1]()
