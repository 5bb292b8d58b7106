"""``popsnet theory``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from popsnet.cli.figures import require_figure, with_figure
from popsnet.cli.options import D, G
from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def theory(
    d: D,
    g: G,
    runs: Annotated[int, typer.Option(help="Runs of each randomized router, to compare with.")] = 0,
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw a run beside the phases of the proof to this file: .svg, .png, …"),
    ] = None,
) -> Report:
    """Say what mathematics says of routing on POPS(D, G): fluid limits, bounds, tails."""
    from popsnet.advice import predict

    require_figure(figure)
    found = predict(d, g, runs=runs, phases=figure is not None)
    if figure is None:
        return found.report()
    from popsnet.plots import draw_phases

    return with_figure(found.report(), draw_phases(found.phases), figure)
