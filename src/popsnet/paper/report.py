"""The report: one HTML file that needs neither a network connection nor other files.

The numbers on the first screen of the report, each computed from the rows behind it.
"""

from __future__ import annotations

import platform
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import metadata, version
from importlib.resources import files
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

import popsnet
from popsnet.base.files import write_whole
from popsnet.base.report import plural
from popsnet.base.system import threads_here
from popsnet.experiment.experiment import Experiment
from popsnet.paper.figures import PaperFigure
from popsnet.paper.plan import PaperPlan
from popsnet.paper.rows import PaperRows, RelayRow, RouterRow
from popsnet.paper.tables import only_time_division, slots_ratio, texts
from popsnet.paper.verdicts import AGREES, LEVEL, OPEN, UNDECIDABLE
from popsnet.plots import save
from popsnet.plots.style import FigurePart, parts_of
from popsnet.runs.notebook import record
from popsnet.trace.viewer import Page

if TYPE_CHECKING:
    from popsnet.paper.reproduce import Reproduction

_LIBRARIES = ("numpy", "numba", "scipy", "matplotlib")
_METADATA = re.compile(r"<metadata>.*?</metadata>", re.DOTALL)
_NAME = re.compile(r' id="([^"]*)"')
_PAGE = 'style="fill: #ffffff"'
"""The background of a figure and of its panels; white markers have an edge as well."""

_USE = re.compile(r'(href="#|url\(#)([^")]*)')

_LOSING_SEED = 17
"""Of coins and permutation: the published protocol loses two of six packets."""

_REM_PER_POINT = 0.1
_REM_PER_POINT_OF_LEGEND = 0.105
"""The size of figures on the page, and of their legends where parts are stacked."""

_WIDE_PANEL = 400
"""Points from which on a panel would not be readable on a narrow screen, and scrolls instead."""

_FOLDED_FROM = 13
"""Rows from which on a table is folded."""


def embed(number: int, figure: PaperFigure, folder: Path) -> dict[str, str]:
    """Save a figure, and return it for a page where it has this number."""
    vector, _ = save(figure.figure, folder, figure.stem)
    text, prefix, parts = vector.read_text(encoding="utf-8"), f"p{number}-", parts_of(figure.figure)
    svg = _with_own_names(text, prefix, {part.name for part in parts})
    svg = svg.replace(_PAGE, 'style="fill: none"')  # a page has its own colour
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(figure.alt)}" ', 1)
    own = Markup(svg)  # noqa: S704 - our own figure
    width = f"{_REM_PER_POINT * 72 * figure.figure.get_figwidth():.1f}rem"
    shown = {is_panel: Markup("") for is_panel in (True, False)}
    for part in parts:
        shown[part.is_panel] += _show(part, prefix)
    page = {"caption": figure.caption, "svg": own, "width": width}
    return {**page, "panels": shown[True], "legend": shown[False]}


def _show(part: FigurePart, prefix: str) -> Markup:
    """Show a part of a figure that is elsewhere on the page; it is not written twice."""
    name, *box = part
    wide = Markup(' class="wider"') if part.is_panel and part.width > _WIDE_PANEL else ""
    scale = _REM_PER_POINT if part.is_panel else _REM_PER_POINT_OF_LEGEND
    return Markup(
        '<svg viewBox="{:.1f} {:.1f} {:.1f} {:.1f}"{} style="width: {:.1f}rem">'
        '<use href="#{}{}"/></svg>'
    ).format(*box, wide, scale * part.width, prefix, name)


def write_pages(out: Path) -> dict[str, str]:
    """Write the pages that play runs to a folder; return their names and captions."""
    seed = _LOSING_SEED
    repairs = ("published", "deferred")
    runs = (
        [Experiment(3, 2, variant=name, seed=seed, permutation_seed=seed) for name in repairs],
        [Experiment(8, 8), Experiment(8, 8, router="relay", variant="S")],
    )
    captions = texts("pages")
    for name, experiments in zip(captions, runs, strict=True):
        Page.of([record(experiment, 0)[1] for experiment in experiments]).save(out / name)
    return captions


def write_report(
    reproduction: Reproduction,
    figures: Mapping[str, Mapping[str, str]],
    facts: Sequence[tuple[str, str]],
    pages: Mapping[str, str],
) -> None:
    """Write the page.

    Its preview in other people's pages (``og:image``) is the headline figure as a PNG file beside
    the report, by a relative address: where the report will be published is not known here,
    and crawlers do not take images inside a page (data URIs). Those who publish it may prefix
    their own address.
    """
    templates = files("popsnet.paper") / "templates"
    text, icon = (templates / name for name in ("report.html", "icon.svg"))
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    tables = {table.name: table for table in (*reproduction.tables, *reproduction.theory_tables)}
    folded = {name for name, table in tables.items() if len(table.rows) >= _FOLDED_FROM}
    if only_time_division(reproduction.rows.relay):
        folded.add("relay")
    about = metadata("popsnet")
    page = environment.from_string(text.read_text(encoding="utf-8")).render(
        reproduction=reproduction, tables=tables, figures=figures, facts=facts, pages=pages,
        folded=folded, icon=b64encode(icon.read_bytes()).decode(), version=popsnet.__version__,
        author=about["Author"], licence=about["License-Expression"],
    )  # fmt: skip
    with write_whole(reproduction.report_file) as file:
        file.write(page)


