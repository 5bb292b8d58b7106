"""``popsnet sorting-network``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from popsnet.cli.figures import require_figure, with_figure
from popsnet.cli.options import complete_sorting_network
from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def sorting_network(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="merge-exchange, bitonic or bag-tree.",
            autocompletion=complete_sorting_network,
        ),
    ],
    n: Annotated[int, typer.Argument(metavar="N", help="Wires.")],
    seed: Annotated[
        int, typer.Option(help="Seed of the bag tree's matchings, and of --check.")
    ] = 0,
    figure: Annotated[
        Path | None, typer.Option(help="Draw a Knuth diagram to this file: .svg, .png, .pdf, …")
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
    from popsnet.sorting import examine, make_network

    require_figure(figure)
    if figure is None:
        return examine(name, n, seed=seed, check=check, growth=growth).report()
    from popsnet.plots import draw_network

    drawn = draw_network(make_network(name, n, seed))  # refuses what does not fit a page
    found = examine(name, n, seed=seed, check=check, growth=growth)
    return with_figure(found.report(), drawn, figure)
