"""``popsnet doctor``."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import isqrt
from typing import NamedTuple

import popsnet
from popsnet.cli.output import reporting
from popsnet.progress import patient_progress
from popsnet.report import Column, Report, Table

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
    from popsnet.system import available_memory, threads_here

    memory = available_memory()
    g = isqrt(memory // ENGINES["slots"].memory(popsnet.Experiment(1, 1)))
    largest = f"POPS({g:,}, {g:,}), n = {g * g:,}, with engine slots"
    yield Finding("processors", True, False, f"{threads_here()} cores")
    yield Finding("memory", True, False, f"{memory / 1e9:.1f} GB available")
    yield Finding("largest square network", True, False, largest)
