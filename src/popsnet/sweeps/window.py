"""Windows: points of continuous traffic, one result each."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

import msgspec

from popsnet.experiment.stop import MOST_INSIDE, SHORTEST_FRAME
from popsnet.experiment.traffic import GIVEN, TrafficExperiment
from popsnet.model.faults.faults import as_recorded, from_record
from popsnet.runs.measures import Worst
from popsnet.runs.traffic_result import OF_FAULTS, TrafficResult
from popsnet.sweeps.kind import UNREADABLE, Result, ResultBatch, ResultKind, UnreadableError
from popsnet.sweeps.selection import EVERYTHING, Selection

if TYPE_CHECKING:
    from popsnet.sweeps.store import Store

_SLOT_SECONDS = {"slots": (2e-4, 1e-6), "fused": (5e-7, 1e-8)}
"""Seconds of one slot, and of a slot per processor; only their ratios matter."""

_FRAMES = 30
"""The frames that a point takes at a small load: warm-up, window and drain."""


@dataclass(frozen=True, eq=False)
class Point(ResultBatch):
    """A finished point. Its result names no engine: the provenance does."""

    experiment: TrafficExperiment
    outcome: TrafficResult

    @property
    def result(self) -> TrafficResult:
        """The result."""
        return self.outcome

    def rows(self) -> list[Result]:
        """Return the row of the point."""
        values = self.result.to_dict()
        del values["setting"]["engine"]
        body = as_recorded(json.dumps(values, sort_keys=True))
        origin = self.provenance.to_json()
        return [Result.of(self.experiment.digest, WindowKind.name, 0, 1, body, origin)]


class WindowKind(ResultKind):
    """Windows of continuous traffic."""

    name = "window"
    unfinished = "the point was"
    runs = 1
    register = "traffic.register_scheduler"
    experiment = TrafficExperiment
    given = GIVEN
    batch_type = Point
    then_by = "workload", "program", "variant", "load"

    def run(
        self, experiment: TrafficExperiment, numbers: range, engine: str, watch: Callable[..., None]
    ) -> tuple[TrafficResult, str]:
        """Return the result of a point, and the engine that simulated it."""
        from popsnet.runs.simulate import simulate

        result = simulate(experiment, progress=watch)
        return without_engine(result), result.setting.engine

    def seconds(self, experiment: TrafficExperiment, engine: str) -> float:
        """Estimate the seconds that a point takes, to about a factor of ten."""
        from popsnet.engines.choice import choose_traffic_engine

        fixed, each = _SLOT_SECONDS[choose_traffic_engine("auto", experiment)]
        frames = _FRAMES * _frame(experiment) / (1.1 - experiment.load)
        slots = experiment.slots or min(frames, experiment.max_slots or frames)
        return float(f"{slots * (fixed + each * experiment.network.n):.1e}")

    def needed(self, experiment: TrafficExperiment) -> int:
        """Estimate the bytes that a point needs on a worker."""
        n = experiment.network.n
        inside = min(MOST_INSIDE, int(n * experiment.load * _frame(experiment)))
        return 400 * n + 32 * inside

    def where(self, row: Result) -> str:
        """Return the name of a point."""
        return f"point {row.digest} of traffic"

    def flaws(self, row: Result) -> Iterator[str]:
        """Yield what is wrong with the numbers of a point."""
        try:
            result_of(row)
        except UnreadableError as error:
            yield str(error)

    def difference(self, row: Result, other: Result, here: str, other_place: str) -> str:
        """Say how two results of a point differ; empty if they do not.

        Up to 0.6, the last digit of some measures depended on the processor. Reasons are sentences,
        and other versions of popsnet have others.
        """
        if _alike(json.loads(row.body), json.loads(other.body)):
            return ""
        try:
            first, second = result_of(row), result_of(other)
        except UnreadableError as error:
            return str(error)
        for what, mine, theirs in (
            ("verdict", first.verdict, second.verdict),
            ("mean delay", first.delay.mean, second.delay.mean),
            ("packets delivered", first.delivered, second.delivered),
        ):
            if mine != theirs:
                return f"{what} {mine} {here}, {theirs} {other_place}"
        return f"other measures {here} than {other_place}"


def without_engine(result: TrafficResult) -> TrafficResult:
    """Return a result as a store keeps it: the same whatever engine made it."""
    return replace(result, setting=replace(result.setting, engine=""))


def _frame(experiment: TrafficExperiment) -> int:
    return max(experiment.resolved_scheduler.period(experiment.network), SHORTEST_FRAME)


def result_of(row: Result) -> TrafficResult:
    """Return the result of a point.

    Raises
    ------
    UnreadableError
        If it has values that popsnet never writes.
    """
    try:
        if (row.first, row.runs) != (0, 1) or not isinstance(row.body, str):
            raise ValueError
        values = json.loads(from_record(row.body))
        msgspec.convert(values, _result_type("faults" in values["setting"]))
        return TrafficResult.from_dict(values)
    except UNREADABLE:
        raise UnreadableError(f"Point {row.digest} of traffic cannot be read.") from None


@cache
def _result_type(faulty: bool) -> Any:
    """Return the types of a result as plain values, which ``from_dict`` does not check."""
    plain = {
        "network": dict[str, int],
        "worst": msgspec.defstruct("Worst", [*get_type_hints(Worst).items()]) | None,
    }
    hints = get_type_hints(TrafficResult)
    names = TrafficResult.__dataclass_fields__
    present = (name for name in names if faulty or name not in OF_FAULTS)
    values = [(name, plain.get(name, hints[name])) for name in present]
    return msgspec.defstruct("Result", values, forbid_unknown_fields=True)


def _alike(x: Any, y: Any) -> bool:
    if isinstance(x, float) and isinstance(y, float):
        return math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-15)
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(key == "reason" or _alike(x[key], y[key]) for key in x)
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(_alike, x, y))
    return type(x) is type(y) and bool(x == y)


class PointTable:
    """The points of continuous traffic in a store.

    Parameters
    ----------
    store : Store
        The store.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.sweeps import collect_traffic
    >>> sweep = popsnet.Sweep.of_traffic(d=4, g=4, loads=[0.1, 0.2], slots=200)
    >>> results = collect_traffic(sweep, store="results.sqlite")
    >>> with popsnet.Store("results.sqlite") as store:
    ...     store.traffic.results() == results
    True
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def count(self) -> int:
        """Return the number of points."""
        return self._store.count(WindowKind.name)[0]

    def points(self, only: Selection = EVERYTHING) -> list[Point]:
        """Return points with their results and provenance, small networks first.

        Parameters
        ----------
        only : Selection
            Which points; all by default.
        """
        points = {point.experiment: point for point in self._store.points()}
        return [points[experiment] for experiment in self._store.of_versions([*points], only)]

    def experiments(self, only: Selection = EVERYTHING) -> list[TrafficExperiment]:
        """Return the experiments of which the store has the result.

        They can be looked up and compared; their ``reopened()`` gives one that can be run.
        """
        return [point.experiment for point in self.points(only)]

    def results(self, only: Selection = EVERYTHING) -> list[TrafficResult]:
        """Return the results of points, small networks first and small loads first."""
        return [point.result for point in self.points(only)]

    def get(self, experiment: TrafficExperiment) -> Point | None:
        """Return a point; None if the store does not have it."""
        return self._store.point(experiment)
