"""``popsnet sort``, ``compute`` and ``sorting-network``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting, with_figure, with_file
from popsnet.report import Fact, Report


@reporting
def sort(
    *,
    d: opt.D,
    g: opt.G,
    network: Annotated[
        str,
        typer.Option(help=opt.SORTING_NETWORKS, autocompletion=opt.complete_sorting_network),
    ] = "merge-exchange",
    keys: Annotated[
        str, typer.Option(help="random, or a file with D·G numbers: .npy or text.")
    ] = "random",
    seed: Annotated[
        int | None, typer.Option(help="Random seed of the keys and of bag-tree (default 0).")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Write the sorted values to this file: .npy, or text.",
            callback=opt.require_file,
        ),
    ] = None,
    timing: opt.Timed,
) -> Report:  # fmt: skip
    """Sort D·G values on POPS(D, G), slot by slot."""
    from popsnet.computing import write_keys

    values = None if keys == "random" else Path(keys)
    done = popsnet.sort(popsnet.Network(d, g), values, comparators=network, seed=seed)
    report = done.report(timing).plus(Fact("keys", keys), Fact("seed", seed or 0))
    if out is None:
        return report
    write_keys(out, done.values)
    return with_file(report, "Values", out)


@reporting
def compute(
    *,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="move, sum or prefix-sums.")],
    d: opt.D,
    g: Annotated[
        int, typer.Argument(metavar="G", help="Number of groups; D·G must be a power of two.")
    ],
    dimension: Annotated[
        int | None, typer.Option(help="Dimension of the move (default 0).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Random seed of the values.")] = 0,
    timing: opt.Timed,
) -> Report:
    """Run hypercube moves, sums or prefix sums on POPS(D, G) and check the result."""
    network = popsnet.Network(d, g)
    return popsnet.compute(network, what, dimension=dimension, seed=seed).report(timing)


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
    figures = []
    if figure is not None:  # first: what does not fit a page is refused before any work
        made = popsnet.sorting.make_network(name, n, seed or 0)
        figures = [popsnet.plots.draw_network(made)]
    report = popsnet.sorting.examine(name, n, seed=seed, check=check, growth=growth).report()
    return with_figure(report, figure, figures.pop)
