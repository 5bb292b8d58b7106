"""``popsnet schedule``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting, with_figure, with_file, with_trace
from popsnet.errors import InputError
from popsnet.report import Report


@reporting
def schedule(
    d: opt.D,
    g: opt.G,
    permutation: Annotated[
        str | None, typer.Option(help=opt.PERMUTATIONS, autocompletion=opt.complete_permutation)
    ] = None,
    demand: opt.Demand = None,
    matrix: opt.Matrix = None,
    permutation_seed: opt.PermutationSeed = 0,
    seed: Annotated[int, typer.Option(help="Random seed of the scheduler.")] = 0,
    trace: Annotated[
        Path | None, typer.Option(help="Write a trace of the schedule to this file.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the schedule as .csv with a row per message."),
    ] = None,
    figure: opt.Figure = None,
) -> Report:
    """Compute a collision-free schedule for known traffic.

    Without --permutation, --demand or --matrix the traffic is a random permutation.
    """
    _require_files(out, trace, figure)
    made = popsnet.schedule(
        popsnet.Network(d, g), demand, permutation=permutation, matrix=matrix,
        permutation_seed=permutation_seed, seed=seed, trace=trace,
    )  # fmt: skip
    report = with_trace(made.report(), trace)
    if out is not None:
        made.write_csv(out)
        report = with_file(report, "Schedule", out)
    if figure is not None:
        report = with_figure(report, figure, popsnet.plots.draw_schedule(made.schedule))
    return report


def _require_files(out: Path | None, trace: Path | None, figure: Path | None) -> None:
    if out is not None and out.suffix.lower() != ".csv":
        if out.suffix.lower() in (".jsonl", ".json"):
            raise InputError(f"--out {out} is a table, .csv; use --trace {out} for a trace.")
        raise InputError(f"--out {out}: the name must end in .csv.")
    opt.require_file(out)
    for option, other in (("--out", out), ("--figure", figure)):
        if trace is not None and other is not None and other.resolve() == trace.resolve():
            raise InputError(f"--trace and {option} are both {other}; give two names.")
