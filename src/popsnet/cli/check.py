"""``popsnet check``: replay a trace and say whether it holds."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer

from popsnet.errors import InputError
from popsnet.progress import patient_progress
from popsnet.trace.checker import Report, check_trace

__all__ = ["check_command"]


def check_command(trace: Path, *, as_json: bool) -> None:
    """Print the verdict; exit 1 if the trace breaks a rule or leaves a packet behind."""
    if trace.suffix.lower() == ".csv":
        raise InputError(
            f"{trace} is a table, and what is checked is a trace: popsnet schedule writes one if "
            "the name after --out ends in .jsonl."
        )
    size = trace.stat().st_size if trace.is_file() else None
    with patient_progress(f"checking {trace.name}", size) as update:
        report = check_trace(trace, update)
    if as_json:
        typer.echo(json.dumps(_as_object(trace, report), indent=2))
    else:
        _print_text(trace, report)
    if not report.ok:
        raise typer.Exit(1)


def _as_object(trace: Path, report: Report) -> dict[str, object]:
    network = report.network
    return {
        "trace": str(trace),
        "ok": report.ok,
        "network": {"d": network.d, "g": network.g, "n": network.n},
        "router": report.router,
        "variant": report.variant,
        "packets": report.packets,
        "slots": report.slots,
        "messages": report.messages,
        "collisions": report.collisions,
        "delivered": report.delivered,
        "undelivered": report.undelivered,
        "lost": report.lost if report.tells_holdings else None,
        "violation_count": report.violation_count,
        "violations": [asdict(violation) for violation in report.violations],
    }


def _print_text(trace: Path, report: Report) -> None:
    network = report.network
    lost = f"{len(report.lost):,} lost" if report.tells_holdings else "losses not told"
    typer.echo(f"{trace}: {report.router} ({report.variant}) on {network}, n = {network.n:,}")
    typer.echo(
        f"{report.slots:,} slots, {report.messages:,} messages, {report.collisions:,} collisions, "
        f"{report.delivered:,} of {report.packets:,} packets delivered, {lost}"
    )
    if report.ok:
        typer.echo("OK: no rule broken, every packet at its destination.")
        return
    count = report.violation_count
    typer.echo(f"FAILED: {count:,} {'violation' if count == 1 else 'violations'}")
    for violation in report.violations:
        typer.echo(f"  {violation}")
    if count > len(report.violations):
        typer.echo(f"  … and {count - len(report.violations):,} more")
