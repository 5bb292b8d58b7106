"""``popsnet faults``."""

from __future__ import annotations

from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting, with_figure
from popsnet.errors import InputError
from popsnet.report import Report


@reporting
def faults(
    d: opt.D,
    g: opt.G,
    router: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[:VARIANT]",
            help="A router, or a file.py that registers one. Repeat the option for more (default: "
            "every router that ships, applies and does not take long, and those that survive).",
            autocompletion=opt.complete_router,
        ),
    ] = None,
    kind: Annotated[
        str, typer.Option(help="Dead parts: couplers, transmitters, receivers or processors.")
    ] = "couplers",
    numbers: Annotated[
        str, typer.Option(help="The numbers of dead parts, with commas between them.")
    ] = "0,1,2,4,8,16",
    loss: opt.Loss = None,
    runs: Annotated[int, typer.Option(help="Runs of each router for each number.")] = 20,
    permutation: opt.Permutation = "random",
    seed: opt.Seed = 0,
    permutation_seed: opt.PermutationSeed = 0,
    fault_seed: opt.FaultSeed = None,
    max_steps: opt.MaxSteps = 200,
    figure: opt.Figure = None,
) -> Report:
    """Run routers with more and more random faults, and count what they lose."""
    found = popsnet.survival(
        d, g, routers=router, kind=kind, numbers=_numbers(numbers), loss=loss or 0.0, runs=runs,
        permutation=permutation, seed=seed, permutation_seed=permutation_seed,
        fault_seed=fault_seed or 0, max_steps=max_steps,
    )  # fmt: skip
    report = found.report()
    if figure is not None:
        report = with_figure(report, figure, popsnet.plots.draw_survival([found]))
    return report


def _numbers(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise InputError(
            f"numbers = {text}: it must be integers with commas between them, such as 0,1,4."
        ) from None
