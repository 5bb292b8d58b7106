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
    n: Annotated[int, typer.Argument(metavar="N", help="Wires.")],
    seed: Annotated[
        int, typer.Option(help="Seed of the bag tree's matchings, and of --check.")
    ] = 0,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Draw a Knuth diagram to this file: .svg, .png, .pdf, …",
            callback=opt.require_figure,
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Try inputs of zeros and ones: all for N <= 20, some above."),
    ] = False,
    growth: Annotated[
        bool, typer.Option("--growth", help="Depths of bag-tree for all powers of two up to N.")
    ] = False,
) -> Report:
    """Make a sorting network; exit 1 if it is found not to sort."""
    drawn = None
    if figure is not None:  # first: what does not fit a page is refused before any work
        drawn = popsnet.plots.draw_network(popsnet.sorting.make_network(name, n, seed))
    report = popsnet.sorting.examine(name, n, seed=seed, check=check, growth=growth).report()
    return report if figure is None or drawn is None else with_figure(report, figure, drawn)
