"""``popsnet exact``."""

from __future__ import annotations

from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting
from popsnet.report import Report


@reporting
def exact(
    d: opt.D,
    g: opt.G,
    router: Annotated[str, typer.Option(help="mei-rizzi or relay.")] = "mei-rizzi",
    variant: Annotated[str | None, typer.Option(help="For relay: its stages, S and Tr.")] = None,
    permutation: Annotated[
        str,
        typer.Option(
            help="random for the average over all permutations, or a name or file.",
            autocompletion=opt.complete_permutation,
        ),
    ] = "random",
    all_packets: Annotated[
        bool,
        typer.Option("--all-packets", help="For D > G: let every packet take part in every step."),
    ] = False,
    upto: Annotated[int | None, typer.Option(help="List at most this many steps.")] = None,
) -> Report:
    """Compute the exact distribution of the steps on a tiny POPS(D, G)."""
    return popsnet.exact.exact_steps(
        d, g, router=router, variant=variant, permutation=permutation,
        all_packets=all_packets, upto=upto,
    ).report()  # fmt: skip
