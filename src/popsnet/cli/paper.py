"""``popsnet paper``: the paper's tables and figures, and ours beside them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import typer
from rich.console import Console, JustifyMethod
from rich.table import Table

from popsnet.cli.progress import patient_progress
from popsnet.errors import InputError
from popsnet.experiments import Tally
from popsnet.files import make_folder, write_whole
from popsnet.paper.plan import Plan, Wanted, make_plan
from popsnet.paper.runs import STORE, carry_out
from popsnet.paper.sheets import Sheet, make_sheets, summary_of, write_csv
from popsnet.paper.tables import Tables, make_tables
from popsnet.paper.verdicts import DOUBT_LEVEL, LEVEL

__all__ = ["paper_command"]

_INTERRUPTED = 130
_REPORT = "report.html"
_PROVENANCE = "provenance.json"

Facts = list[tuple[str, str]]


def paper_command(
    *, out: Path, runs: int | None, max_n: int | None, full: bool, as_json: bool
) -> None:
    """Run what is wanted, print the tables, write them, the figures and the report."""
    _require_libraries()
    plan = make_plan(runs, max_n, full)
    make_folder(out)
    results, origin = _carry_out(plan, out)
    tables = make_tables(plan, results)
    sheets = make_sheets(tables)
    summary = summary_of(plan, tables)
    _write(out, plan, tables, sheets, summary, origin)
    if as_json:
        typer.echo(json.dumps(_as_object(out, tables, sheets, summary), indent=2))
    else:
        _print_text(Console(), sheets)
        typer.echo(f"{summary}\nThe report: {out / _REPORT}")


def _require_libraries() -> None:
    missing = [name for name in ("matplotlib", "jinja2") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"The report needs {' and '.join(missing)}, not installed here: "
            "pip install 'popsnet[paper]'"
        )


def _carry_out(plan: Plan, out: Path) -> tuple[Callable[[Wanted], Tally], Facts]:
    with patient_progress("routing", None) as update:

        def show(done: int, total: int) -> None:
            update(done, f"{done:,} of {total:,} shards", total)

        try:
            return carry_out(plan, out, show)
        except KeyboardInterrupt:
            typer.echo(
                f"Interrupted: what is done is in {out / STORE}; the same command goes on.",
                err=True,
            )
            raise typer.Exit(_INTERRUPTED) from None


def _write(
    out: Path, plan: Plan, tables: Tables, sheets: Sequence[Sheet], summary: str, origin: Facts
) -> None:
    from popsnet.paper.pictures import make_pictures
    from popsnet.paper.report import provenance, write_report
    from popsnet.plots import save

    figures = out / "figures"
    make_folder(figures)
    drawn = [(one, save(one.figure, figures, one.stem)[0]) for one in make_pictures(tables)]
    for sheet in sheets:
        write_csv(sheet, out)
    facts = [*provenance(plan), *origin]
    write_report(out / _REPORT, summary, sheets, drawn, facts)
    with write_whole(out / _PROVENANCE) as file:
        json.dump({"summary": summary, **dict(facts)}, file, indent=2, ensure_ascii=False)


def _as_object(
    out: Path, tables: Tables, sheets: Sequence[Sheet], summary: str
) -> dict[str, object]:
    return {
        "report": str(out / _REPORT),
        "summary": summary,
        "family_wise_error_rate": {"ours_and_paper": LEVEL, "paper_and_itself": DOUBT_LEVEL},
        "comparisons": tables.comparisons,
        "differing": tables.differing,
        "tables": {sheet.stem: sheet.records() for sheet in sheets},
    }


def _print_text(console: Console, sheets: Sequence[Sheet]) -> None:
    for sheet in sheets:
        console.print(_table(sheet))
        console.print(sheet.caption, markup=False, highlight=False)
        console.print()


def _table(sheet: Sheet) -> Table:
    """Narrow, so that it fits a terminal of 80 columns."""
    table = Table(title=sheet.title, title_justify="left", box=None, padding=(0, 1, 0, 0))
    for number, column in enumerate(sheet.columns):
        texts = [*column.heading.split(), *(cells[number] for cells in sheet.cells())]
        side: JustifyMethod = "left" if column.is_text else "right"
        width = None if column.is_text else max(map(len, texts))
        table.add_column(column.heading, justify=side, width=width)
    for cells in sheet.cells():
        table.add_row(*cells)
    return table
