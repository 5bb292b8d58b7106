"""``popsnet paper``."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli.options import Cluster
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
            help="Folder for the report, its figures and tables, and the store of runs.",
        ),
    ] = Path("paper"),
    runs: Annotated[
        int | None,
        typer.Option(help="Runs per row, a multiple of ten (default: chosen row by row)."),
    ] = None,
    max_n: Annotated[
        int | None, typer.Option(help="Largest number of processors, 4 to 2^24 (default: 2^24).")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="At least 100 runs of every row; not with --runs.")
    ] = False,
    cluster: Cluster = None,
) -> Report:
    """Reproduce the paper's tables and figures, with verdicts; skip finished runs."""
    from popsnet.sweeps.cluster import open_cluster

    try:
        with nullcontext() if cluster is None else open_cluster(cluster) as executor:
            done = popsnet.paper.reproduce(
                out, runs=runs, max_n=max_n, full=full, show=show_table, executor=executor
            )
        report = done.report()
    except KeyboardInterrupt:
        message = f"Interrupted: finished runs are in {out}. The same command continues."
        raise Interrupted(message) from None
    parts = (replace(one, columns=()) if isinstance(one, Table) else one for one in report.parts)
    return replace(report, parts=tuple(parts))  # the tables were shown
