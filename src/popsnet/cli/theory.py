"""``popsnet theory``, ``exact`` and ``sorting-network``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import draw, reporting, with_drawn, with_figure
from popsnet.report import Report


@reporting
def theory(
    d: opt.D,
    g: opt.G,
    runs: Annotated[int, typer.Option(help="Runs of each randomized router, to compare with.")] = 0,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Draw a run beside the phases of the proof to this file: .svg, .png, …",
            callback=opt.require_figure,
        ),
    ] = None,
) -> Report:
    """Say what mathematics says of routing on POPS(D, G): fluid limits, bounds, tails."""
    found = popsnet.predict(d, g, runs=runs, phases=figure is not None)
    return with_figure(found.report(), figure, "phases.draw_phases", found.phases)


@reporting
def exact(
    d: opt.D,
    g: opt.G,
    router: Annotated[str, typer.Option(help="mei-rizzi or relay.")] = "mei-rizzi",
    permutation: Annotated[
        str,
        typer.Option(
            help="random for the mean over all permutations; or one, by name or from a file.",
            autocompletion=opt.complete_permutation,
        ),
    ] = "random",
    all_packets: Annotated[
        bool, typer.Option("--all-packets", help="For D > G: all packets take part in every step.")
    ] = False,
    upto: Annotated[int | None, typer.Option(help="List at most this many steps.")] = None,
) -> Report:
    """Work out the exact distribution of the steps on a tiny POPS(D, G), as fractions."""
    return popsnet.exact.exact_steps(
        d, g, router=router, permutation=permutation, all_packets=all_packets, upto=upto
    ).report()


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
        drawn = draw("comparators.draw_network", popsnet.sorting.make_network(name, n, seed))
    report = popsnet.sorting.examine(name, n, seed=seed, check=check, growth=growth).report()
    return report if figure is None else with_drawn(report, figure, drawn)
