"""``popsnet paper``: the paper's tables and figures, and ours beside them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import typer
from rich.console import Console, JustifyMethod
from rich.rule import Rule
from rich.table import Table

from popsnet.engines import Tally
from popsnet.errors import InputError
from popsnet.files import make_folder, write_whole
from popsnet.paper.plan import Plan, Wanted, make_plan
from popsnet.paper.runs import carry_out
from popsnet.paper.sheets import Sheet, make_sheets, summary_of, write_csv
from popsnet.paper.tables import Tables, make_tables
from popsnet.paper.theory.growth import in_words
from popsnet.paper.theory.section import Theory, make_theory, theory_summary
from popsnet.paper.theory.separation import SeparationRow, attack_all
from popsnet.paper.theory.sheets import theory_sheets
from popsnet.paper.verdicts import DOUBT_LEVEL, LEVEL
from popsnet.progress import patient_progress

__all__ = ["paper_command"]

_INTERRUPTED = 130
_REPORT = "report.html"
_PROVENANCE = "provenance.json"

Facts = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Findings:
    """All that the report has, but for pictures."""

    plan: Plan
    tables: Tables
    theory: Theory
    sheets: tuple[Sheet, ...]
    theory_sheets: tuple[Sheet, ...]
    summary: str
    growth: list[str]
    """What the fits tell apart."""
    origin: Facts


def paper_command(
    *, out: Path, runs: int | None, max_n: int | None, full: bool, as_json: bool
) -> None:
    """Run what is wanted, print the tables, write them, the figures and the report."""
    _require_libraries()
    plan = make_plan(runs, max_n, full)
    make_folder(out)
    results, origin, separation = _carry_out(plan, out)
    tables = make_tables(plan, results)
    theory = make_theory(plan, tables, results, separation)
    found = _Findings(
        plan,
        tables,
        theory,
        make_sheets(tables),
        theory_sheets(theory),
        f"{summary_of(plan, tables)} {theory_summary(theory)}",
        in_words(theory.growth),
        origin,
    )
    pages = _write(out, found)
    if as_json:
        typer.echo(json.dumps(_as_object(out, found, pages), indent=2))
    else:
        _print_text(Console(), found)
        typer.echo(f"{found.summary}\nThe report: {out / _REPORT}")


def _require_libraries() -> None:
    missing = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"The report needs {' and '.join(missing)}, not installed here: "
            "pip install 'popsnet[paper]'"
        )


def _carry_out(
    plan: Plan, out: Path
) -> tuple[dict[Wanted, Tally], Facts, tuple[SeparationRow, ...]]:
    """Runs and attacks; what the folder has is taken from there."""
    try:
        results, origin = carry_out(plan, out)
        with patient_progress("attacking", None) as update:
            separation = attack_all(plan.attacked, out, lambda doing: update(0, doing))
    except KeyboardInterrupt:
        typer.echo(f"Interrupted: what is done is in {out}; the same command goes on.", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    return results, origin, separation


def _write(out: Path, found: _Findings) -> list[Path]:
    """All files; those of the runs to watch are returned."""
    from popsnet.paper.pages import write_pages
    from popsnet.paper.pictures import make_pictures
    from popsnet.paper.report import Section, provenance, write_report
    from popsnet.paper.theory.pictures import theory_pictures
    from popsnet.plots import save

    figures = out / "figures"
    make_folder(figures)
    drawn, of_theory = (
        [(one, save(one.figure, figures, one.stem)[0]) for one in pictures]
        for pictures in (make_pictures(found.tables), theory_pictures(found.theory))
    )
    for sheet in (*found.sheets, *found.theory_sheets):
        write_csv(sheet, out)
    facts = [*provenance(found.plan), *found.origin]
    section = Section(
        "Theory", theory_summary(found.theory), found.theory_sheets, found.growth, of_theory
    )
    watched = write_pages(out)
    write_report(out / _REPORT, found.summary, found.sheets, drawn, section, facts, watched)
    with write_whole(out / _PROVENANCE) as file:
        json.dump({"summary": found.summary, **dict(facts)}, file, indent=2, ensure_ascii=False)
    return [out / page.file for page in watched]


def _as_object(out: Path, found: _Findings, pages: Sequence[Path]) -> dict[str, object]:
    tables, theory = found.tables, found.theory
    return {
        "report": str(out / _REPORT),
        "pages": [str(page) for page in pages],
        "summary": found.summary,
        "family_wise_error_rate": {
            "ours_and_paper": LEVEL,
            "paper_and_itself": DOUBT_LEVEL,
            "ours_and_exact": LEVEL,
        },
        "comparisons": tables.comparisons,
        "differing": tables.differing,
        "tables": {sheet.stem: sheet.records() for sheet in found.sheets},
        "theory": {
            "comparisons": theory.comparisons,
            "differing": theory.differing,
            "growth": found.growth,
            "tables": {sheet.stem: sheet.records() for sheet in found.theory_sheets},
        },
    }


def _print_text(console: Console, found: _Findings) -> None:
    _print_sheets(console, found.sheets)
    console.print(Rule("Theory", align="left"))
    _print_sheets(console, found.theory_sheets)
    for words in found.growth:
        console.print(words, markup=False, highlight=False)
        console.print()


def _print_sheets(console: Console, sheets: Sequence[Sheet]) -> None:
    for sheet in sheets:
        console.print(_table(sheet))
        console.print(sheet.caption, markup=False, highlight=False)
        console.print()


def _table(sheet: Sheet) -> Table:
    """Narrow, so that it fits a terminal of 80 columns."""
    table = Table(
        title=sheet.title, title_justify="left", box=None, padding=(0, 1, 0, 0), pad_edge=False
    )
    for number, column in enumerate(sheet.columns):
        texts = [*column.heading.split(), *(cells[number] for cells in sheet.cells())]
        side: JustifyMethod = "left" if column.is_text else "right"
        width = None if column.is_text else max(map(len, texts))
        words = max(len(word) for text in texts for word in text.split() or [""])
        table.add_column(column.heading, justify=side, width=width, min_width=words)
    for cells in sheet.cells():
        table.add_row(*cells)
    return table
