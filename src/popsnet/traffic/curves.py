"""Several points: loads of several schedulers, with the same arrivals, and their saturation.

Loads may be given as a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from threading import Event, Lock

import numpy as np

from popsnet import system
from popsnet.errors import InputError, PopsnetError, require_text, wrong
from popsnet.experiment import whole_number
from popsnet.hardware import Timing
from popsnet.hardware.shown import rate_column
from popsnet.progress import Progress, patient_progress
from popsnet.report import Column, Fact, Report, Reported, Row, Table, counted, facts_of
from popsnet.traffic.experiment import TrafficExperiment
from popsnet.traffic.result import COLUMNS, TrafficResult, bounds_in_words, faults_in_words
from popsnet.traffic.saturation import Saturation, bracket_of, find_saturation, largest_load
from popsnet.traffic.simulate import simulate
from popsnet.traffic.times import CURVE_COLUMNS, rules_of, time_facts, time_notes, time_table


class _Stopped(PopsnetError):
    """A point was stopped because the others were interrupted."""


@dataclass(frozen=True, repr=False)
class LoadCurves(Reported):
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

    results: tuple[TrafficResult, ...]
    not_run: tuple[TrafficExperiment, ...] = ()
    unfinished: tuple[TrafficExperiment, ...] = ()

    def lines(self) -> dict[str, list[TrafficResult]]:
        """Return the results of every scheduler, by its name, and variant if it has several."""
        return {name: list(points) for name, points in groupby(self.results, lambda one: one.label)}

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints: a table with a row per point.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times and bit rates as well.
        """
        if not self.results:
            return Report()
        one = self.results[0]
        title, facts = _heading(one, self._bounds())
        rows = [one.row(timing) for one in self.results]
        table = Table("points", "Delay in slots", COLUMNS, rows)
        left = Fact("not_run", self._left_out())
        report = Report(title, (*facts, left), (table, *self._notes()))
        if timing is None:
            return report
        times = time_table(CURVE_COLUMNS, rows)
        of = timing, rules_of(self.results, timing)
        return report.plus(*time_facts(*of), times, *time_notes(*of))

    def _left_out(self) -> list[Row]:
        """Return the points without a result, each with the reason."""
        return [
            {"scheduler": experiment.label, "load": experiment.load, "reason": reason}
            for reason, experiments in (
                ("unstable at a smaller load", self.not_run),
                ("interrupted", self.unfinished),
            )
            for experiment in experiments
        ]

    def _bounds(self) -> tuple[Fact, ...]:
        """Return the bounds: with dead parts they may differ between schedulers."""
        lines = {name: points[0].bounds for name, points in self.lines().items()}
        first, *others = lines.values()
        if all(one == first for one in others):
            return bound_facts(first)
        text = "; ".join(f"{name} {bounds_in_words(one)}" for name, one in lines.items())
        each = {name: dict(one) for name, one in lines.items()}
        return (Fact("bounds", dict(first)), Fact("bounds_of", each, "largest load", text=text))

    def _notes(self) -> Iterable[str]:
        for name, points in groupby(self.not_run, lambda one: one.label):
            loads = ", ".join(f"{one.load:.4g}" for one in points)
            yield f"{name} is unstable at a smaller load, and was not run at {loads}."
        for one in self.results:
            if one.verdict != "stable":
                yield f"{one.label} at {one.load:.4g} is {one.verdict}: {one.reason}"
            if one.faults:
                yield _missing(one)


def fault_facts(one: TrafficResult) -> tuple[Fact, ...]:
    """Return the faults of points, which have the same."""
    names = ("faults", "fault_seed", "known_faults", "drawn_faults")
    return facts_of(one.setting, *names) if one.faults else ()


def _heading(one: TrafficResult, bounds: tuple[Fact, ...]) -> tuple[str, tuple[Fact, ...]]:
    """Return the title and the facts that all points have in common."""
    title = (
        f"{one.network}: {one.network.n:,} processors in {counted(one.network.g, 'group')} of "
        f"{one.network.d:,}\narrivals {one.arrivals}, arrival seed {one.arrival_seed}"
        f"{faults_in_words(replace(one.setting, survives=True))}"
    )
    same = facts_of(one, "network", "arrivals", "arrival_seed")
    return title, (*same, *bounds, *fault_facts(one))


