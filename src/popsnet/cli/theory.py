"""``popsnet theory``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting, with_figure
from popsnet.report import Report


@reporting
def theory(
    d: opt.D,
    g: opt.G,
    runs: Annotated[int, typer.Option(help="Runs of each randomized router, to compare with.")] = 0,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Draw a run beside the phases of the proof to this file: .svg, .png, …",
            callback=opt.require_figure,
        ),
    ] = None,
) -> Report:
    """Say what mathematics says of routing on POPS(D, G): fluid limits, bounds, tails."""
    found = popsnet.predict(d, g, runs=runs, phases=figure is not None)
    report = found.report()
    if figure is not None:
        report = with_figure(report, figure, popsnet.plots.draw_phases(found.phases))
    return report
