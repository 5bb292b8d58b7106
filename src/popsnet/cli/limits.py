"""``popsnet theory``, ``exact`` and ``distribution``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.options import Timed, timed
from popsnet.cli.output import Interrupted, reporting, with_figure
from popsnet.report import Fact, Report


@reporting
def theory(
    d: opt.D,
    g: opt.G,
    runs: Annotated[int, typer.Option(help="Runs of each randomized router to compare with.")] = 0,
    figure: Annotated[
        Path | None,
        typer.Option(
            help="Write a figure of a run and the phases of the proof: .svg, .png or .pdf.",
            callback=opt.require_figure,
        ),
    ] = None,
) -> Report:
    """Show fluid limits, bounds and tail probabilities for POPS(D, G)."""
    found = popsnet.predict(d, g, runs=runs, phases=figure is not None)
    return with_figure(found.report(), figure, lambda: popsnet.plots.draw_phases(found.phases))


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


@reporting
@timed
def distribution(
    d: opt.D,
    g: opt.G,
    router: opt.Router = opt.DEFAULT_ROUTER,
    variant: opt.Variant = None,
    permutation: opt.Permutation = "random",
    runs: Annotated[
        int, typer.Option(help="Number of runs; memory does not grow with it.")
    ] = 1_000_000,
    first: Annotated[int, typer.Option(help="The number of the first run.")] = 0,
    confidence: Annotated[float, typer.Option(help="The confidence of each interval.")] = 0.95,
    exact: Annotated[
        bool,
        typer.Option(
            "--exact/--no-exact",
            help="Solve the exact chain first, if the network is small enough (up to two minutes).",
        ),
    ] = True,
    seed: opt.Seed = 0,
    permutation_seed: opt.PermutationSeed = 0,
    engine: opt.Engine = "auto",
    max_steps: opt.MaxSteps = 1000,
    keep: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Keep the finished runs in this file; those that it has are not repeated.",
        ),
    ] = None,
    figure: opt.Figure = None,
    timing: Timed = None,
) -> Report:
    """Count the slots and steps of very many runs, and say how likely slow runs are."""
    if router == opt.DEFAULT_ROUTER and variant is None:
        opt.require_default_applies(d, g)
    try:
        found = popsnet.distribution(
            d, g, router=router, variant=variant, permutation=permutation, runs=runs, first=first,
            seed=seed, permutation_seed=permutation_seed, max_steps=max_steps, engine=engine,
            confidence=confidence, exact=exact, keep=keep,
        )  # fmt: skip
    except KeyboardInterrupt as stop:
        if not isinstance(kept := getattr(stop, "distribution", None), popsnet.RunsDistribution):
            raise
        message = f"Interrupted: {kept.runs:,} runs are finished. "
        message += (
            "With --keep FILE.json they would be kept."
            if keep is None
            else f"They are in {keep}, and the same command does the rest."
        )
        raise Interrupted(message, _report(kept, timing)) from None
    report = _report(found, timing)
    return with_figure(report, figure, lambda: popsnet.plots.draw_tails(found))


def _report(found: popsnet.RunsDistribution, timing: Timed) -> Report:
    return found.report(timing).plus(
        Fact("seconds", found.seconds), f"Routed in {found.seconds:,.2f} s."
    )
