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

from popsnet.engines import Outcome
from popsnet.errors import InputError
from popsnet.files import require_writable
from popsnet.network import Network
from popsnet.progress import patient_progress
from popsnet.runs.schedule import Scheduled, make_demand, require_room, schedule
from popsnet.schedules.schedule import Schedule
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
    _require_files(out, figure)
    network = Network(d, g)
    traced = out is not None and out.suffix.lower() in _TRACES
    _require_one(permutation, demand, matrix)
    sent = make_demand(
        network, permutation=permutation, packets=demand, matrix=matrix,
        permutation_seed=permutation_seed,
    )  # fmt: skip
    require_room(network, sent.packets, traced=traced)
    begin = time.perf_counter()
    with patient_progress(f"scheduling {sent.packets:,} packets on {network}", None):
        made = schedule(network, sent, seed=seed)
    seconds = time.perf_counter() - begin
    outcome = _execute(made, out if traced else None)
    if out is not None and not traced:
        made.write_csv(out)
    if figure is not None:
        _draw(made.schedule, figure)
    facts = _facts(made, outcome, seconds)
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
    else:
        _print_text(Console(), facts, network)
        _print_files(out, figure, traced)
    if outcome.delivered < sent.packets:
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


def _require_one(permutation: str | None, demand: Path | None, matrix: Path | None) -> None:
    given = {"--permutation": permutation, "--demand": demand, "--matrix": matrix}
    named = [option for option, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"{' and '.join(named)} each say what is to be sent; give one of them.")


def _execute(made: Scheduled, trace: Path | None) -> Outcome:
    with patient_progress(f"executing {made.slots:,} slots", made.slots) as update:

        def watch(event: Event) -> None:
            update(event.slot, f"{event.pending:,} packets pending")

        return made.execute([watch]) if trace is None else made.write_trace(trace, [watch])


def _draw(schedule: Schedule, path: Path) -> None:
    from popsnet.plots.schedule import draw_schedule
    from popsnet.plots.style import save_one

    with patient_progress(f"drawing {path.name}", None):
        save_one(draw_schedule(schedule), path)


def _facts(made: Scheduled, outcome: Outcome, seconds: float) -> dict[str, Any]:
    demand, bound = made.demand, made.lower_bound
    network = demand.network
    couplers = made.slots * network.couplers
    usable = made.slots * min(network.couplers, network.n)
    return {
        "network": {"d": network.d, "g": network.g, "n": network.n},
        "packets": demand.packets,
        "most_of_a_processor": demand.h,
        "most_of_a_group": demand.degree,
        "slots": made.slots,
        "lower_bound": bound,
        "gap": made.slots - bound,
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
