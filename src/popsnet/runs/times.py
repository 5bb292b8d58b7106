"""The slots of runs as times: a way to print them, which changes no run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from popsnet.base.report import Column, Fact, Report, Table
from popsnet.hardware import Timing
from popsnet.hardware.shown import shown_rate, time_column, timing_facts, timing_notes

if TYPE_CHECKING:
    from popsnet.experiment.experiment import Experiment
    from popsnet.runs.run import Runs

_COUNTS = {"slots": "until the router ended", "slots_delivered": "until the last delivery"}


def times_of(experiment: Experiment, timing: Timing, slots: npt.ArrayLike) -> list[float]:
    """Return the time of each number of slots in nanoseconds, propagation included."""
    rule, tau = experiment.resolved_variant.propagation, timing.propagation_slots
    return [
        timing.nanoseconds(rule.slots(experiment.network, count, tau=tau)) or 0.0 if count else 0.0
        for count in np.asarray(slots).tolist()
    ]


def run_times(runs: Runs, timing: Timing, count: str = "slots") -> npt.NDArray[np.float64]:
    """Return the time of every run in nanoseconds, propagation included.

    Parameters
    ----------
    runs : Runs
        The runs.
    timing : Timing
        The length of a slot, and the propagation.
    count : {"slots", "slots_delivered"}
        Until the router ended, or until the last delivery.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.runs.times import run_times
    >>> timing = popsnet.Timing(slot="20ns", fibre="10m")
    >>> run_times(popsnet.route(4, 4, router="direct", runs=2), timing)
    array([140., 140.])
    """
    values, places = np.unique(getattr(runs, count), return_inverse=True)
    return np.array(times_of(runs.experiment, timing, values))[places]


def with_times(report: Report, runs: Runs, timing: Timing) -> Report:
    """Return the report of runs with their times."""
    times = {count: run_times(runs, timing, count) for count in _COUNTS}
    functions: dict[str, Any] = {"mean_ns": np.mean, "min_ns": np.min, "max_ns": np.max}
    rows = [
        {"count": count, **{name: float(function(values)) for name, function in functions.items()}}
        for count, values in times.items()
    ]
    least = "≥ " if runs.capped.any() else ""  # a capped run is cut short
    label = Column("count", " ", "text", lambda row: _COUNTS[row["count"]])
    columns: tuple[Column, ...] = (label, time_column("max_ns", "in this run", least))
    if len(runs) > 1:
        spread = time_column("min_ns", "min"), time_column("max_ns", "max", least)
        columns = (label, time_column("mean_ns", "mean", least), *spread)
    goodput, bits, total = None, timing.payload_bits, float(times["slots"].sum())
    if bits is not None and total:
        goodput = float(runs.delivered.sum()) * bits / total  # in Gb/s, if runs follow each other
    label_of = "goodput, one run at a time" * (goodput is not None)
    fact = Fact("goodput_gbps", goodput, label_of, text=shown_rate(goodput))
    rule = runs.experiment.resolved_variant.propagation
    table = Table("times", "Time", columns, rows)
    return report.plus(*timing_facts(timing, rule), fact, table, *timing_notes(timing, str(rule)))


def add_times(records: list[dict[str, Any]], runs: Runs, timing: Timing) -> None:
    """Add the times of every run to its record."""
    for key, count in (("elapsed_ns", "slots"), ("delivered_ns", "slots_delivered")):
        for record, time in zip(records, run_times(runs, timing, count).tolist(), strict=True):
            record[key] = time
