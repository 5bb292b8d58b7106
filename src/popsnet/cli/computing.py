"""``popsnet sort``, ``compute`` and ``sorting-network``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.base.report import Fact, Report
from popsnet.cli import options as opt
from popsnet.cli.output import reporting, with_figure, with_file


@reporting
def sort(
    *,
    d: int,
    g: int,
    network: Annotated[
        str, typer.Option(autocompletion=opt.complete_sorting_network)
    ] = "merge-exchange",
    keys: str = "random",
    seed: int | None = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", callback=opt.require_file)] = None,
    timing: opt.Timed,
) -> Report:
    """Sort D·G values on POPS(D, G), slot by slot.

    Example: popsnet sort 12 8

    Exit code 1: the values are not in order.

    Parameters
    ----------
    network
        merge-exchange, bitonic or bag-tree.
    keys
        random, or a file with D·G numbers: .npy or text.
    seed
        Random seed of the keys and of bag-tree (default 0).
    out
        Write the sorted values to this file: .npy, or text.
    """
    from popsnet.studies.computing import write_keys

    values = None if keys == "random" else Path(keys)
    done = popsnet.sort(popsnet.Network(d, g), values, comparators=network, seed=seed)
    report = done.report(timing).plus(Fact("keys", keys), Fact("seed", seed or 0))
    if out is None:
        return report
    write_keys(out, done.values)
    return with_file(report, "Values", out)


@reporting
def compute(
    *, what: str, d: int, g: int, dimension: int | None = None, seed: int = 0, timing: opt.Timed
) -> Report:
    """Run hypercube moves, sums or prefix sums on POPS(D, G) and check the result.

    Example: popsnet compute prefix-sums 8 16

    Exit code 1: the values are not those that NumPy computes.

    Parameters
    ----------
    what
        move, sum or prefix-sums.
    g
        Number of groups; D·G must be a power of two.
    dimension
        Dimension of the move (default 0).
    seed
        Random seed of the values.
    """
    network = popsnet.Network(d, g)
    return popsnet.compute(network, what, dimension=dimension, seed=seed).report(timing)


@reporting
def sorting_network(
    name: Annotated[
        str, typer.Argument(metavar="NAME", autocompletion=opt.complete_sorting_network)
    ],
    n: int,
    seed: int | None = None,
    figure: opt.Figure = None,
    check: bool = False,
    growth: bool = False,
) -> Report:
    """Make a sorting network, draw it as a Knuth diagram, or check that it sorts.

    Example: popsnet sorting-network merge-exchange 16 --check

    Exit code 1: with --check, an input is not sorted.

    Parameters
    ----------
    name
        merge-exchange, bitonic or bag-tree.
    n
        Number of wires.
    seed
        Random seed of bag-tree and of --check (default 0).
    check
        Try all inputs of zeros and ones (for N > 20, a random sample).
    growth
        Show the depth of bag-tree for every power of two up to N.
    """
    figures = []
    if figure is not None:  # first: what does not fit a page is refused before any work
        made = popsnet.theory.sorting.make_network(name, n, seed or 0)
        figures = [popsnet.plots.draw_network(made)]
    report = popsnet.theory.sorting.examine(name, n, seed=seed, check=check, growth=growth).report()
    return with_figure(report, figure, figures.pop)
