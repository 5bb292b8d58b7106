"""``popsnet check`` and ``doctor``."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import popsnet
from popsnet.cli.output import reporting
from popsnet.errors import InputError
from popsnet.progress import patient_progress
from popsnet.report import Column, Fact, Report, Table, counted, facts_of

if TYPE_CHECKING:
    from popsnet.trace.checker import TraceCheck


@reporting
def check(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A file that --trace wrote.")],
) -> Report:
    """Replay a trace by the rules of the network alone; exit 1 if it breaks any."""
    if trace.suffix.lower() == ".csv":
        raise InputError(
            f"{trace} is a table, and only a trace can be checked: popsnet schedule writes one "
            "with --trace."
        )
    size = trace.stat().st_size if trace.is_file() else None
    with patient_progress(f"checking {trace.name}", size) as update:
        found = popsnet.check_trace(trace, update)
    return _report(trace, found)


def _report(trace: Path, found: TraceCheck) -> Report:
    network, count = found.network, found.violation_count
    lost = f"{len(found.lost):,} lost" if found.tells_holdings else "losses not told"
    counts = (
        f"{found.slots:,} slots, {found.messages:,} messages, {found.collisions:,} collisions, "
        f"{found.delivered:,} of {found.packets:,} packets delivered, {lost}"
    )
    facts = facts_of(
        found, "network", "router", "variant", "packets", "slots", "messages", "collisions",
        "delivered", "undelivered", "violation_count",
    )  # fmt: skip
    known = Fact("trace", str(trace)), Fact("lost", found.lost if found.tells_holdings else None)
    numbers = (Column(name, kind="integer") for name in ("line", "slot", "processor"))
    columns = (*numbers, Column("rule", kind="text"))
    more = count - len(found.violations)
    caption = f"… and {more:,} more" if more else ""
    verdict = "OK: no rule broken, every packet at its destination."
    if not found.ok:
        verdict = f"FAILED: {counted(count, 'violation')}"
    return Report(
        f"{trace}: {found.router} ({found.variant}) on {network}, n = {network.n:,}",
        known + facts,
        (counts, Table("violations", "", columns, found.violations, caption)),
        verdict,
        found.ok,
    )


_NEEDED = ("numpy", "numba", "scipy", "msgspec", "psutil", "platformdirs", "typer", "rich")
_OPTIONAL = {
    "matplotlib": "figures: pip install 'popsnet[plots]'",
    "pandas": "results as data frames: pip install 'popsnet[pandas]'",
    "pyarrow": "results as Parquet: pip install 'popsnet[parquet]'",
}


class Finding(NamedTuple):
    """Something that was looked at, and whether it works."""

    what: str
    ok: bool
    needed: bool
    detail: str


@reporting
def doctor() -> Report:
    """Say what is installed and usable here; exit 1 if something needed does not work."""
    with patient_progress("trying libraries and engines", None):
        findings = [*_libraries(), *_engines(), *_computer()]
    ok = Column("ok", " ", "text", lambda row: "ok" if row.ok else "missing")
    columns = Column("what", kind="text"), ok, Column("detail", kind="text")
    broken = [one.what for one in findings if one.needed and not one.ok]
    verdict = "OK: all that popsnet needs works here."
    if broken:
        verdict = f"FAILED: these are needed and do not work: {', '.join(broken)}."
    return Report(parts=(Table("findings", "", columns, findings),), verdict=verdict, ok=not broken)


def _libraries() -> Iterator[Finding]:
    python = f"{platform.python_version()} on {platform.platform()}"
    yield Finding("popsnet", True, True, popsnet.__version__)
    yield Finding("python", True, True, python)
    for name in _NEEDED:
        yield _library(name, True, "needed")
    for name, use in _OPTIONAL.items():
        yield _library(name, False, use)


def _library(name: str, needed: bool, use: str) -> Finding:
    try:
        import_module(name)
        return Finding(name, True, needed, version(name))
    except (ImportError, PackageNotFoundError) as error:
        return Finding(name, False, needed, f"{error}; {use}")


def _engines() -> Iterator[Finding]:
    """An engine is usable if it routes."""
    from popsnet.engines import ENGINES

    for name in ENGINES:
        outcome = popsnet.route(4, 4, engine=name, progress=False)[0].outcome
        routes = outcome.delivered == 16
        detail = f"routes POPS(4, 4) in {outcome.slots} slots" if routes else "does not route"
        yield Finding(f"engine {name}", routes, True, detail)


def _computer() -> Iterator[Finding]:
    from popsnet.engines import ENGINES
    from popsnet.system import available_memory

    memory = available_memory()
    g = isqrt(memory // ENGINES["slots"].memory(popsnet.Experiment(1, 1)))
    largest = f"POPS({g:,}, {g:,}), n = {g * g:,}, with engine slots"
    yield Finding("processors", True, False, f"{os.cpu_count()} cores")
    yield Finding("memory", True, False, f"{memory / 1e9:.1f} GB available")
    yield Finding("largest square network", True, False, largest)
