"""``popsnet exact``."""

from __future__ import annotations

from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import reporting
from popsnet.errors import InputError
from popsnet.report import Report


@reporting
def exact(
    context: typer.Context,
    d: opt.D,
    g: opt.G,
    router: Annotated[str, typer.Option(help="mei-rizzi or relay.")] = "mei-rizzi",
    variant: Annotated[
        str | None,
        typer.Option(help="For relay: its stages, S and Tr, or with --check T, Q and X."),
    ] = None,
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
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Instead, execute stages of relay with every public draw, and check."
        ),
    ] = False,
    packets: Annotated[
        int | None, typer.Option(help="With --check: at most this many pending packets.")
    ] = None,
) -> Report:
    """Compute the exact distribution of the steps on a tiny POPS(D, G).

    With --check, stages T, Q and X of relay are executed with every public draw, for all sets of
    pending packets: no rule is broken, a source that takes its packet for delivered is right, and a
    stage T delivers every packet that has a free candidate.
    """
    if check:
        if router != "relay":
            raise InputError(
                f"--check executes stages of relay, not {router}. Give --router relay."
            )
        opt.refuse_given(
            context,
            ("permutation", "all_packets", "upto"),
            "is not for --check, which tries all packets of all permutations, and lists no steps; "
            "leave it out.",
        )
        return popsnet.testing.check_every_draw(
            d, g, variant=variant or "T2", packets=packets
        ).report()
    opt.refuse_given(context, ["packets"], "is for --check; give it, or leave --packets out.")
    return popsnet.exact.exact_steps(
        d, g, router=router, variant=variant, permutation=permutation,
        all_packets=all_packets, upto=upto,
    ).report()  # fmt: skip