def _missing(one: TrafficResult) -> str:
    return (
        f"{one.label} at {one.load:.4g}: {one.lost:,} of {counted(one.arrived, 'packet')} lost, "
        f"{one.unreachable:,} unreachable, {one.duplicated:,} delivered again."
    )


def bound_facts(bounds: Mapping[str, float]) -> tuple[Fact, ...]:
    """Return the bounds on the load of a pattern as facts."""
    return (Fact("bounds", dict(bounds), "largest load", text=bounds_in_words(bounds)),)


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
    lines = [list(points) for _, points in groupby(experiments, lambda one: one.label)]
    results: list[list[TrafficResult]] = [[] for _ in lines]

    def work(number: int, run: _Run) -> None:
        for experiment in sorted(lines[number], key=lambda one: one.load):
            result = run(experiment)
            results[number].append(result)
            if result.verdict == "unstable":
                return

    try:
        run_together(work, len(lines), len(experiments), engine, workers, progress)
    except KeyboardInterrupt as stop:
        stop.curves = _curves(lines, results)  # type: ignore[attr-defined]
        raise
    return _curves(lines, results)


def _curves(lines: list[list[TrafficExperiment]], results: list[list[TrafficResult]]) -> LoadCurves:
    left: dict[bool, list[TrafficExperiment]] = {True: [], False: []}
    for line, done in zip(lines, results, strict=True):
        is_unstable = bool(done) and done[-1].verdict == "unstable"
        left[is_unstable] += sorted(line, key=lambda point: point.load)[len(done) :]
    finished = tuple(result for line in results for result in line)
    return LoadCurves(finished, tuple(left[True]), tuple(left[False]))


def find_saturations(
    experiments: Sequence[TrafficExperiment],
    *,
    width: float = 0.02,
    engine: str = "auto",
    workers: int | None = None,
    progress: Progress = None,
) -> Saturations:
    """Find the largest stable load of schedulers, each as a bracket, by bisection.

    Parameters
    ----------
    experiments : sequence of TrafficExperiment
        One for each scheduler; its load is replaced.
    width : float
        The width of the bracket that is enough, as a share of its upper end.
    engine, workers, progress
        As for :func:`run_loads`.

    Returns
    -------
    Saturations
        A bracket for each.

    Raises
    ------
    KeyboardInterrupt
        If interrupted. Its attribute ``saturations`` has the brackets found up to then.

    Examples
    --------
    >>> from popsnet.traffic import TrafficExperiment, find_saturations
    >>> point = TrafficExperiment(4, 4, scheduler="hop3", load=0.1, slots=10_000)
    >>> bracket = find_saturations([point], width=0.1).brackets["hop3"]
    >>> bracket.stable < 1 / 3 < bracket.unstable
    True
    """
    points: list[list[TrafficResult]] = [[] for _ in experiments]
    finished: set[int] = set()

    def work(number: int, run: _Run) -> None:
        experiment = experiments[number]

        def at(load: float, arrival_seed: int) -> TrafficResult:
            point = experiment.replaced(load=load, overload=True, arrival_seed=arrival_seed)
            points[number].append(run(point))
            return points[number][-1]

        seed = experiment.arrival_seed
        find_saturation(
            partial(at, arrival_seed=seed),
            min(1.0, experiment.bounds.any.load),
            repeat=partial(at, arrival_seed=(seed + 1) % 2**64),
            width=width,
        )
        finished.add(number)

    def so_far() -> Saturations:
        begun = [number for number, there in enumerate(points) if there]
        return Saturations(
            {experiments[number].label: bracket_of(points[number]) for number in begun},
            {
                experiments[number].label: expected_saturation(experiments[number])
                for number in begun
            },
            tuple(one.label for number, one in enumerate(experiments) if number not in finished),
        )

    try:
        run_together(work, len(experiments), None, engine, workers, progress)
    except KeyboardInterrupt as stop:
        stop.saturations = so_far()  # type: ignore[attr-defined]
        raise
    return so_far()


