"""``popsnet doctor``: what is installed and usable here."""

from __future__ import annotations

import json
import os
import platform
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import isqrt
from typing import NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import popsnet
from popsnet.engines import ENGINES
from popsnet.experiment import Experiment
from popsnet.runs.route import route
from popsnet.system import available_memory

__all__ = ["doctor_command"]

_NEEDED = ("numpy", "numba", "scipy", "msgspec", "psutil", "platformdirs", "typer", "rich")
_OPTIONAL = {
    "matplotlib": "figures: pip install 'popsnet[plots]'",
    "pandas": "results as data frames: pip install 'popsnet[pandas]'",
    "pyarrow": "results as Parquet: pip install 'popsnet[parquet]'",
}


class Finding(NamedTuple):
    """One line of the doctor's report."""

    what: str
    ok: bool
    needed: bool
    detail: str


def doctor_command(*, as_json: bool) -> None:
    """Print the findings; exit 1 if something needed does not work."""
    findings = _examine()
    if as_json:
        typer.echo(json.dumps({"findings": [one._asdict() for one in findings]}, indent=2))
    else:
        table = Table("what", "", "detail")
        for one in findings:
            table.add_row(one.what, "ok" if one.ok else "missing", Text(one.detail))
        Console().print(table)
    if not all(one.ok for one in findings if one.needed):
        raise typer.Exit(1)


def _examine() -> list[Finding]:
    findings = [
        Finding("popsnet", True, True, popsnet.__version__),
        Finding("python", True, True, f"{platform.python_version()} on {platform.platform()}"),
    ]
    findings += [_library(name, True, "needed") for name in _NEEDED]
    findings += [_library(name, False, use) for name, use in _OPTIONAL.items()]
    findings += [_engine(name) for name in ENGINES]
    memory = available_memory()
    findings.append(Finding("processors", True, False, f"{os.cpu_count()} cores"))
    findings.append(Finding("memory", True, False, f"{memory / 1e9:.1f} GB can be had"))
    g = _largest(memory)
    detail = f"POPS({g:,}, {g:,}), n = {g * g:,}, with engine slots"
    findings.append(Finding("largest square network", True, False, detail))
    return findings


def _library(name: str, needed: bool, use: str) -> Finding:
    try:
        import_module(name)
        return Finding(name, True, needed, version(name))
    except (ImportError, PackageNotFoundError) as error:
        return Finding(name, False, needed, f"{error}; {use}")


def _engine(name: str) -> Finding:
    """An engine is usable if it routes."""
    outcome = route(4, 4, engine=name)[0].outcome
    routes = outcome.delivered == 16
    detail = f"routes POPS(4, 4) in {outcome.slots} slots" if routes else "does not route"
    return Finding(f"engine {name}", routes, True, detail)


def _largest(memory: int) -> int:
    """The largest g whose POPS(g, g) the slots engine can hold."""
    return isqrt(memory // ENGINES["slots"].memory(Experiment(1, 1)))
