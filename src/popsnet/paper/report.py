"""The report: one HTML file with everything in it, which opens without a network."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

import popsnet
from popsnet.experiment import Experiment
from popsnet.files import write_whole
from popsnet.paper.figures import Picture
from popsnet.paper.plan import PaperPlan
from popsnet.paper.tables import Sheet
from popsnet.paper.viewer_pages import ViewerPage

__all__ = ["Section", "provenance", "write_report"]

_LIBRARIES = ("numpy", "numba", "scipy", "matplotlib")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_NAME = re.compile(r' id="([^"]*)"')
_USE = re.compile(r'(href="#|url\(#)([^")]*)')


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report with a heading: what it says, its tables, its pictures.

    Pictures come with the SVG files they are saved in.
    """

    title: str
    summary: str
    sheets: Sequence[Sheet]
    words: Sequence[str]
    drawn: Sequence[tuple[Picture, Path]]


@dataclass(frozen=True, slots=True)
class _ShownFigure:
    """A picture as the page has it."""

    caption: str
    svg: Markup


def write_report(
    path: Path,
    summary: str,
    sheets: Sequence[Sheet],
    drawn: Sequence[tuple[Picture, Path]],
    section: Section,
    facts: Sequence[tuple[str, str]],
    watched: Sequence[ViewerPage] = (),
) -> None:
    """Write the page; pictures come with the SVG files they are saved in."""
    text = (files("popsnet.paper") / "templates" / "report.html").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    shown = [_shown(number, *one) for number, one in enumerate((*drawn, *section.drawn), start=1)]
    page = environment.from_string(text).render(
        summary=summary,
        sheets=sheets,
        pictures=shown[: len(drawn)],
        section=section,
        section_pictures=shown[len(drawn) :],
        facts=facts,
        watched=watched,
    )
    with write_whole(path) as file:
        file.write(page)


def provenance(plan: PaperPlan) -> list[tuple[str, str]]:
    """What the figures come from, fact by fact."""
    seeds = sorted({(one.seed, one.permutation_seed) for one, _ in plan.wanted})
    caps = sorted({one.max_steps for one, _ in plan.wanted})
    return [
        ("program", f"popsnet {popsnet.__version__}"),
        ("Python", f"{platform.python_version()}"),
        ("libraries", ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)),
        ("machine", f"{platform.platform()}, {os.cpu_count()} cores"),
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


def _shown(number: int, picture: Picture, saved: Path) -> _ShownFigure:
    svg = _with_own_names(saved.read_text(encoding="utf-8"), f"p{number}-")
    return _ShownFigure(picture.caption, Markup(svg))  # noqa: S704 - our own drawing


def _with_own_names(svg: str, prefix: str) -> str:
    """Name only parts that are used, not as other pictures of the page do; no data about data."""
    svg = _METADATA.sub("", svg)
    used = {name for _, name in _USE.findall(svg)}
    svg = _NAME.sub(lambda found: f' id="{prefix}{found[1]}"' if found[1] in used else "", svg)
    return _USE.sub(rf"\g<1>{prefix}\g<2>", svg)
