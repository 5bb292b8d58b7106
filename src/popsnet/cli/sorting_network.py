"""``popsnet sorting-network``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting, with_figure
from popsnet.report import Report


@reporting
def sorting_network(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help=opt.SORTING_NETWORKS, autocompletion=opt.complete_sorting_network
        ),
    ],
    n: Annotated[int, typer.Argument(metavar="N", help="Number of wires.")],
    seed: Annotated[
        int | None, typer.Option(help="Random seed of bag-tree and of --check (default 0).")
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Write a Knuth diagram to this file: .svg, .png or .pdf.",
            callback=opt.require_figure,
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Try all inputs of zeros and ones (for N > 20, a random sample)."
        ),
    ] = False,
    growth: Annotated[
        bool,
        typer.Option("--growth", help="Show the depth of bag-tree for every power of two up to N."),
    ] = False,
) -> Report:
    """Make a sorting network, draw it, or check that it sorts."""
    drawn = None
    if figure is not None:  # first: what does not fit a page is refused before any work
        drawn = popsnet.plots.draw_network(popsnet.sorting.make_network(name, n, seed or 0))
    report = popsnet.sorting.examine(name, n, seed=seed, check=check, growth=growth).report()
    return report if figure is None or drawn is None else with_figure(report, figure, drawn)
