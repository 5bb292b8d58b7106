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
    runs: Annotated[int, typer.Option(help="Runs of each randomized router to compare with.")] = 0,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Write a figure of a run and the phases of the proof: .svg, .png or .pdf.",
            callback=opt.require_figure,
        ),
    ] = None,
) -> Report:
    """Show fluid limits, bounds and tail probabilities for POPS(D, G)."""
    found = popsnet.predict(d, g, runs=runs, phases=figure is not None)
    report = found.report()
    if figure is not None:
        report = with_figure(report, figure, popsnet.plots.draw_phases(found.phases))
    return report
