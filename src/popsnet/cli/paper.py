"""``popsnet paper``: the paper's tables and figures, and ours beside them."""

from __future__ import annotations

import json
from pathlib import Path

import typer
from rich.console import Console, JustifyMethod
from rich.rule import Rule
from rich.table import Table

from popsnet.paper import reproduce
from popsnet.paper.tables import Sheet

__all__ = ["paper_command"]

_INTERRUPTED = 130


def paper_command(
    *, out: Path, runs: int | None, max_n: int | None, full: bool, as_json: bool
) -> None:
    """Run what is wanted, print each table when it is there, write the report."""
    console = Console()

    def show(sheet: Sheet) -> None:
        if not as_json:
            _print_sheet(console, sheet)

    try:
        found = reproduce(out, runs=runs, max_n=max_n, full=full, show=show)
    except KeyboardInterrupt:
        typer.echo(f"Interrupted: what is done is in {out}; the same command goes on.", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
        return
    console.print(Rule("Growth, in words", align="left"))
    for words in found.growth:
        console.print(words, markup=False, highlight=False)
        console.print()
    typer.echo(str(found))


def _print_sheet(console: Console, sheet: Sheet) -> None:
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
