"""The report: one HTML file with everything in it, which opens without a network."""

from __future__ import annotations

import platform
import re
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

import popsnet
from popsnet.experiment import Experiment
from popsnet.files import write_whole
from popsnet.notebook import record
from popsnet.paper.figures import PaperFigure
from popsnet.paper.plan import PaperPlan
from popsnet.plots import save
from popsnet.system import threads_here
from popsnet.viewer import Page

if TYPE_CHECKING:
    from popsnet.paper.reproduce import Reproduction

_LIBRARIES = ("numpy", "numba", "scipy", "matplotlib")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_NAME = re.compile(r' id="([^"]*)"')
_USE = re.compile(r'(href="#|url\(#)([^")]*)')

_LOSING_SEED = 17
"""Of coins and permutation: the published protocol loses two of six packets."""

_CAPTIONS = {
    "lost-packets.html": "The published protocol loses two packets on POPS(3, 2); next to it the "
    "safe repair, on the same permutation with the same coins, delivers all six.",
    "mei-rizzi-and-relay.html": "mei-rizzi next to relay, our own router, on POPS(8, 8) and the "
    "same permutation, slot by slot on one clock.",
}
"""Runs to watch beside the report, and what there is to see."""


def embed(number: int, figure: PaperFigure, folder: Path) -> dict[str, str]:
    """Save a figure; return its caption and itself for a page where it has this number."""
    vector, _ = save(figure.figure, folder, figure.stem)
    svg = _with_own_names(vector.read_text(encoding="utf-8"), f"p{number}-")
    return {"caption": figure.caption, "svg": Markup(svg)}  # noqa: S704 - our own drawing


def write_pages(out: Path) -> dict[str, str]:
    """Write the pages that play runs to a folder; return their names and captions."""
    seed = _LOSING_SEED
    repairs = ("published", "deferred")
    runs = (
        [Experiment(3, 2, variant=one, seed=seed, permutation_seed=seed) for one in repairs],
        [Experiment(8, 8), Experiment(8, 8, router="relay", variant="S")],
    )
    for name, experiments in zip(_CAPTIONS, runs, strict=True):
        Page.of([record(one, 0)[1] for one in experiments]).save(out / name)
    return _CAPTIONS


def write_report(found: Reproduction, **parts: object) -> None:
    """Write the page; the template says which parts it needs."""
    text = (files("popsnet.paper") / "templates" / "report.html").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    page = environment.from_string(text).render(found=found, **parts)
    with write_whole(found.report_file) as file:
        file.write(page)


def provenance(plan: PaperPlan) -> list[tuple[str, str]]:
    """Return what the figures come from, fact by fact."""
    seeds = sorted({(one.seed, one.permutation_seed) for one, _ in plan.wanted})
    caps = sorted({one.max_steps for one, _ in plan.wanted})
    return [
        ("program", f"popsnet {popsnet.__version__}"),
        ("Python", f"{platform.python_version()}"),
        ("libraries", ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)),
        ("machine", f"{platform.platform()}, {threads_here()} cores"),
        ("date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("runs", f"{_runs(plan):,} on networks of n ≤ {plan.max_n:,}"),
        ("seeds", "; ".join(f"coins {coins}, permutations {other}" for coins, other in seeds)),
        ("permutations", "uniform at random, a new one for each run"),
        ("cap", "; ".join(f"a run is stopped after {cap:,} steps" for cap in caps)),
    ]


def _runs(plan: PaperPlan) -> int:
    """All runs; an experiment that is wanted twice is run once."""
    most: dict[Experiment, int] = {}
    for experiment, runs in plan.wanted:
        most[experiment] = max(runs, most.get(experiment, 0))
    return sum(most.values())


def _with_own_names(svg: str, prefix: str) -> str:
    """Name only parts that are used, not as other figures of the page do; no metadata."""
    svg = _METADATA.sub("", svg)
    used = {name for _, name in _USE.findall(svg)}
    svg = _NAME.sub(lambda found: f' id="{prefix}{found[1]}"' if found[1] in used else "", svg)
    return _USE.sub(rf"\g<1>{prefix}\g<2>", svg)