def provenance(plan: PaperPlan) -> list[tuple[str, str]]:
    """Return the provenance of the results, fact by fact."""
    seeds = sorted({(subject.seed, subject.permutation_seed) for subject, _ in plan.wanted})
    caps = sorted({subject.max_steps for subject, _ in plan.wanted})
    most = dict(sorted(plan.wanted, key=itemgetter(1)))  # one that is wanted twice is run once
    runs = sum(most.values())
    return [
        ("program", f"popsnet {popsnet.__version__}"),
        ("Python", f"{platform.python_version()}"),
        ("libraries", ", ".join(f"{name} {version(name)}" for name in _LIBRARIES)),
        ("machine", f"{platform.platform()}, {threads_here()} cores"),
        ("date", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")),
        ("runs", f"{runs:,} on networks of n ≤ {plan.max_n:,}"),
        ("seeds", "; ".join(f"coins {coins}, permutations {other}" for coins, other in seeds)),
        ("permutations", "uniform at random, a new one for each run"),
        ("cap", "; ".join(f"a run is stopped after {cap:,} steps" for cap in caps)),
    ]


def _with_own_names(svg: str, prefix: str, names: Set[str]) -> str:
    """Make the names of parts unique on the page, and remove other unused ones and metadata."""
    svg = _METADATA.sub("", svg)
    used = names | {name for _, name in _USE.findall(svg)}
    svg = _NAME.sub(lambda match: f' id="{prefix}{match[1]}"' if match[1] in used else "", svg)
    return _USE.sub(rf"\g<1>{prefix}\g<2>", svg)


@dataclass(frozen=True, slots=True)
class Headline:
    """A number, what it counts, and what it is based on.

    Attributes
    ----------
    anchor : str
        The section of the report that has the details.
    """

    number: str
    words: str
    basis: str
    anchor: str

    def __str__(self) -> str:
        return f"{self.number} {self.words}."


def headlines(plan: PaperPlan, rows: PaperRows) -> list[Headline]:
    """Return the headlines for which something was measured."""
    return [*_reproduced(plan, rows), *_lost(rows.routers), *_relay(rows.relay)]


def _reproduced(plan: PaperPlan, rows: PaperRows) -> Iterator[Headline]:
    """Count the rows whose steps and slots both agree, among all that were run."""
    pairs = [
        {number.verdict for number in (*steps.compared, *slots.compared)} - {OPEN}
        for steps, slots in zip(rows.steps, rows.slots, strict=True)
    ]
    still_open = pairs.count(set())
    if still_open == len(pairs):
        return
    limits = []
    if undecided := pairs.count({UNDECIDABLE}):
        limits.append(f"{plural(undecided, 'row')} cannot be decided, because of a heavy tail")
    if no_sds := sum(row.sd_verdict == OPEN != row.verdict for row in rows.steps):
        limits.append(f"too few runs to compare {plural(no_sds, 'standard deviation')}")
    if still_open:
        has = "has" if still_open == 1 else "have"
        limits.append(f"{plural(still_open, 'row')} {has} too few runs to compare")
    if plan.left_out:
        limits.append(f"the paper has {plural(len(pairs) + plan.left_out, 'row')}")
    text = "; ".join(limits)
    basis = (
        "Rows where all printed means, deviations and maxima agree (family-wise error rate "
        f"{LEVEL:.0%}).{f' {text[0].upper()}{text[1:]}.' if limits else ''}"
    )
    words = "rows agree with the paper" if limits else "rows of the paper reproduced"
    agreeing = sum(pair == {AGREES} for pair in pairs)
    yield Headline(f"{agreeing} of {len(pairs)}", words, basis, "paper")


def _lost(rows: Sequence[RouterRow]) -> Iterator[Headline]:
    worst = max(rows, key=lambda row: row.lost_share, default=None)
    if worst is None or not worst.lost_share:
        return
    others = [row for row in rows if row.router == worst.router and not row.idealized]
    losing = {row.variant for row in others if row.lost_share}
    safe = sorted({row.variant for row in others} - losing)
    repair = f" The variant {' and '.join(safe)} loses none." if safe else ""
    name = f"{worst.router} ({worst.variant})"
    yield Headline(
        f"up to {worst.lost_share:.1%}",
        f"of packets lost by {'the published protocol' if worst.variant == 'published' else name}",
        f"{name} on {worst.network}, mean of {plural(worst.runs, 'run')}.{repair}",
        "losses",
    )


def _relay(rows: Sequence[RelayRow]) -> Iterator[Headline]:
    """Compare relay with the paper's router on the networks where it relays packets."""
    relayed = [row for row in rows if row.mei_rizzi_ratio is not None and not row.time_division]
    if relayed:
        yield Headline(
            f"{slots_ratio(relayed)} times",
            "the slots with relay, our own router",
            f"Compared with the paper's router on {plural(len(relayed), 'network')}. relay lost "
            f"{plural(sum(row.lost for row in rows), 'packet')}.",
            "own-router",
        )
