"""``popsnet route``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from popsnet.cli.options import (
    D,
    Engine,
    G,
    MaxSteps,
    Permutation,
    PermutationSeed,
    Router,
    Seed,
    Trace,
    Variant,
)
from popsnet.cli.output import Interrupted, reporting
from popsnet.errors import InputError
from popsnet.report import Fact, Report

if TYPE_CHECKING:
    from popsnet.runs import Runs


@reporting
def route(
    d: D,
    g: G,
    router: Router = "mei-rizzi",
    variant: Variant = None,
    schedule: Annotated[
        str | None,
        typer.Option(help="A variant written out, for routers that make variants of a text."),
    ] = None,
    permutation: Permutation = "random",
    detect: Annotated[
        bool,
        typer.Option(
            "--detect",
            help="A global OR after every step, so that every processor knows the end. Its slots "
            "count.",
        ),
    ] = False,
    runs: Annotated[int, typer.Option(help="Runs, each with its own permutation and coins.")] = 1,
    seed: Seed = 0,
    permutation_seed: PermutationSeed = 0,
    engine: Engine = "auto",
    max_steps: MaxSteps = 1000,
    trace: Trace = None,
) -> Report:
    """Route permutations on POPS(D, G), slot by slot."""
    from popsnet.experiment import Experiment
    from popsnet.routing.detection import DETECTED
    from popsnet.runs import Runs
    from popsnet.runs import route as route_runs

    if schedule is not None:
        _require_schedules(router, variant)
        variant = schedule
    experiment = Experiment(
        d, g, router=router, variant=variant, permutation=permutation, seed=seed,
        permutation_seed=permutation_seed, max_steps=max_steps,
    )  # fmt: skip
    if detect:
        experiment = experiment.replaced(variant=experiment.variant + DETECTED)
    try:
        done = route_runs(experiment, runs=runs, engine=engine, trace=trace)
    except KeyboardInterrupt as stop:
        if not isinstance(kept := getattr(stop, "runs", None), Runs):
            raise
        message = f"Interrupted: {len(kept)} of {runs} runs were finished."
        raise Interrupted(message, _report(kept) if len(kept) else None) from None
    if trace is None:
        return _report(done)
    text = f"Trace written to {trace}; popsnet check {trace} replays it."
    return _report(done).plus(Fact("trace", str(trace)), text)


def _report(done: Runs) -> Report:
    seconds = float(done.seconds.sum())
    return done.report().plus(Fact("seconds", seconds), f"Routed in {seconds:,.2f} s.")


def _require_schedules(router: str, variant: str | None) -> None:
    """Refuse a schedule beside a variant, and one for a router that takes none."""
    from popsnet.routing import all_routers, find_router

    if variant is not None:
        raise InputError("A schedule is a variant; give --schedule or --variant, not both.")
    if find_router(router).schedules is None:
        able = ", ".join(one.name for one in all_routers() if one.schedules is not None)
        which = f"these do: {able}" if able else "no router here does"
        raise InputError(f"Router {router} takes no --schedule; {which}.")
