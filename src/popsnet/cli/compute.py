"""``popsnet compute``."""

from __future__ import annotations

from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def compute(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="move, sum or prefix-sums.")],
    d: opt.D,
    g: Annotated[int, typer.Argument(metavar="G", help="Groups; D·G is a power of two.")],
    dimension: Annotated[int, typer.Option(help="The dimension of the move.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the values.")] = 0,
) -> Report:
    """Do what a hypercube does on POPS(D, G), and check it; exit 1 if it is wrong."""
    network = popsnet.Network(d, g)
    return popsnet.compute(network, what, dimension=dimension, seed=seed).report()
