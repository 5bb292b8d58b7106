"""``popsnet route``: run a router and report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from popsnet.cli.progress import patient_progress
from popsnet.cli.streams import user_code
from popsnet.errors import InputError
from popsnet.experiments import Point, Run, routed, summarize
from popsnet.files import require_writable
from popsnet.network import Network
from popsnet.routing import all_routers, find_router
from popsnet.routing.detection import DETECTED
from popsnet.trace import Event

__all__ = ["route_command"]

_INTERRUPTED = 130
_FEW = 12


def route_command(
    d: int, g: int, *, schedule: str | None, detect: bool, runs: int, trace: Path | None,
    as_json: bool, **choices: Any,
) -> None:  # fmt: skip
    """Route, print, and exit with 130 if interrupted: what is finished is reported all the same."""
    given = {name: value for name, value in choices.items() if value is not None}
    if schedule is not None:
        _require_schedules(given["router"], given.get("variant"))
        given["variant"] = schedule
    if detect:
        with user_code(as_json):
            chosen = find_router(given["router"])
        given["variant"] = chosen.choose_variant(given.get("variant"), Network(d, g)) + DETECTED
    if runs < 1:
        raise InputError(f"--runs {runs}: there is nothing to do; give at least 1.")
    with user_code(as_json):
        point = Point.of(d, g, runs=runs, traced=trace is not None, **given)
        if trace is not None:
            _require_traceable(trace, runs)
        done = _execute(point, runs, trace)
    interrupted = len(done) < runs
    if done and as_json:
        typer.echo(json.dumps(_as_object(point, done), indent=2))
    elif done:
        _print_text(Console(), point, done)
    if interrupted:
        typer.echo(f"Interrupted: {len(done)} of {runs} runs were finished.", err=True)
        raise typer.Exit(_INTERRUPTED)
    if trace is not None and not as_json:
        typer.echo(f"Trace written to {trace}; popsnet check {trace} replays it.")
    if any(_failed(point, run) for run in done):
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


def _failed(point: Point, run: Run) -> bool:
    """Whether packets are lost, or missing though the run was not capped."""
    missing = run.outcome.delivered < point.network.n
    return run.outcome.lost > 0 or (missing and not run.outcome.capped)


def _shortfall(done: Sequence[Run]) -> str:
    """What is missing."""
    lost = [packet for run in done for packet in run.outcome.lost_packets]
    if not lost:
        return "the router ended before every packet was delivered."
    if len(done) > 1:
        return f"the router lost {len(lost):,} packets; --json says which of each run."
    shown = ", ".join(map(str, lost[:_FEW])) + (", …" if len(lost) > _FEW else "")
    return f"the router lost {len(lost):,} {'packet' if len(lost) == 1 else 'packets'}: {shown}"


def _require_traceable(trace: Path, runs: int) -> None:
    if runs != 1:
        raise InputError(f"--trace records one run, and --runs is {runs}; give --runs 1.")
    require_writable(trace)


def _execute(point: Point, runs: int, trace: Path | None) -> list[Run]:
    done: list[Run] = []
    total = None if runs == 1 else runs  # how long one run takes is not known
    with patient_progress(f"{point.router.name} on {point.network}", total) as update:

        def watch(event: Event) -> None:
            where = f"step {event.step + 1}, slot {event.slot:,}"
            update(len(done), f"{where}, {event.pending:,} packets pending")

        try:
            if trace is not None:
                done.append(point.execute_traced(0, trace, [watch]))
            else:
                for run in routed(point, runs, [watch]):
                    done.append(run)
                    update(len(done))
        except KeyboardInterrupt:
            pass
    return done


def _as_object(point: Point, done: Sequence[Run]) -> dict[str, Any]:
    network = point.network
    outcomes = [run.outcome for run in done]
    return {
        "network": {"d": network.d, "g": network.g, "n": network.n},
        "router": point.router.name,
        "variant": point.variant,
        "engine": point.engine.name,
        "permutation": point.permutation,
        "seed": point.seed,
        "permutation_seed": point.permutation_seed,
        "runs": [
            {
                "slots": run.outcome.slots,
                "slots_delivered": run.outcome.slots_delivered,
                "slots_known": run.outcome.slots_known,
                "steps": run.outcome.steps,
                "delivered": run.outcome.delivered,
                "lost": run.outcome.lost,
                "collisions": run.outcome.collisions,
                "messages": run.outcome.messages,
                "peak_buffers": run.outcome.peak_buffers,
                "control_bits": run.outcome.control_bits,
                "capped": run.outcome.capped,
                "seconds": run.seconds,
                **({"lost_packets": run.outcome.lost_packets} if run.outcome.lost else {}),
            }
            for run in done
        ],
        "summary": {
            **{
                name: asdict(summarize([getattr(outcome, name) for outcome in outcomes]))
                for name in ("slots", "slots_delivered", "steps")
            },
            "lost": sum(outcome.lost for outcome in outcomes),
            "capped": sum(outcome.capped for outcome in outcomes),
        },
    }


def _print_text(console: Console, point: Point, done: Sequence[Run]) -> None:
    network = point.network
    typer.echo(f"{network}: {network.n:,} processors in {network.g:,} groups of {network.d:,}")
    typer.echo(
        f"{point.router.name} ({point.variant}), engine {point.engine.name}\n"
        f"permutation {point.permutation}, seed {point.seed}, "
        f"permutation seed {point.permutation_seed}"
    )
    if len(done) == 1:
        console.print(_survivors(network.n, done[0]))
    console.print(_figures(done))
    typer.echo(_verdict(network.n, done))
    if point.router.variant(point.variant).idealized:
        typer.echo(
            f"Variant {point.variant} takes for granted what it counts as delivered: these are "
            "statistics, not a route."
        )


def _survivors(n: int, run: Run) -> Table:
    table = Table("step", "pending after it", "delivered in it", title=None)
    for column in table.columns:
        column.justify = "right"
    before = n
    for step, after in enumerate(run.outcome.survivors, start=1):
        table.add_row(f"{step}", f"{after:,}", f"{before - after:,}")
        before = after
    return table


def _figures(done: Sequence[Run]) -> Table:
    outcomes = [run.outcome for run in done]
    at_least = "≥ " if any(outcome.capped for outcome in outcomes) else ""  # a capped run is cut
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
        values = [getattr(outcome, name) for outcome in outcomes]
        if None in values:
            continue  # the engine does not follow it
        one = summarize(values)
        if one.sd is None:
            table.add_row(label, f"{at_least}{one.max:,}")
        else:
            mean = f"{at_least}{one.mean:,.2f} ± {one.sd:,.2f}"
            table.add_row(label, mean, f"{one.min:,}", f"{one.max:,}")
    return table


def _verdict(n: int, done: Sequence[Run]) -> str:
    outcomes = [run.outcome for run in done]
    lost = sum(outcome.lost for outcome in outcomes)
    capped = sum(outcome.capped for outcome in outcomes)
    missing = sum(n - outcome.delivered for outcome in outcomes)
    seconds = sum(run.seconds for run in done)
    verdict = "every packet delivered" if not missing else f"{missing:,} packets not delivered"
    return (
        f"{len(done):,} {'run' if len(done) == 1 else 'runs'} in {seconds:,.2f} s: {verdict}; "
        f"capped {capped:,}, lost {lost:,}."
    )
