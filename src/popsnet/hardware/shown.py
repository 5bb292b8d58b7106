"""Times and bit rates in reports: the parts that reports of all kinds have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from popsnet.base.report import Column, Fact, Report, Table
from popsnet.hardware.propagation import Propagation
from popsnet.hardware.timing import Timing
from popsnet.hardware.units import TIME
from popsnet.model.network import Network


def time_column(key: str, heading: str, before: str = "") -> Column:
    """Return a column of nanoseconds, each shown with the unit that fits.

    Parameters
    ----------
    key : str
        The field of a row.
    heading : str
        The heading.
    before : str
        A text before every time, such as ``"≥ "``.
    """
    return Column(key, heading, "number", lambda row: shown_time(row[key], before))


def shown_time(nanoseconds: float | None, before: str = "") -> str:
    """Return nanoseconds as people read them.

    Examples
    --------
    >>> shown_time(1300.0), shown_time(None)
    ('1.3 µs', '–')
    """
    return "–" if nanoseconds is None else f"{before}{TIME.shown(nanoseconds / 1e9)}"


def rate_column(key: str, heading: str) -> Column:
    """Return a column of gigabits per second, shown as terabits per second."""
    return Column(key, heading, "number", lambda row: shown_rate(row[key], unit=False))


def shown_rate(gigabits: float | None, unit: bool = True) -> str:
    """Return gigabits per second as people read them.

    Examples
    --------
    >>> shown_rate(184_320), shown_rate(12.3)
    ('184.3 Tb/s', '0.0123 Tb/s')
    """
    return "–" if gigabits is None else f"{gigabits / 1e3:,.4g}{' Tb/s' * unit}"


def timing_facts(timing: Timing, rule: Propagation) -> tuple[Fact, Fact]:
    """Return the timing, and the rule of propagation, as facts for programs."""
    return Fact("timing", timing.to_dict()), Fact("propagation", rule.to_dict())


def timing_notes(timing: Timing, *rules: str) -> tuple[str, ...]:
    """Return the timing in words, and rules of propagation if there is any."""
    shown = rules if timing.propagation_slots else ()
    notes = (f"Propagation, computed and not simulated: {rule}." for rule in shown)
    return (*timing.notes(), *notes)


def with_elapsed(
    report: Report, timing: Timing | None, network: Network, slots: float, rule: Propagation
) -> Report:
    """Return the report of something that takes slots, with the time that they take.

    Parameters
    ----------
    report : Report
        The report.
    timing : Timing or None
        The length of a slot; None changes nothing.
    network : Network
        The network.
    slots : float
        The slots without propagation.
    rule : Propagation
        How propagation lengthens them.
    """
    if timing is None:
        return report
    longer = rule.slots(network, slots, tau=timing.propagation_slots)
    elapsed = timing.nanoseconds(longer)
    fact = Fact("elapsed_ns", elapsed, "time", text=shown_time(elapsed))
    return report.plus(*timing_facts(timing, rule), fact, *timing_notes(timing, str(rule)))


def with_router_times(
    report: Report,
    timing: Timing,
    columns: Sequence[Column],
    rows: Sequence[tuple[dict[str, Any], Propagation]],
) -> Report:
    """Return a report of several routers with a table of their times.

    Parameters
    ----------
    report : Report
        The report.
    timing : Timing
        The length of a slot, and the propagation.
    columns : sequence of Column
        The columns of the table, besides the rule of propagation.
    rows : sequence of tuple
        A row per router, and its rule.
    """
    records = [
        {**row, **{f"propagation_{key}": value for key, value in rule.to_dict().items()}}
        for row, rule in rows
    ]
    if timing.propagation_slots:
        columns = [*columns, Column("propagation_rule", "propagation", "text")]
    notes = timing_notes(timing, "the rule of each router is in the table")
    table = Table("times", "Time", tuple(columns), records)
    return report.plus(Fact("timing", timing.to_dict()), table, *notes)
