"""``popsnet compare``."""

from __future__ import annotations

from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting, with_figure
from popsnet.report import Report


@reporting
def compare(
    d: opt.D,
    g: opt.G,
    router: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:VARIANT]",
            help="A router, or a file.py that registers one. Repeat the option for more (default: "
            "every router that ships and applies).",
            autocompletion=opt.complete_router,
        ),
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs of each router.")] = 10,
    permutation: opt.Permutation = "random",
    seed: opt.Seed = 0,
    permutation_seed: opt.PermutationSeed = 0,
    max_steps: opt.MaxSteps = 1000,
    figure: opt.Figure = None,
) -> Report:
    """Run routers on the same permutations and compare them in a table."""
    found = popsnet.compare(
        d, g, routers=router, runs=runs, permutation=permutation, seed=seed,
        permutation_seed=permutation_seed, max_steps=max_steps,
    )  # fmt: skip
    report = found.report()
    if figure is not None:
        report = with_figure(report, figure, popsnet.plots.draw_comparison(found))
    return report
