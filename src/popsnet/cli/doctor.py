"""``popsnet doctor``."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import isqrt
from pathlib import Path
from typing import NamedTuple

import popsnet
from popsnet.cli.output import reporting
from popsnet.errors import how_to_install
from popsnet.progress import Update, patient_progress
from popsnet.report import Column, Report, Table

_NEEDED = (
    "numpy", "numba", "scipy", "lazy_loader", "msgspec", "psutil", "platformdirs", "typer",
    "rich",
)  # fmt: skip

_OPTIONAL = {
    "matplotlib": ("figures", "plots"),
    "jinja2": ("popsnet paper", "paper"),
    "pandas": ("data frames", "pandas"),
    "pyarrow": ("Parquet files", "parquet"),
    "distributed": ("sweeps on Dask clusters", "cluster"),
}
"""What an optional library is for, and the extra that installs it."""


class Finding(NamedTuple):
    """Something that was looked at, and whether it works."""

    what: str
    ok: bool
    needed: bool
    detail: str


@reporting
def doctor() -> Report:
    """Check that everything popsnet needs is installed and works here."""
    with patient_progress("trying libraries and engines") as update:
        findings = [*_libraries(), *_engines(update), *_computer()]
    ok = Column("ok", " ", "text", lambda row: "ok" if row.ok else "missing")
    columns = Column("what", kind="text"), ok, Column("detail", kind="text")
    broken = [one.what for one in findings if one.needed and not one.ok]
    verdict = "OK: everything that popsnet needs works here."
    if broken:
        verdict = f"FAILED: needed and not working: {', '.join(broken)}."
    return Report(parts=(Table("findings", "", columns, findings),), verdict=verdict, ok=not broken)


def _libraries() -> Iterator[Finding]:
    python = f"{platform.python_version()} on {platform.platform()}"
    yield Finding("popsnet", True, True, popsnet.__version__)
    yield Finding("python", True, True, python)
    for name in _NEEDED:
        yield _library(name, True, "Install popsnet again, which installs it.")
    for name, (use, extra) in _OPTIONAL.items():
        yield _library(name, False, f"Needed for {use}. {how_to_install(extra)}")


def _library(name: str, needed: bool, cure: str) -> Finding:
    try:
        import_module(name)
        return Finding(name, True, needed, version(name))
    except (ImportError, PackageNotFoundError) as error:
        return Finding(name, False, needed, f"{error}. {cure}")


def _engines(update: Update) -> Iterator[Finding]:
    from popsnet.engines import ENGINES

    for name, engine in ENGINES.items():
        if name == "cuda" and engine.supports(popsnet.Experiment(4, 4)) is not None:
            continue  # there is no GPU
        update(detail=f"engine {name}: compiled at its first use")
        yield _engine(name)


def _engine(name: str) -> Finding:
    """Find out whether an engine routes."""
    outcome = popsnet.route(4, 4, engine=name, progress=False)[0].outcome
    routes = outcome.delivered == 16
    detail = f"routes POPS(4, 4) in {outcome.slots} slots" if routes else "does not route"
    return Finding(f"engine {name}", routes, True, detail)


def _computer() -> Iterator[Finding]:
    from popsnet.compiled import choose_cache
    from popsnet.engines import ENGINES
    from popsnet.system import available_memory, threads_here

    memory = available_memory()
    per_processor = ENGINES["slots"].memory(popsnet.Experiment(1024, 1024)) / 1024**2
    g = isqrt(int(memory / per_processor))
    largest = f"POPS({g:,}, {g:,}), n = {g * g:,}, with engine slots"
    yield Finding("processors", True, False, f"{threads_here()} cores")
    yield Finding("memory", True, False, f"{memory / 1e9:.1f} GB available")
    cache = choose_cache(Path(popsnet.__file__).parent)
    yield Finding("compiled code", True, False, str(cache))
    yield Finding("largest square network", True, False, largest)
