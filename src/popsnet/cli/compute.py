"""``popsnet compute``."""

from __future__ import annotations

from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting
from popsnet.cli.timing import Timed, timed
from popsnet.report import Report


@reporting
@timed
def compute(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="move, sum or prefix-sums.")],
    d: opt.D,
    g: Annotated[
        int, typer.Argument(metavar="G", help="Number of groups; D·G must be a power of two.")
    ],
    dimension: Annotated[
        int | None, typer.Option(help="Dimension of the move (default 0).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the values.")] = 0,
    timing: Timed = None,
) -> Report:
    """Run hypercube moves, sums or prefix sums on POPS(D, G) and check the result."""
    network = popsnet.Network(d, g)
    return popsnet.compute(network, what, dimension=dimension, seed=seed).report(timing)
