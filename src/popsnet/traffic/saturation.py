"""The largest stable load, as a bracket, by bisection.

Also what the formulas of schedulers give for a pattern of traffic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from popsnet.errors import wrong
from popsnet.report import Fact, Report, Reported, Table
from popsnet.traffic.bounds import Bounds
from popsnet.traffic.result import COLUMNS, TrafficResult
from popsnet.traffic.scheduler import Scheduler

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
    >>> from popsnet.traffic.saturation import Saturation
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
        rows = [point.row() for point in self.points]
        return Report("", facts, (Table("points", "", COLUMNS, rows),), self._verdict)

    @property
    def _verdict(self) -> str:
        low, high = _load(self.stable or 0.0), _load(self.unstable)
        if self.unstable is None and not self.undecided:
            return f"Stable up to {low}, the largest load tried."
        between = (
            f"; undecided at {', '.join(map(_load, self.undecided))}" if self.undecided else ""
        )
        if self.unstable is None:
            return f"Stable up to {low}{between}."
        return f"Saturation is between {low} and {high}{between}."


def _load(load: float | None) -> str:
    return "–" if load is None else f"{load:.4g}"


def find_saturation(
    run: Callable[[float], TrafficResult],
    upper: float = 1.0,
    *,
    repeat: Callable[[float], TrafficResult] | None = None,
    width: float = 0.02,
    most_points: int = 40,
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
    most_points : int
        The most points to run.

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
    >>> from popsnet.traffic.saturation import find_saturation
    >>> found = find_saturation(lambda load: SimpleNamespace(load=load, stable=load < 0.3), 1.0)
    >>> found.stable, found.unstable
    (0.296875, 0.30078125)
    """
    _check(upper, width, most_points)
    points: list[TrafficResult] = []
    load: float | None = upper
    while load is not None and len(points) < most_points:
        points.append(run(load))
        doubtful = max(_undecided(_verdicts(points)), default=0)
        if repeat and points[-1].stable is False and load < doubtful:
            points.append(repeat(load))
        load = _next(_verdicts(points), upper, width)
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
    verdicts = _verdicts(points)
    low, high = _bracket(verdicts)
    in_order = tuple(sorted(points, key=lambda point: point.load))
    return Saturation(low, high, tuple(_undecided(verdicts)), in_order)


def _verdicts(points: Sequence[TrafficResult]) -> dict[float, bool | None]:
    """Return whether each load is stable. One with different verdicts is undecided."""
    verdicts: dict[float, bool | None] = {}
    for point in points:
        same = verdicts.setdefault(point.load, point.stable) == point.stable
        verdicts[point.load] = point.stable if same else None
    return verdicts


def _check(upper: float, width: float, most_points: int) -> None:
    if not 0 < upper <= 1:
        raise wrong("upper", upper)("a load must be above 0 and at most 1.")
    if not 0 < width < 1:
        raise wrong("width", width)("it must be between 0 and 1, such as 0.02 for 2 %.")
    if most_points < 1:
        raise wrong("most_points", most_points)("it must be at least 1.")


def _bracket(verdicts: dict[float, bool | None]) -> tuple[float | None, float | None]:
    """Return the largest stable load and the smallest unstable one."""
    low = max((load for load, stable in verdicts.items() if stable), default=None)
    high = min((load for load, stable in verdicts.items() if stable is False), default=None)
    return low, high


def _undecided(verdicts: dict[float, bool | None]) -> list[float]:
    return sorted(load for load, stable in verdicts.items() if stable is None)


def _next(verdicts: dict[float, bool | None], upper: float, width: float) -> float | None:
    """Return the middle of the widest gap that is left, None if all are narrow."""
    low, high = _bracket(verdicts)
    begin, ends = low or 0.0, [] if high is None else [high]
    between = [
        load for load in _undecided(verdicts) if load > begin and load < min(ends, default=2)
    ]
    if between:
        gaps = [(begin, between[0]), *((between[-1], end) for end in ends)]
    else:
        gaps = [(begin, end) for end in ends]
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
    >>> from popsnet.traffic.patterns import resolve_pattern
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
    >>> from popsnet.traffic.patterns import resolve_pattern
    >>> bounds = resolve_pattern("incast:4", Network(4, 4)).bounds()
    >>> load_in_any_case(find_scheduler("vlb"), bounds)  # a destination gets 16 times the mean
    0.03125
    """
    if scheduler.any_traffic is None:
        return None
    return scheduler.any_traffic(bounds.network) * min(bounds.rows, bounds.columns)
