"""Points of continuous traffic: executed, with when and where, and how long they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from popsnet.errors import InputError
from popsnet.sweeps.shard import NEGLIGIBLE, Stopped, versions_here
from popsnet.traffic.experiment import TrafficExperiment
from popsnet.traffic.result import TrafficResult
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
