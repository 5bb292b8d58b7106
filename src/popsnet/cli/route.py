"""``popsnet route``: run a router and report."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from popsnet.cli.streams import user_code
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.network import Network
from popsnet.routing import all_routers, find_router
from popsnet.routing.detection import DETECTED
from popsnet.runs.route import route
from popsnet.runs.run import Run, Runs

__all__ = ["route_command"]

_INTERRUPTED = 130
_FEW = 12


def route_command(
    d: int, g: int, *, schedule: str | None, detect: bool, runs: int, engine: str,
    trace: Path | None, as_json: bool, **choices: Any,
) -> None:  # fmt: skip
    """Route, print, and exit with 130 if interrupted: what is finished is reported all the same."""
    given = {name: value for name, value in choices.items() if value is not None}
    if schedule is not None:
        _require_schedules(given["router"], given.get("variant"))
        given["variant"] = schedule
    with user_code(as_json):
        experiment = Experiment(d, g, **given)
        if detect:
            experiment = experiment.replaced(variant=experiment.variant + DETECTED)
        try:
            done = route(experiment, runs=runs, engine=engine, trace=trace)
        except KeyboardInterrupt as stop:
            if not isinstance(kept := getattr(stop, "runs", None), Runs):
                raise
            done = kept
    if len(done) and as_json:
        typer.echo(json.dumps(_as_object(done), indent=2))
    elif len(done):
        _print_text(Console(), done)
    if len(done) < runs:
        typer.echo(f"Interrupted: {len(done)} of {runs} runs were finished.", err=True)
        raise typer.Exit(_INTERRUPTED)
    if trace is not None and not as_json:
        typer.echo(f"Trace written to {trace}; popsnet check {trace} replays it.")
    if done.failed:
        typer.echo(f"FAILED: {_shortfall(done)}", err=True)
        raise typer.Exit(1)


def _require_schedules(router: str, variant: str | None) -> None:
    """Refuse a schedule beside a variant, and one for a router that takes none."""
    if variant is not None:
        raise InputError("A schedule is a variant; give --schedule or --variant, not both.")
    if find_router(router).schedules is None:
        able = ", ".join(one.name for one in all_routers() if one.schedules is not None)
        which = f"these do: {able}" if able else "no router here does"
        raise InputError(f"Router {router} takes no --schedule; {which}.")


def _shortfall(done: Runs) -> str:
    """What is missing."""
    lost = done.outcomes.lost_packets.tolist()
    if not lost:
        return "the router ended before every packet was delivered."
    if len(done) > 1:
        return f"the router lost {len(lost):,} packets; --json says which of each run."
    shown = ", ".join(map(str, lost[:_FEW])) + (", …" if len(lost) > _FEW else "")
    return f"the router lost {len(lost):,} {'packet' if len(lost) == 1 else 'packets'}: {shown}"


def _as_object(done: Runs) -> dict[str, Any]:
    experiment, summary = done.experiment, done.summary()
    network = experiment.network
    return {
        "network": {"d": network.d, "g": network.g, "n": network.n},
        "router": experiment.router,
        "variant": experiment.variant,
        "engine": done.engine,
        "permutation": experiment.shown_permutation,
        "seed": experiment.seed,
        "permutation_seed": experiment.permutation_seed,
        "runs": done.to_records(),
        "summary": {
            **{name: asdict(summary[name]) for name in ("slots", "slots_delivered", "steps")},
            "lost": int(done.lost.sum()),
            "capped": summary.capped,
        },
    }


def _print_text(console: Console, done: Runs) -> None:
    experiment = done.experiment
    network = experiment.network
    typer.echo(f"{network}: {network.n:,} processors in {network.g:,} groups of {network.d:,}")
    typer.echo(
        f"{experiment.router} ({experiment.variant}), engine {done.engine}\n"
        f"permutation {experiment.shown_permutation}, seed {experiment.seed}, "
        f"permutation seed {experiment.permutation_seed}"
    )
    if len(done) == 1:
        console.print(_survivors(network, done[0]))
    console.print(_figures(done))
    typer.echo(_verdict(done))
    if experiment.idealized:
        typer.echo(
            f"Variant {experiment.variant} takes for granted what it counts as delivered: these "
            "are statistics, not a route."
        )


def _survivors(network: Network, run: Run) -> Table:
    table = Table("step", "pending after it", "delivered in it", title=None)
    for column in table.columns:
        column.justify = "right"
    before = network.n
    for step, after in enumerate(run.outcome.survivors, start=1):
        table.add_row(f"{step}", f"{after:,}", f"{before - after:,}")
        before = after
    return table


def _figures(done: Runs) -> Table:
    summary = done.summary()
    at_least = "≥ " if summary.capped else ""  # a capped run is cut short
    headings = ("mean ± sd", "min", "max") if len(done) > 1 else ("in this run",)
    table = Table("", *headings)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, label in (
        ("slots", "slots"),
        ("slots_delivered", "of them to the last delivery"),
        ("steps", "steps"),
        ("messages", "messages sent"),
        ("collisions", "couplers hit twice or more"),
        ("destroyed", "messages destroyed"),
        ("peak_buffers", "most packets at a processor"),
        ("control_bits", "most bits of a control message"),
    ):
        if name not in summary:
            continue  # the engine does not count it
        one = summary[name]
        if one.sd is None:
            table.add_row(label, f"{at_least}{one.max:,}")
        else:
            mean = f"{at_least}{one.mean:,.2f} ± {one.sd:,.2f}"
            table.add_row(label, mean, f"{one.min:,}", f"{one.max:,}")
    return table


def _verdict(done: Runs) -> str:
    missing = int((done.experiment.network.n - done.delivered).sum())
    verdict = "every packet delivered" if not missing else f"{missing:,} packets not delivered"
    return (
        f"{len(done):,} {'run' if len(done) == 1 else 'runs'} in {done.seconds.sum():,.2f} s: "
        f"{verdict}; capped {int(done.capped.sum()):,}, lost {int(done.lost.sum()):,}."
    )
