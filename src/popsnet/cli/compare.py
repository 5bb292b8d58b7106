"""``popsnet compare``."""

from __future__ import annotations

from typing import Annotated

import typer

from popsnet.cli.figures import require_figure, with_figure
from popsnet.cli.options import (
    D,
    Figure,
    G,
    MaxSteps,
    Permutation,
    PermutationSeed,
    Seed,
    complete_router,
)
from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def compare(
    d: D,
    g: G,
    router: Annotated[
        list[str] | None,
        typer.Option(
            help="A router, or a file.py that registers one; repeat it for more. All that ship "
            "and apply if none is given.",
            autocompletion=complete_router,
        ),
    ] = None,
    runs: Annotated[int, typer.Option(help="Runs of each router, on the same permutations.")] = 10,
    permutation: Permutation = "random",
    seed: Seed = 0,
    permutation_seed: PermutationSeed = 0,
    max_steps: MaxSteps = 1000,
    figure: Figure = None,
) -> Report:
    """Run every router that applies to POPS(D, G) on the same permutations."""
    from popsnet.advice import compare as compare_routers

    require_figure(figure)
    found = compare_routers(
        d, g, routers=router, runs=runs, permutation=permutation, seed=seed,
        permutation_seed=permutation_seed, max_steps=max_steps,
    )  # fmt: skip
    if figure is None:
        return found.report()
    from popsnet.plots.comparison import draw_comparison

    return with_figure(found.report(), draw_comparison(found), figure)
