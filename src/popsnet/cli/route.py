"""``popsnet route``."""

from __future__ import annotations

import re
import shlex
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

import popsnet
from popsnet.cli import options as opt
from popsnet.cli.options import Timed, timed
from popsnet.cli.output import Interrupted, reporting, with_trace
from popsnet.errors import InputError
from popsnet.report import Fact, Report

_SURVIVE = "survive"
"""The variant of --survive."""

_MOST_SEEN = 2**10
"""On larger networks a single packet can hardly be seen on the page."""


@reporting
@timed
def route(
    d: opt.D,
    g: opt.G,
    router: opt.Router = opt.DEFAULT_ROUTER,
    variant: opt.Variant = None,
    schedule: Annotated[
        str | None, typer.Option(help='A schedule for relay, for example "P2 P1 R2".')
    ] = None,
    survive: Annotated[
        bool,
        typer.Option(
            "--survive", help="Lose no packet, whatever faults there are, with --router relay."
        ),
    ] = False,
    permutation: opt.Permutation = "random",
    demand: opt.Demand = None,
    matrix: opt.Matrix = None,
    unit: opt.Unit = None,
    detect: Annotated[
        bool,
        typer.Option(
            "--detect", help="After every step, let all processors find out whether they are done."
        ),
    ] = False,
    runs: Annotated[
        int, typer.Option(help="Number of runs, each with its own permutation and coins.")
    ] = 1,
    seed: opt.Seed = 0,
    permutation_seed: opt.SomePermutationSeed = None,
    engine: opt.Engine = "auto",
    max_steps: opt.MaxSteps = 1000,
    fault: opt.Fault = None,
    loss: opt.Loss = None,
    loss_per: opt.LossPer = None,
    fault_seed: opt.FaultSeed = None,
    wavelengths: opt.Wavelengths = 1,
    trace: opt.Trace = None,
    timing: Timed = None,
) -> Report:
    """Route permutations, or a demand, on POPS(D, G), slot by slot."""
    from popsnet.routing.to_all import DETECTED

    if schedule is not None:
        _require_schedules(router, variant)
        variant = schedule
    if survive:
        _require_survival(router, variant)
        variant = _SURVIVE
    opt.require_one_of(permutation, demand, matrix)
    network = popsnet.Network(d, g, wavelengths)
    packets = _packets(
        network, permutation, detect, permutation_seed=permutation_seed, demand=demand,
        matrix=matrix, unit=unit,
    )  # fmt: skip
    if router == opt.DEFAULT_ROUTER and "demand" in packets:
        raise InputError(
            f"Router {router}, the default, routes permutations only; give --router relay or "
            "--router direct for a demand."
        )
    if router == opt.DEFAULT_ROUTER and variant is None:
        opt.require_default_applies(d, g, wavelengths)
    experiment = popsnet.Experiment(
        d, g, router=router, variant=variant, seed=seed, max_steps=max_steps,
        **opt.faults(fault, loss, loss_per, fault_seed), wavelengths=wavelengths, **packets,
    )  # fmt: skip
    if detect:
        experiment = experiment.replaced(variant=experiment.variant + DETECTED)
    if variant is not None or detect:
        router = _with_variant(router, experiment.variant)
    try:
        done = popsnet.route(experiment, runs=runs, engine=engine, trace=trace)
    except KeyboardInterrupt as stop:
        if not isinstance(kept := getattr(stop, "runs", None), popsnet.Runs):
            raise
        message = f"Interrupted: {len(kept)} of {runs} runs were finished."
        report = _report(kept, router, permutation, timing) if len(kept) else None
        raise Interrupted(message, report) from None
    return with_trace(_report(done, router, permutation, timing), trace)


def _packets(
    network: popsnet.Network, permutation: str, detect: bool, **given: Path | float | None
) -> dict[str, Any]:
    """Return the permutation, or the demand, as parameters of an experiment."""
    from popsnet.runs.demands import with_demand

    wanted = {name: value for name, value in given.items() if value is not None}
    if not wanted.keys() - {"permutation_seed"}:
        return {"permutation": permutation, **wanted}
    if detect:
        raise InputError(
            "--detect asks processors whether they have their packet, and no processor knows how "
            "many packets of a demand are for it; leave it out."
        )
    return with_demand(network, wanted)


def _report(done: popsnet.Runs, router: str, permutation: str, timing: Timed) -> Report:
    seconds = float(done.seconds.sum())
    report = done.report(timing).plus(Fact("seconds", seconds), f"Routed in {seconds:,.2f} s.")
    return report.plus(*_pointer(done.experiment, router, permutation))


def _pointer(experiment: popsnet.Experiment, router: str, permutation: str) -> list[str]:
    """Return the command that shows the first run, if the viewer can show it."""
    if experiment.network.n > _MOST_SEEN or experiment.idealized or experiment.demand is not None:
        return []
    options = {
        "--router": (router, opt.DEFAULT_ROUTER),
        "--permutation": (permutation, "random"),
        "--seed": (experiment.seed, 0),
        "--permutation-seed": (experiment.permutation_seed, 0),
        "--max-steps": (experiment.max_steps, 1000),
        "--wavelengths": (experiment.wavelengths, 1),
        "--fault-seed": (experiment.fault_seed, 0),
    }
    given = [(key, str(value)) for key, (value, default) in options.items() if value != default]
    given += [("--fault", one) for one in experiment.faults.split()]
    words = (str(experiment.d), str(experiment.g), *chain.from_iterable(given))
    return [f"See it: popsnet view {shlex.join(words)}"]


def _with_variant(router: str, variant: str) -> str:
    """Return NAME:VARIANT for a router that may have been given as such already."""
    name = re.match(r".+?\.py|[^:]+", router)
    return f"{name[0] if name else router}:{variant}"


def _require_schedules(router: str, variant: str | None) -> None:
    """Refuse a schedule beside a variant, and one for a router that takes none."""
    from popsnet.routing import find_variant

    if variant is not None:
        raise InputError("A schedule is a variant; give --schedule or --variant, not both.")
    if find_variant(router, None)[0].schedules is None:
        able = ", ".join(one.name for one in popsnet.all_routers() if one.schedules is not None)
        which = f"these do: {able}" if able else "no router here does"
        raise InputError(f"Router {router} takes no --schedule; {which}.")


def _require_survival(router: str, variant: str | None) -> None:
    """Refuse --survive beside a variant or a schedule, and with a router that has none for it."""
    from popsnet.routing import find_variant

    found, named = find_variant(router, None)
    if _SURVIVE not in found.variants:
        able = ", ".join(one.name for one in popsnet.all_routers() if _SURVIVE in one.variants)
        raise InputError(f"Router {router} has no variant for --survive; these have: {able}.")
    if variant is not None or named is not None:
        raise InputError(
            "--survive chooses the schedule; leave out --schedule and --variant, or give "
            "--schedule 'survive: …' with stages of your own."
        )
