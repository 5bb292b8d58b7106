"""Commands that sort and compute: their options. What they do is imported when they are called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from popsnet.cli.options import D, G, Json, complete_network

__all__ = ["compute", "network", "sort"]


def network(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="merge-exchange, bitonic or bag-tree.",
            autocompletion=complete_network,
        ),
    ],
    n: Annotated[int, typer.Argument(metavar="N", help="Wires.")],
    seed: Annotated[
        int, typer.Option(help="Seed of the bag tree's matchings, and of --check.")
    ] = 0,
    figure: Annotated[
        Path | None, typer.Option(help="Write a Knuth diagram to this SVG file.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Try inputs of zeros and ones: all for N <= 20, some above."),
    ] = False,
    growth: Annotated[
        bool,
        typer.Option("--growth", help="Depths of bag-tree for all powers of two up to N."),
    ] = False,
    json: Json = False,
) -> None:
    """Make a sorting network; exit 1 if it is found not to sort."""
    from popsnet.cli.network import network_command

    network_command(name, n, seed=seed, figure=figure, check=check, growth=growth, as_json=json)


def sort(
    d: D,
    g: G,
    network: Annotated[
        str,
        typer.Option(help="merge-exchange, bitonic or bag-tree.", autocompletion=complete_network),
    ] = "merge-exchange",
    keys: Annotated[
        str, typer.Option(help="random, or a file of D·G numbers: .npy, or text.")
    ] = "random",
    seed: Annotated[int, typer.Option(help="Seed of random keys, and of the bag tree.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the sorted values: .npy, or text, one a line."),
    ] = None,
    json: Json = False,
) -> None:
    """Sort D·G values on POPS(D, G), slot by slot; exit 1 if they are not in order then."""
    from popsnet.cli.sort import sort_command

    sort_command(d, g, name=network, keys=keys, seed=seed, out=out, as_json=json)


def compute(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="move, sum or prefix-sums.")],
    d: D,
    g: Annotated[int, typer.Argument(metavar="G", help="Groups; D·G is a power of two.")],
    dimension: Annotated[int, typer.Option(help="The dimension of the move.")] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the values.")] = 0,
    json: Json = False,
) -> None:
    """Do what a hypercube does on POPS(D, G), and check it; exit 1 if it is wrong."""
    from popsnet.cli.compute import compute_command

    compute_command(what, d, g, dimension=dimension, seed=seed, as_json=json)
