"""``popsnet paper``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli.output import Interrupted, reporting
from popsnet.cli.output import show as show_table
from popsnet.report import Report, Table


@reporting
def paper(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="The folder for the report, figures, runs to watch, CSV and the kept runs.",
        ),
    ] = Path("paper"),
    runs: Annotated[
        int | None,
        typer.Option(help="Runs per row, a multiple of ten; as many as are cheap if not given."),
    ] = None,
    max_n: Annotated[
        int | None, typer.Option(help="The largest network, 4 to 2^24 processors.")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="At least 100 runs of every row up to n = 2^24.")
    ] = False,
) -> Report:
    """Make the paper's tables and figures, with verdicts and theory; resume where it stopped."""
    try:
        done = popsnet.paper.reproduce(out, runs=runs, max_n=max_n, full=full, show=show_table)
        report = done.report()
    except KeyboardInterrupt:
        message = f"Interrupted: what is done is in {out}; the same command goes on."
        raise Interrupted(message) from None
    parts = (replace(one, columns=()) if isinstance(one, Table) else one for one in report.parts)
    return replace(report, parts=tuple(parts))  # the tables were shown
