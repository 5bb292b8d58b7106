"""``popsnet compute``."""

from __future__ import annotations

from typing import Annotated

import typer

from popsnet.cli.options import D
from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def compute(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="move, sum or prefix-sums.")],
    d: D,
    g: Annotated[int, typer.Argument(metavar="G", help="Groups; D·G is a power of two.")],
    dimension: Annotated[int, typer.Option(help="The dimension of the move.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the values.")] = 0,
) -> Report:
    """Do what a hypercube does on POPS(D, G), and check it; exit 1 if it is wrong."""
    from popsnet import computing
    from popsnet.network import Network

    return computing.compute(Network(d, g), what, dimension=dimension, seed=seed).report()
