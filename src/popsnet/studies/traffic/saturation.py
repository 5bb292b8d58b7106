"""The largest stable load, as a bracket, by bisection.

Also what the formulas of schedulers give for a pattern of traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any

from popsnet.base.errors import wrong
from popsnet.base.progress import Progress
from popsnet.base.report import Column, Fact, Plotted, Report, Reported, Table
from popsnet.base.report.table import nest
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.hardware import Timing
from popsnet.hardware.shown import rate_column
from popsnet.model.network import about
from popsnet.programs.scheduler import Scheduler
from popsnet.runs.delays import with_times
from popsnet.runs.traffic_result import COLUMNS, NESTED, TrafficResult, bounds_fact
from popsnet.studies.traffic.curves import Run, heading, run_together
from popsnet.workloads.largest_loads import Bounds

_MOST_POINTS = 40
_LEAST = 1e-4
"""Loads below this share of the upper end are not tried."""


@dataclass(frozen=True, repr=False)
class Saturation(Reported):
    """A bracket of the largest stable load.

    Parameters
    ----------
    stable : float or None
        The largest load that was judged stable.
    unstable : float or None
        The smallest load that was judged unstable, None if there is none.
    undecided : tuple of float
        All loads that were undecided, also those outside of the bracket.
    points : tuple of TrafficResult
        All points, by load. A load that was repeated with other arrivals has two.

    Examples
    --------
    >>> from popsnet.studies.traffic.saturation import Saturation
    >>> Saturation(0.49, 0.5, ()).width
    0.020000000000000018
    """

    stable: float | None
    unstable: float | None
    undecided: tuple[float, ...]
    points: tuple[TrafficResult, ...] = field(default=(), compare=False)

    @property
    def width(self) -> float | None:
        """The width of the bracket as a share of its upper end."""
        if self.unstable is None:
            return None
        return (self.unstable - (self.stable or 0.0)) / self.unstable

    def report(self) -> Report:
        """Return the bracket, and a table of all points."""
        facts = (
            Fact("stable", self.stable, "largest stable load", text=_load(self.stable)),
            Fact("unstable", self.unstable, "smallest unstable load", text=_load(self.unstable)),
            Fact("undecided", list(self.undecided)),
        )
        table = Table("points", "", COLUMNS, [point.row() for point in self.points], nested=NESTED)
        return Report("", facts, (table,), self._verdict)

    def in_short(self) -> str:
        """Return the bracket in a line."""
        return self._verdict.rstrip(".")

    @property
    def _verdict(self) -> str:
        low, high = _load(self.stable or 0.0), _load(self.unstable)
        if self.unstable is None and not self.undecided:
            return f"Stable up to {low}, the largest load tried."
        between = "; undecided at " * bool(self.undecided) + _loads(self.undecided)
        if self.unstable is None:
            return f"Stable up to {low}{between}."
        return f"Saturation is between {low} and {high}{between}."


def _load(load: float | None) -> str:
    return "–" if load is None else f"{load:.4g}"


def _loads(loads: Sequence[float]) -> str:
    return ", ".join(map(_load, loads))


def find_saturation(
    run: Callable[[float], TrafficResult],
    upper: float = 1.0,
    *,
    repeat: Callable[[float], TrafficResult] | None = None,
    width: float = 0.02,
) -> Saturation:
    """Return a bracket of the largest stable load.

    Parameters
    ----------
    run : function
        Returns the result at a load.
    upper : float
        The largest load to try, such as a bound for any scheduler.
    repeat : function, optional
        Returns another result at a load, with other arrivals. It is asked about loads that are
        unstable though larger ones are undecided.
    width : float
        The width of the bracket that is enough, as a share of its upper end.

    Returns
    -------
    Saturation
        The bracket and all points.

    Raises
    ------
    InputError
        If a parameter is out of range.

    Notes
    -----
    Loads below a stable one count as stable, loads above an unstable one as unstable. Where loads
    are undecided, the gaps below and above them are each bisected, so that the bracket may stay
    wider, and says which loads were undecided. An unstable load below an undecided one is repeated,
    and is undecided itself unless both results are unstable.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from popsnet.studies.traffic.saturation import find_saturation
    >>> found = find_saturation(lambda load: SimpleNamespace(load=load, stable=load < 0.3), 1.0)
    >>> found.stable, found.unstable
    (0.296875, 0.30078125)
    """
    if not 0 < upper <= 1:
        raise wrong("upper", upper)("a load must be above 0 and at most 1.")
    if not 0 < width < 1:
        raise wrong("width", width)("it must be between 0 and 1, such as 0.02 for 2 %.")
    points: list[TrafficResult] = []
    load: float | None = upper
    while load is not None and len(points) < _MOST_POINTS:
        points.append(run(load))
        doubtful = max(bracket_of(points).undecided, default=0)
        if repeat and points[-1].stable is False and load < doubtful:
            points.append(repeat(load))
        load = _next(bracket_of(points), upper, width)
    return bracket_of(points)


def bracket_of(points: Sequence[TrafficResult]) -> Saturation:
    """Return the bracket of the largest stable load that points give.

    Parameters
    ----------
    points : sequence of TrafficResult
        Points of one scheduler. A load with several is unstable only if all of them are.

    Returns
    -------
    Saturation
        The bracket and all points.
    """
    verdicts: dict[float, bool | None] = {}
    for point in points:
        same = verdicts.setdefault(point.load, point.stable) == point.stable
        verdicts[point.load] = point.stable if same else None
    low = max((load for load, stable in verdicts.items() if stable), default=None)
    high = min((load for load, stable in verdicts.items() if stable is False), default=None)
    undecided = tuple(sorted(load for load, stable in verdicts.items() if stable is None))
    return Saturation(low, high, undecided, tuple(sorted(points, key=lambda point: point.load)))


def _next(bracket: Saturation, upper: float, width: float) -> float | None:
    """Return the middle of the widest gap that is left, None if all are narrow."""
    begin, ends = bracket.stable or 0.0, [] if bracket.unstable is None else [bracket.unstable]
    between = [load for load in bracket.undecided if begin < load < min(ends, default=2)]
    gaps = [(begin, end) for end in (between or ends)[:1]]
    gaps += [(between[-1], end) for end in ends if between]
    wide = [(a, b) for a, b in gaps if b - a > width * b and b > _LEAST * upper]
    if not wide:
        return None
    a, b = max(wide, key=lambda gap: gap[1] - gap[0])
    return (a + b) / 2


UNIFORM = ("uniform", "uniform-with-self")
"""The patterns for which schedulers state their largest loads."""


def pattern_of(arrivals: str) -> str:
    """Return the pattern of arrivals, which have no influence on the largest load otherwise.

    >>> pattern_of("burst:4 uniform")
    'uniform'
    """
    return arrivals.rpartition(" ")[2]


def largest_load(scheduler: Scheduler, arrivals: str, bounds: Bounds) -> float | None:
    """Return the largest load of a scheduler by its formula.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler.
    arrivals : str
        The name of the arrivals.
    bounds : Bounds
        Their bounds.

    Returns
    -------
    float or None
        None if the scheduler states none, or the pattern is not uniform. If no source sends to
        itself, the load is at most the bound of the pattern.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic import find_scheduler
    >>> from popsnet.workloads.patterns import resolve_pattern
    >>> bounds = resolve_pattern("uniform", Network(4, 4)).bounds()
    >>> largest_load(find_scheduler("tdm"), "bernoulli uniform", bounds)
    0.9375
    """
    pattern, formula = pattern_of(arrivals), scheduler.saturation
    if formula is None or pattern not in UNIFORM:
        return None
    if pattern == "uniform-with-self":
        return formula(bounds.network)
    bound = bounds.one_hop if scheduler.paths == "one hop" else bounds.any
    others = scheduler.saturation_to_others or formula
    return min(others(bounds.network), bound.load)


def load_in_any_case(scheduler: Scheduler, bounds: Bounds) -> float | None:
    """Return the load that a scheduler carries whatever the pattern.

    Parameters
    ----------
    scheduler : Scheduler
        The scheduler.
    bounds : Bounds
        The bounds of the pattern.

    Returns
    -------
    float or None
        The load at which the largest rate of a source or destination is what the scheduler states
        for any traffic; None if it states nothing.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic import find_scheduler
    >>> from popsnet.workloads.patterns import resolve_pattern
    >>> bounds = resolve_pattern("incast:4", Network(4, 4)).bounds()
    >>> load_in_any_case(find_scheduler("vlb"), bounds)  # a destination gets 16 times the mean
    0.03125
    """
    if scheduler.any_traffic is None:
        return None
    return scheduler.any_traffic(bounds.network) * min(bounds.rows, bounds.columns)


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

    def work(number: int, run: Run) -> None:
        experiment = experiments[number]

        def at(arrival_seed: int, load: float) -> TrafficResult:
            point = experiment.replaced(load=load, overload=True, arrival_seed=arrival_seed)
            points[number].append(run(point))
            return points[number][-1]

        seed = experiment.arrival_seed
        upper, repeat = min(1.0, experiment.bounds.any.load), partial(at, (seed + 1) % 2**64)
        find_saturation(partial(at, seed), upper, repeat=repeat, width=width)
        finished.add(number)

    def so_far() -> Saturations:
        begun = [(experiments[number], line) for number, line in enumerate(points) if line]
        return Saturations(
            {experiment.label: bracket_of(line) for experiment, line in begun},
            {experiment.label: expected_saturation(experiment) for experiment, _ in begun},
            tuple(point.label for i, point in enumerate(experiments) if i not in finished),
        )

    result = "saturations", so_far
    return run_together(work, len(experiments), None, result, engine, workers, progress)


@dataclass(frozen=True, repr=False)
class Saturations(Reported, Plotted):
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

    __hash__ = None  # type: ignore[assignment]

    _draw = "draw_load_curves"

    brackets: dict[str, Saturation]
    formulas: Mapping[str, float | None] = field(default_factory=dict)
    unfinished: tuple[str, ...] = ()

    def in_short(self) -> str:
        """Return the brackets in a line."""
        return "; ".join(f"{name}: {bracket.in_short()}" for name, bracket in self.brackets.items())

    @property
    def _drawn(self) -> Any:
        return {name: bracket.points for name, bracket in self.brackets.items()}

    def report(self, timing: Timing | None = None) -> Report:
        """Return the report that the command line prints: a row per scheduler.

        Parameters
        ----------
        timing : Timing, optional
            The length of a slot, to print times and bit rates as well.
        """
        if not self.brackets:
            return Report()
        first = next(iter(self.brackets.values())).points[0]
        rows: list[dict[str, Any]] = []
        for name, bracket in self.brackets.items():
            loads = {"scheduler": name, "stable": bracket.stable, "unstable": bracket.unstable}
            more = {"undecided": list(bracket.undecided), "formula": self.formulas.get(name)}
            rows.append({**loads, **more, "points": len(bracket.points)})
        columns: tuple[Column, ...] = (
            Column("scheduler", kind="text"),
            Column("stable", "stable at", "number", lambda row: _load(row["stable"])),
            Column("unstable", "unstable at", "number", lambda row: _load(row["unstable"])),
            Column("undecided", "undecided at", "text", lambda row: _loads(row["undecided"])),
            Column("formula", "by formula", "number", lambda row: _load(row["formula"])),
            Column("points", kind="integer"),
        )
        every = [point for bracket in self.brackets.values() for point in bracket.points]
        title, facts = heading(first, bounds_fact(first.bounds))
        points = [nest(point.row(timing), NESTED) for point in every]
        facts = (*facts, Fact("unfinished", list(self.unfinished)), Fact("points", points))
        if timing is not None:
            for row in rows:
                for key in ("stable", "unstable"):
                    row[f"{key}_gbps"] = timing.gigabits(row[key], first.network.n)
            columns = (*columns, rate_column("stable_gbps", "stable, Tb/s"))
        table = Table("saturation", "Largest stable load", columns, rows)
        same = about(first.network, arrival_seed=first.arrival_seed)
        report = Report(title, facts, (table, *self._notes()), about=same)
        return with_times(report, timing, every)

    def _notes(self) -> Iterable[str]:
        if self.unfinished:
            yield f"Interrupted before the end of the search: {', '.join(self.unfinished)}."
        for name, bracket in self.brackets.items():
            for load, points in groupby(bracket.points, lambda point: point.load):
                verdicts = [f"{x.verdict} with arrival seed {x.arrival_seed}" for x in points]
                if len(verdicts) > 1:
                    yield f"{name} at {load:.4g} is {', and '.join(verdicts)}."
            if bracket.unstable is None:
                most = max(point.load for point in bracket.points)
                yield f"{name}: no load up to {most:.4g} was unstable; more slots may decide."
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
    >>> from popsnet.studies.traffic.saturation import expected_saturation
    >>> uniform = {"load": 0.1, "pattern": "uniform-with-self"}
    >>> expected_saturation(TrafficExperiment(8, 8, scheduler="vlb", **uniform))
    0.5
    """
    scheduler = experiment.resolved_scheduler
    if experiment.open_faults().kinds or experiment.variant != next(iter(scheduler.variants)):
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
