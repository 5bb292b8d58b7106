"""``popsnet route``."""

from __future__ import annotations

from typing import Annotated

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.output import Interrupted, reporting, with_trace
from popsnet.errors import InputError
from popsnet.report import Fact, Report


@reporting
def route(
    d: opt.D,
    g: opt.G,
    router: opt.Router = "mei-rizzi",
    variant: opt.Variant = None,
    schedule: Annotated[
        str | None,
        typer.Option(help="A variant written out, for routers that make variants of a text."),
    ] = None,
    permutation: opt.Permutation = "random",
    detect: Annotated[
        bool,
        typer.Option(
            "--detect",
            help="A global OR after every step, so that every processor knows the end. Its slots "
            "count.",
        ),
    ] = False,
    runs: Annotated[int, typer.Option(help="Runs, each with its own permutation and coins.")] = 1,
    seed: opt.Seed = 0,
    permutation_seed: opt.PermutationSeed = 0,
    engine: opt.Engine = "auto",
    max_steps: opt.MaxSteps = 1000,
    trace: opt.Trace = None,
) -> Report:
    """Route permutations on POPS(D, G), slot by slot."""
    from popsnet.routing.detection import DETECTED

    if schedule is not None:
        _require_schedules(router, variant)
        variant = schedule
    experiment = popsnet.Experiment(
        d, g, router=router, variant=variant, permutation=permutation, seed=seed,
        permutation_seed=permutation_seed, max_steps=max_steps,
    )  # fmt: skip
    if detect:
        experiment = experiment.replaced(variant=experiment.variant + DETECTED)
    try:
        done = popsnet.route(experiment, runs=runs, engine=engine, trace=trace)
    except KeyboardInterrupt as stop:
        if not isinstance(kept := getattr(stop, "runs", None), popsnet.Runs):
            raise
        message = f"Interrupted: {len(kept)} of {runs} runs were finished."
        raise Interrupted(message, _report(kept) if len(kept) else None) from None
    return with_trace(_report(done), trace)


def _report(done: popsnet.Runs) -> Report:
    seconds = float(done.seconds.sum())
    return done.report().plus(Fact("seconds", seconds), f"Routed in {seconds:,.2f} s.")


def _require_schedules(router: str, variant: str | None) -> None:
    """Refuse a schedule beside a variant, and one for a router that takes none."""
    from popsnet.routing import find_variant

    if variant is not None:
        raise InputError("A schedule is a variant; give --schedule or --variant, not both.")
    if find_variant(router, None)[0].schedules is None:
        able = ", ".join(one.name for one in popsnet.all_routers() if one.schedules is not None)
        which = f"these do: {able}" if able else "no router here does"
        raise InputError(f"Router {router} takes no --schedule; {which}.")
