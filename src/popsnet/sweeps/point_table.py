"""The points of continuous traffic in a store, and the rows of its table ``traffic``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from popsnet.sweeps.rows import Row
from popsnet.sweeps.selection import EVERYTHING, Selection
from popsnet.traffic.experiment import TrafficExperiment
from popsnet.traffic.result import TrafficResult

if TYPE_CHECKING:
    from popsnet.sweeps.store import Store


import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import blake2b
from typing import get_type_hints

import msgspec

from popsnet.errors import InputError
from popsnet.sweeps.rows import UnreadableError, flaws_in
from popsnet.sweeps.shard import NEGLIGIBLE, Stopped, versions_here
from popsnet.traffic.experiment import GIVEN
from popsnet.traffic.measures import Worst
from popsnet.traffic.result import OF_FAULTS
from popsnet.traffic.scheduler import all_schedulers

_SLOT_SECONDS = {"slots": (2e-4, 1e-6), "fused": (5e-7, 1e-8)}
"""Seconds of one slot, and of a slot per processor; only their ratios matter."""

_SHORTEST_FRAME = 200
_FRAMES = 30
"""The frames that a point takes at a small load: warm-up, window and drain."""
_MOST_INSIDE = 2**24


@dataclass(frozen=True)
class PointProvenance:
    """When, where and with what a point was made. None of it affects the result."""

    engine: str
    popsnet: str
    python: str
    numpy: str
    numba: str
    machine: str
    given: Mapping[str, str | int | float | None]
    """The pattern, the burst and the names of files, as they were given."""
    seconds: float
    finished: str
    """When, in UTC."""


@dataclass(frozen=True, eq=False)
class Point:
    """A finished point. Its result names no engine: the provenance does."""

    experiment: TrafficExperiment
    result: TrafficResult
    provenance: PointProvenance


def execute_point(
    experiment: TrafficExperiment, stopped: Callable[[], bool] | None = None
) -> Point:
    """Simulate a point on the calling thread; it stops soon after ``stopped()`` is true."""
    from popsnet.traffic.simulate import simulate

    begin = time.perf_counter()

    def watch(done: int, total: int) -> None:
        if stopped is not None and stopped():
            raise Stopped("Stopped before the point was finished.")

    result = simulate(experiment, progress=watch)
    seconds = round(time.perf_counter() - begin, 6)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    origin = PointProvenance(
        result.setting.engine, *versions_here(), dict(experiment.given), seconds, now
    )
    return Point(experiment, without_engine(result), origin)


def without_engine(result: TrafficResult) -> TrafficResult:
    """Return a result as a store keeps it: the same whatever engine made it."""
    return replace(result, setting=replace(result.setting, engine=""))


def estimate_point(experiment: TrafficExperiment) -> float:
    """Estimate the seconds that a point takes, to about a factor of ten.

    Two significant digits are kept, so that different machines agree on the order of points.
    """
    from popsnet.traffic.simulate import choose_traffic_engine

    fixed, each = _SLOT_SECONDS[choose_traffic_engine("auto", experiment)]
    frames = _FRAMES * _frame(experiment) / (1.1 - experiment.load)
    slots = experiment.slots or min(frames, experiment.max_slots or frames)
    return float(f"{slots * (fixed + each * experiment.network.n):.1e}")


def memory_of_point(experiment: TrafficExperiment) -> int:
    """Estimate the bytes that a point needs on a worker, 0 if negligible."""
    n = experiment.network.n
    inside = min(_MOST_INSIDE, int(n * experiment.load * _frame(experiment)))
    needed = 400 * n + 32 * inside
    return needed if needed > NEGLIGIBLE else 0


def _frame(experiment: TrafficExperiment) -> int:
    return max(experiment.resolved_scheduler.period(experiment.network), _SHORTEST_FRAME)


def require_storable(experiment: TrafficExperiment) -> None:
    """Refuse faults, and a scheduler that its name and version do not identify."""
    if experiment.faults:
        raise InputError(
            f"{experiment} has faults ({experiment.faults}). A store keeps no points with faults, "
            "because earlier versions of popsnet would take them for points without. Run them with "
            "popsnet.simulate or popsnet.traffic.run_loads."
        )
    if experiment.wavelengths > 1:
        raise InputError(
            f"{experiment}: a store keeps points of networks with one wavelength per coupler; use "
            "simulate() or run_loads() for several."
        )
    found = experiment.resolved_scheduler
    if not any(found is one for one in all_schedulers()):
        raise InputError(
            f"Scheduler {experiment.scheduler} is not registered, so its results could not be told "
            "from those of a later version. Put it into a file with "
            "@popsnet.traffic.register_scheduler(...) and give the file."
        )


_UNREADABLE = (
    InputError, msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError,
    RecursionError,
)  # fmt: skip


def point_row(point: Point) -> Row:
    """Return the row of a point.

    Its first three values depend on nothing but the experiment: its name, its identity and the
    result, without the engine. Names of files as they were given belong to the provenance.
    """
    result = point.result.to_dict()
    del result["setting"]["engine"]
    values = (
        point.experiment.digest,
        _text(point.experiment.identity),
        _text(result),
        _text(asdict(point.provenance)),
    )
    return (*values, digest_of(values))


def _text(values: object) -> str:
    return json.dumps(values, sort_keys=True)


def digest_of(row: Row) -> str:
    """Return the digest of a point: a hash of the first four values of its row."""
    return blake2b(msgspec.msgpack.encode(row[:4]), digest_size=16).hexdigest()


def point_of(row: Row) -> Point:
    """Return the point of a row.

    Raises
    ------
    UnreadableError
        If the row does not match its digest, or has values that popsnet never writes.
    """
    where = f"Point {row[0]} of traffic"
    try:
        if digest_of(row) != row[4]:
            raise UnreadableError(f"{where} was changed: its digest does not match its row.")
        origin = msgspec.json.decode(row[3], type=PointProvenance)
        if not origin.given.keys() <= GIVEN:
            raise ValueError
        identity = json.loads(row[1])
        msgspec.convert(identity, _identity_type())
        experiment = TrafficExperiment.recorded(identity, origin.given)
        digest, _ = experiment.digest, experiment.network
        values = json.loads(row[2])
        msgspec.convert(values, _result_type())
        result = TrafficResult.from_dict(values)
    except _UNREADABLE:
        raise UnreadableError(f"{where} has values that cannot be read.") from None
    if digest != row[0]:
        raise UnreadableError(
            f"{where} has a name that does not match its parameters (expected {digest})."
        )
    return Point(experiment, result, origin)


@cache
def _identity_type() -> Any:
    values = [*TrafficExperiment.identity_types().items()]
    return msgspec.defstruct("Identity", values, forbid_unknown_fields=True)


@cache
def _result_type() -> Any:
    """Return the types of a result as plain values, which ``from_dict`` does not check."""
    plain = {
        "network": dict[str, int],
        "worst": msgspec.defstruct("Worst", [*get_type_hints(Worst).items()]) | None,
    }
    hints = get_type_hints(TrafficResult)
    names = (one.name for one in fields(TrafficResult) if one.name not in OF_FAULTS)
    values = [(name, plain.get(name, hints[name])) for name in names]
    return msgspec.defstruct("Result", values, forbid_unknown_fields=True)


point_flaws = partial(flaws_in, point_of)
"""Yields what is wrong with the row of a point."""


def same_result(one: Row, other: Row) -> bool:
    """Return whether two rows of a point have the same experiment and result.

    Up to 0.6, the last digit of some measures depended on the processor.
    """
    return one[:2] == other[:2] and _alike(json.loads(one[2]), json.loads(other[2]))


def _alike(x: Any, y: Any) -> bool:
    if isinstance(x, float) and isinstance(y, float):
        return math.isclose(x, y, rel_tol=1e-12, abs_tol=1e-15)
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(_alike(x[key], y[key]) for key in x)
    if isinstance(x, list) and isinstance(y, list):
        return len(x) == len(y) and all(map(_alike, x, y))
    return type(x) is type(y) and bool(x == y)


def point_difference(here: Row, new: Row, there: str, then: str) -> str:
    """Say how two results of one point differ."""
    try:
        first, second = (point_of(row).result for row in (here, new))
    except UnreadableError as error:
        return str(error)
    for what, values in {
        "verdict": (first.verdict, second.verdict),
        "mean delay": (first.delay.mean, second.delay.mean),
        "packets delivered": (first.delivered, second.delivered),
    }.items():
        if values[0] != values[1]:
            return f"{what} {values[0]} {there}, {values[1]} {then}"
    return f"other measures {there} than {then}"


class PointTable:
    """Look up points of continuous traffic in a store. Every row is checked before it is used.

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
        return len(self._store.rows("traffic"))

    def points(self, only: Selection = EVERYTHING) -> list[Point]:
        """Return points with their results and provenance, small networks first.

        Parameters
        ----------
        only : Selection
            Which points; all by default.
        """
        found = [self._point(row) for row in self._store.rows("traffic")]
        found = [one for one in found if one.experiment in only]
        return sorted(found, key=lambda one: _order(one.experiment))

    def experiments(self, only: Selection = EVERYTHING) -> list[TrafficExperiment]:
        """Return the experiments of which the store has the result.

        They can be looked up and compared; their ``reopened()`` gives one that can be run.
        """
        return [point.experiment for point in self.points(only)]

    def results(self, only: Selection = EVERYTHING) -> list[TrafficResult]:
        """Return the results of points, small networks first and small loads first."""
        return [point.result for point in self.points(only)]

    def missing(self, experiments: Iterable[TrafficExperiment]) -> list[TrafficExperiment]:
        """Return those of some experiments that the store does not have."""
        there = set(self.experiments())
        return [one for one in experiments if one not in there]

    def get(self, experiment: TrafficExperiment) -> Point | None:
        """Return a point; None if the store does not have it."""
        found = self._store.rows("traffic", experiment.digest)
        return self._point(found[0]) if found else None

    def _point(self, row: Row) -> Point:
        with self._store.errors_named():
            return point_of(row)


def _order(one: TrafficExperiment) -> tuple[Any, ...]:
    return one.network.n, one.g, one.arrivals, one.scheduler, one.variant, one.load, one.digest


def traffic_records(points: Iterable[Point]) -> list[dict[str, Any]]:
    """Return a dictionary per point: the experiment, and what a table shows of the result."""
    return [
        {**traffic_fields(one.experiment), **one.result.row(), **label_of(one.experiment)}
        for one in points
    ]


def label_of(experiment: TrafficExperiment) -> dict[str, str]:
    """Return the column with the user's label of a point, which may be empty."""
    return {"label": str(experiment.given.get("label", ""))}


def traffic_fields(experiment: TrafficExperiment) -> dict[str, Any]:
    """Return the columns that say which point it is."""
    names = (
        "scheduler", "version", "variant", "arrivals", "load", "buffer", "seed", "arrival_seed",
        "precision", "max_slots",
    )  # fmt: skip
    return {
        "experiment": experiment.digest,
        **experiment.network.to_dict(),
        **{name: getattr(experiment, name) for name in names},
        "slots_wanted": experiment.slots,
    }
