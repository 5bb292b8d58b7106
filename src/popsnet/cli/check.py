"""``popsnet check``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import popsnet
from popsnet.cli.options import refuse_table
from popsnet.cli.output import reporting
from popsnet.files import is_file
from popsnet.progress import patient_progress
from popsnet.report import Column, Fact, Report, Table, counted, facts_of
from popsnet.terminal import visible

if TYPE_CHECKING:
    from popsnet.trace.checker import TraceCheck


@reporting
def check(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A file that --trace wrote.")],
) -> Report:
    """Check a trace against the rules of the network.

    The trace is replayed by a program that shares no code with the simulator.
    """
    refuse_table(trace)
    size = trace.stat().st_size if is_file(trace) else None
    with patient_progress(f"checking {trace.name}", size) as update:
        found = popsnet.check_trace(trace, update)
    return _report(trace, found)


def _report(trace: Path, found: TraceCheck) -> Report:
    network, count = found.network, found.violation_count
    facts = facts_of(
        found, "network", "router", "variant", "packets", "slots", "messages", "collisions",
        "destroyed", "delivered", "undelivered", "violation_count",
    )  # fmt: skip
    known = Fact("trace", str(trace)), Fact("lost", found.lost if found.tells_holdings else None)
    facts += facts_of(found, "held", "refused") if found.traffic else ()
    facts += facts_of(found, "faulty", "unreachable") if found.faulty else ()
    numbers = (Column(name, kind="integer") for name in ("line", "slot", "processor"))
    columns = (*numbers, Column("rule", kind="text"))
    more = count - len(found.violations)
    caption = f"… and {more:,} more" if more else ""
    return Report(
        visible(f"{trace}: {found.name} on {network}, n = {network.n:,}", lines=False),
        known + facts,
        (_counts(found), Table("violations", "", columns, found.violations, caption)),
        _verdict(found),
        found.ok,
    )


def _counts(found: TraceCheck) -> str:
    lost = f"{len(found.lost):,} lost" if found.tells_holdings else "lost packets not recorded"
    counts = (
        f"{found.slots:,} slots, {found.messages:,} messages, {found.collisions:,} collisions, "
        f"{found.delivered:,} of {found.packets:,} packets delivered, "
    )
    if found.traffic:
        counts += f"{found.held:,} inside, "
    if found.faulty and not found.traffic:
        counts += f"{found.unreachable:,} unreachable, "
    return counts + lost + (f", {found.refused:,} refused" if found.traffic else "")


def _verdict(found: TraceCheck) -> str:
    if not found.ok:
        return f"FAILED: {counted(found.violation_count, 'violation')}"
    if found.traffic:
        return "OK: no rule broken, every packet that arrived is delivered, inside or lost."
    if found.undelivered:
        return "OK: no rule broken; faults kept packets from their destinations."
    return "OK: no rule broken, every packet at its destination."
