"""Delays as times, and loads as bit rates: a way to print points, which changes none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from popsnet.base.report import Column, Fact, Report, Row, Table
from popsnet.base.report.table import NOTHING
from popsnet.hardware import INTERLEAVED, ONE_HOP, Propagation, Timing
from popsnet.hardware.shown import rate_column, shown_time, timing_notes
from popsnet.programs.scheduler import all_schedulers

if TYPE_CHECKING:
    from popsnet.runs.traffic_result import TrafficResult

_SHARES = ("p50", "p90", "p95", "p99", "p999", "max")


def propagation_of(result: TrafficResult, timing: Timing) -> Propagation:
    """Return how propagation lengthens the delays of a point.

    Interleaved schedulers share the arrivals of a processor, and the share of a Bernoulli process
    is one; that of bursts is not, so delays are an estimate. So they are with finite buffers,
    except for one hop: propagation fills others longer.
    """
    known = {scheduler.name: scheduler.propagation for scheduler in all_schedulers()}
    rule = INTERLEAVED  # of a function that is not registered, or a file that is not loaded
    if result.scheduler in known:
        rule = known[result.scheduler](result.network, timing.propagation_slots)
    if rule is ONE_HOP or not timing.propagation_slots:
        return rule
    shared = rule is INTERLEAVED and not result.arrivals.startswith("bernoulli")
    return replace(rule, accuracy="estimate") if shared or result.buffer else rule


def point_times(result: TrafficResult, timing: Timing) -> dict[str, Any]:
    """Return the delays of a point in nanoseconds.

    The mean takes the mean of hops, percentiles and the maximum take the most hops of a packet.

    Parameters
    ----------
    result : TrafficResult
        The point.
    timing : Timing
        The length of a slot, the line rate and the propagation.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.runs.delays import point_times
    >>> result = popsnet.simulate(4, 4, scheduler="tdm", load=0.5)
    >>> timing = popsnet.Timing(slot="20ns", guard="2ns", rate="100Gbps", fibre="10m")
    >>> times = point_times(result, timing)
    >>> times["delay_mean_ns"] == 20 * (result.delay.mean + 3)
    True
    """
    tau = timing.propagation_slots
    rule = propagation_of(result, timing)

    def time(delay: float | None, hops: float | None = None) -> float | None:
        if delay is None:
            return None
        return timing.nanoseconds(rule.slots(result.network, delay, tau=tau, hops=hops))

    low, high = result.delay.interval or (None, None)
    means = {"mean": result.delay.mean, "low": low, "high": high}
    return {
        **{f"delay_{name}_ns": time(delay, result.hops) for name, delay in means.items()},
        **{f"delay_{name}_ns": time(getattr(result.delay, name)) for name in _SHARES},
    }


def point_rates(result: TrafficResult, timing: Timing) -> dict[str, float | None]:
    """Return the loads of a point in Gb/s.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.runs.delays import point_rates
    >>> result = popsnet.simulate(4, 4, scheduler="tdm", load=0.5)
    >>> timing = popsnet.Timing(slot="20ns", guard="2ns", rate="100Gbps")
    >>> round(point_rates(result, timing)["accepted_gbps"])
    722
    """
    loads = {"offered": result.offered, "accepted": result.accepted}
    n = result.network.n
    return {f"{name}_gbps": timing.gigabits(load, n) for name, load in loads.items()}


def _shown_slots(slots: float) -> str:
    return f"{slots:,}" if isinstance(slots, int) else f"{slots:,.2f}"


def delay_columns(
    *shares: str, unit: str = "", text: Callable[[Any], str] = _shown_slots
) -> tuple[Column, ...]:
    """Return the columns of the mean delay, its interval, and percentiles or the maximum.

    A percentile is infinite among undelivered packets.
    """

    def spread(row: Row) -> str:
        low, high = row[f"delay_low{unit}"], row[f"delay_high{unit}"]
        return NOTHING if low is None else f"±{text((high - low) / 2)}"

    def column(name: str) -> Column:
        def show(row: Row) -> str:
            value = row[f"delay_{name}{unit}"]
            shown = "∞" if value is None else text(value)
            return NOTHING if row[f"delay_mean{unit}"] is None else shown

        return Column(f"delay_{name}{unit}", {"p999": "p99.9"}.get(name, name), show=show)

    interval = Column(f"delay_high{unit}", "95 %", "text", spread)
    return (column("mean"), interval, *map(column, shares))


POINT_COLUMNS = (
    *delay_columns("p50", "p90", "p99", "p999", "max", unit="_ns", text=shown_time),
    rate_column("accepted_gbps", "Tb/s"),
)
"""The columns of one point."""

CURVE_COLUMNS = (
    Column("scheduler_label", "scheduler", "text"),
    Column("load", show=lambda row: f"{row['load']:.4g}"),
    *delay_columns("p50", "p99", "max", unit="_ns", text=shown_time),
    rate_column("accepted_gbps", "Tb/s"),
)
"""The columns of several points."""


def with_rules(
    report: Report, timing: Timing, rules: Mapping[str, Propagation], *tables: Table
) -> Report:
    """Return a report with the timing, the rule of every scheduler, and tables of times as well."""
    of_each = {name: rule.to_dict() for name, rule in rules.items()}
    facts = Fact("timing", timing.to_dict()), Fact("propagation", of_each)
    words = "; ".join(f"{name}: {rule}" for name, rule in rules.items())
    return report.plus(*facts, *tables, *timing_notes(timing, words))


def time_table(columns: tuple[Column, ...], rows: Sequence[Row]) -> Table:
    """Return another view of the points: their times."""
    return Table("points", "Delay as a time", columns, rows, nested=("delay",))


def with_times(
    report: Report, timing: Timing | None, results: Iterable[TrafficResult], *tables: Table
) -> Report:
    """Return a report of points with their times as well, if the length of a slot is known."""
    if timing is None:
        return report
    rules = {result.scheduler: propagation_of(result, timing) for result in results}
    if timing.propagation_slots and any(rule.hops > 1 for rule in rules.values()):
        tables = tuple(replace(table, caption=_HOPS) for table in tables)
    return with_rules(report, timing, rules, *tables)


_HOPS = "Means count the mean hops, percentiles and max the most: p50 may be above the mean."
