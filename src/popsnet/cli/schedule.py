"""``popsnet schedule``: a collision-free schedule of a demand, and how good it is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from popsnet.cli.progress import patient_progress
from popsnet.coins import Coins
from popsnet.engines import Outcome
from popsnet.errors import InputError
from popsnet.experiments.scheduled import (
    execute_schedule,
    require_room,
    trace_schedule,
    write_table,
)
from popsnet.files import require_writable
from popsnet.network import Network
from popsnet.permutations import make_permutation
from popsnet.routing.offline import Demand, Schedule, lower_bound, make_schedule
from popsnet.routing.offline.demand_files import read_demand, read_matrix
from popsnet.trace import Event

__all__ = ["schedule_command"]

_TRACES = (".jsonl", ".json")
_TABLES = (".csv",)
_PICTURES = (".svg", ".png")


def schedule_command(
    d: int, g: int, *, permutation: str | None, demand: Path | None, matrix: Path | None,
    permutation_seed: int, seed: int, out: Path | None, figure: Path | None, as_json: bool,
) -> None:  # fmt: skip
    """Make the schedule, execute it, write what is wanted, report; exit 1 if it does not hold."""
    Coins(seed)  # refuses what is no seed
    _require_files(out, figure)
    network = Network(d, g)
    traced = out is not None and out.suffix.lower() in _TRACES
    require_room(network, network.n, traced=traced)
    wanted = _wanted(network, permutation, demand, matrix, permutation_seed)
    require_room(network, wanted.packets, traced=traced)
    begin = time.perf_counter()
    with patient_progress(f"scheduling {wanted.packets:,} packets on {network}", None):
        schedule = make_schedule(wanted, seed=seed)
    seconds = time.perf_counter() - begin
    outcome = _execute(wanted, schedule, out if traced else None, seed)
    if out is not None and not traced:
        write_table(out, schedule)
    if figure is not None:
        _draw(schedule, figure)
    facts = _facts(wanted, schedule, outcome, seconds)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        _print_text(Console(), facts, network)
        _print_files(out, figure, traced)
    if outcome.delivered < wanted.packets:
        raise typer.Exit(1)


def _require_files(out: Path | None, figure: Path | None) -> None:
    for option, path, suffixes in (
        ("--out", out, (*_TRACES, *_TABLES)),
        ("--figure", figure, _PICTURES),
    ):
        if path is None:
            continue
        if path.suffix.lower() not in suffixes:
            raise InputError(f"{option} {path}: the name must end in {' or '.join(suffixes)}.")
        require_writable(path)
    if out is not None and figure is not None and out.resolve() == figure.resolve():
        raise InputError(f"--out and --figure are both {out}; give two names.")
    if figure is not None and find_spec("matplotlib") is None:
        raise InputError("--figure needs matplotlib, not installed: pip install 'popsnet[plots]'")


def _wanted(
    network: Network, permutation: str | None, demand: Path | None, matrix: Path | None, seed: int
) -> Demand:
    given = {"--permutation": permutation, "--demand": demand, "--matrix": matrix}
    named = [option for option, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)} each say what is to be sent; give one of them.")
    if demand is not None:
        return read_demand(demand, network)
    if matrix is not None:
        return read_matrix(matrix, network)
    coins = Coins(seed).for_run(0)  # the permutation that popsnet route has in its first run
    destination = make_permutation(permutation or "random", network, coins)
    return Demand.of_permutation(network, destination)


def _execute(demand: Demand, schedule: Schedule, trace: Path | None, seed: int) -> Outcome:
    with patient_progress(f"executing {schedule.slots:,} slots", schedule.slots) as update:

        def watch(event: Event) -> None:
            update(event.slot, f"{event.pending:,} packets pending")

        if trace is not None:
            return trace_schedule(trace, demand, schedule, [watch], seed)
        return execute_schedule(demand, schedule, [watch])


def _draw(schedule: Schedule, path: Path) -> None:
    from popsnet.plots.schedule import draw_schedule
    from popsnet.plots.style import save_one

    with patient_progress(f"drawing {path.name}", None):
        save_one(draw_schedule(schedule), path)


def _facts(demand: Demand, schedule: Schedule, outcome: Outcome, seconds: float) -> dict[str, Any]:
    network, bound = demand.network, lower_bound(demand)
    couplers = schedule.slots * network.couplers
    usable = schedule.slots * min(network.couplers, network.n)
    return {
        "network": {"d": network.d, "g": network.g, "n": network.n},
        "packets": demand.packets,
        "most_of_a_processor": demand.h,
        "most_of_a_group": demand.degree,
        "slots": schedule.slots,
        "lower_bound": bound,
        "gap": schedule.slots - bound,
        "messages": outcome.messages,
        "coupler_utilisation": outcome.messages / couplers if couplers else None,
        "usable_utilisation": outcome.messages / usable if usable else None,
        "peak_buffers": outcome.peak_buffers,
        "delivered": outcome.delivered,
        "collisions": outcome.collisions,
        "seconds": seconds,
    }


def _print_text(console: Console, facts: dict[str, Any], network: Network) -> None:
    table = Table(
        title=f"schedule on {network}: {network.g:,} groups of {network.d:,}", show_header=False
    )
    table.add_column()
    table.add_column(justify="right")
    shown: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
        ("packets", "packets", "{:,}".format),
        ("most packets of a processor, sent or received", "most_of_a_processor", "{:,}".format),
        ("most packets of a group, sent or received", "most_of_a_group", "{:,}".format),
        ("slots", "slots", "{:,}".format),
        ("lower bound for any schedule", "lower_bound", "{:,}".format),
        ("gap", "gap", "{:,}".format),
        ("couplers in use, of all", "coupler_utilisation", _percent),
        ("couplers in use, of what n senders can use", "usable_utilisation", _percent),
        ("most packets held by a processor", "peak_buffers", "{:,}".format),
    )
    for label, name, show in shown:
        table.add_row(label, show(facts[name]))
    console.print(table)
    typer.echo(
        f"Made in {facts['seconds']:.2f} s and executed: {facts['delivered']:,} of "
        f"{facts['packets']:,} packets delivered, {facts['collisions']} collisions."
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1%}"


def _print_files(out: Path | None, figure: Path | None, traced: bool) -> None:
    if out is not None:
        more = f"; popsnet check {out} replays it" if traced else ""
        typer.echo(f"Schedule written to {out}{more}.")
    if figure is not None:
        typer.echo(f"Picture written to {figure}.")