@dataclass(frozen=True, repr=False)
class Saturations(Reported):
    """The brackets of several schedulers.

    Parameters
    ----------
    brackets : dict of Saturation
        The bracket of each scheduler, by its name.
    formulas : mapping
        The largest load of each scheduler by its formula, None where there is no formula for the
        arrivals.
    unfinished : tuple of str
        Schedulers whose bracket was not finished, because the work was interrupted.

    Examples
    --------
    >>> from popsnet.traffic import TrafficExperiment, find_saturations
    >>> point = TrafficExperiment(4, 4, scheduler="tdm", load=0.1, slots=10_000)
    >>> list(find_saturations([point], width=0.1).brackets)
    ['tdm']
    """

    brackets: dict[str, Saturation]
    formulas: Mapping[str, float | None] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints: a row per scheduler.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times and bit rates as well.
        """
        if not self.brackets:
            return Report()
        one = next(iter(self.brackets.values())).points[0]
        rows = [
            {
                "scheduler": name,
                "stable": bracket.stable,
                "unstable": bracket.unstable,
                "undecided": list(bracket.undecided),
                "formula": self.formulas.get(name),
                "points": len(bracket.points),
            }
            for name, bracket in self.brackets.items()
        ]
        columns: tuple[Column, ...] = (
            Column("scheduler", kind="text"),
            Column("stable", "stable at", "number", lambda row: _shown(row["stable"])),
            Column("unstable", "unstable at", "number", lambda row: _shown(row["unstable"])),
            Column("undecided", "undecided at", "text", _undecided),
            Column("formula", "by formula", "number", lambda row: _shown(row["formula"])),
            Column("points", kind="integer"),
        )  # fmt: skip
        every = [point for bracket in self.brackets.values() for point in bracket.points]
        title, facts = _heading(one, bound_facts(one.bounds))
        points = [{**point.row(timing), "arrival_seed": point.arrival_seed} for point in every]
        facts = (*facts, Fact("unfinished", list(self.unfinished)), Fact("points", points))
        name, notes = "Largest stable load", tuple(self._notes())
        if timing is None:
            return Report(title, facts, (Table("saturation", name, columns, rows), *notes))
        for row in rows:
            for key in ("stable", "unstable"):
                row[f"{key}_tbps"] = timing.terabits(row[key], one.network.n)  # type: ignore[arg-type]
        columns = (*columns, rate_column("stable_tbps", "stable, Tb/s"))
        table = Table("saturation", name, columns, rows)
        of = timing, rules_of(every, timing)
        return Report(title, (*facts, *time_facts(*of)), (table, *notes, *time_notes(*of)))

    def _notes(self) -> Iterable[str]:
        if self.unfinished:
            yield f"Interrupted before the end of the search: {', '.join(self.unfinished)}."
        for name, bracket in self.brackets.items():
            for load, points in groupby(bracket.points, lambda point: point.load):
                verdicts = [f"{x.verdict} with arrival seed {x.arrival_seed}" for x in points]
                if len(verdicts) > 1:
                    yield f"{name} at {load:.4g} is {', and '.join(verdicts)}."
            if reason := _contradiction(bracket, self.formulas.get(name)):
                yield f"{name}: {reason}"


def expected_saturation(experiment: TrafficExperiment) -> float | None:
    """Return the largest load of a scheduler by its formula, None if it has none for the arrivals.

    Parameters
    ----------
    experiment : TrafficExperiment
        The experiment. Formulas are for the first variant of a scheduler, uniform destinations and
        networks without faults.

    Returns
    -------
    float or None
        The load.

    Examples
    --------
    >>> from popsnet.traffic import TrafficExperiment
    >>> from popsnet.traffic.curves import expected_saturation
    >>> uniform = {"load": 0.1, "pattern": "uniform-with-self"}
    >>> expected_saturation(TrafficExperiment(8, 8, scheduler="vlb", **uniform))
    0.5
    """
    scheduler = experiment.resolved_scheduler
    if experiment.faults or experiment.variant != next(iter(scheduler.variants)):
        return None
    return largest_load(scheduler, experiment.arrivals, experiment.bounds)


_TOLERANCE = 0.01
"""Verdicts this close to a formula, as a share of it, do not contradict it."""


def _contradiction(bracket: Saturation, formula: float | None) -> str:
    """Say that a bracket does not contain the load that the formula gives, if so."""
    if formula is None:
        return ""
    if bracket.unstable is not None and bracket.unstable < (1 - _TOLERANCE) * formula:
        side = f"{bracket.unstable:.4g} was judged unstable"
    elif bracket.stable is not None and bracket.stable > (1 + _TOLERANCE) * formula:
        side = f"{bracket.stable:.4g} was judged stable"
    else:
        return ""
    return (
        f"{side}, and the formula gives {formula:.4g}. Repeat it with more slots or another "
        "arrival seed; the formulas of aloha and relay are approximate, and that of rotor is a "
        "lower bound if g does not divide d > g."
    )


def _undecided(row: Row) -> str:
    return ", ".join(map(_shown, row["undecided"]))


def _shown(load: float | None) -> str:
    return "–" if load is None else f"{load:.4g}"


_Run = Callable[[TrafficExperiment], TrafficResult]


def run_together(
    work: Callable[[int, _Run], None],
    count: int,
    points: int | None,
    engine: str,
    workers: int | None,
    progress: Progress,
) -> None:
    """Do pieces of work on threads; after an exception in one, stop the others."""
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
                    raise _Stopped("Stopped.")
                with lock:
                    update(detail=f"{counted(done, 'point')} done; {name}: {slots:,} slots")

            result = simulate(experiment, engine=engine, progress=watch)
            with lock:
                done += 1
                update(done)
            return result

        pool = ThreadPoolExecutor(workers or min(count, system.threads_here()))
        futures: list[Future[None]] = [pool.submit(work, number, run) for number in range(count)]
        try:
            for future in as_completed(futures):
                future.result()
        finally:
            stopped.set()
            pool.shutdown(wait=True, cancel_futures=True)


_RANGE = re.compile(r"([^:,]+):([^:,]+):(\d{1,4})(:log)?")


def read_loads(text: str) -> list[float]:
    """Return the loads that a text stands for, in ascending order.

    Parameters
    ----------
    text : str
        ``FROM:TO:COUNT`` for equal differences, ``FROM:TO:COUNT:log`` for equal ratios, or loads
        with commas between them.

    Returns
    -------
    list of float
        The loads, each once, rounded to six significant digits.

    Raises
    ------
    InputError
        If it is not such a text, or a load is not above 0 and at most 1.

    Examples
    --------
    >>> from popsnet.traffic.curves import read_loads
    >>> read_loads("0.1:0.5:3")
    [0.1, 0.3, 0.5]
    >>> read_loads("0.01:1:3:log")
    [0.01, 0.1, 1.0]
    """
    require_text("loads", text)
    found = _RANGE.fullmatch(text.strip())
    try:
        if found is None:
            loads = [float(one) for one in text.split(",")]
        else:
            first, last, count = float(found[1]), float(found[2]), int(found[3])
            if count < 2 or not 0 < first < last:
                raise ValueError
            spaced = np.geomspace if found[4] else np.linspace
            loads = spaced(first, last, count).tolist()
    except ValueError:
        raise wrong("loads", repr(text))(
            "give FROM:TO:COUNT with 0 < FROM < TO and at least 2 loads, FROM:TO:COUNT:log, or "
            "loads with commas between them, as in 0.1,0.2,0.5."
        ) from None
    for load in loads:
        if not 0 < load <= 1:
            raise wrong("loads", repr(text))(
                f"{load:g} is not above 0 and at most 1 packet per processor and slot."
            )
    return sorted({float(f"{load:.6g}") for load in loads})
