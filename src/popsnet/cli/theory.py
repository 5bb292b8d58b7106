"""``popsnet theory``: predictions, bounds and tails on a network, and what runs say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from math import expm1
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from popsnet.cli.figures import require_figure, save_figure
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.network import Network
from popsnet.routing import all_bounds
from popsnet.routing.relay import plan
from popsnet.runs.phase_analysis import analyse_phases
from popsnet.runs.route import route
from popsnet.stats.inference import summarize_counts
from popsnet.theory import (
    TAILS,
    C,
    bounds_on,
    c_with_slot_five,
    expected_steps,
    expected_sweeps,
    loads,
    lost_share,
    smallest_g,
)
from popsnet.theory.tails import square_fails

__all__ = ["theory_command"]

_LARGEST_PICTURE = 2**22
Row = dict[str, Any]


def theory_command(d: int, g: int, *, runs: int, figure: Path | None, as_json: bool) -> None:
    """Work out, run if asked to, print."""
    network = Network(d, g)
    if runs < 0:
        raise InputError(f"--runs {runs}: give 0 for theory alone, or a number of runs.")
    if figure is not None:
        _require_picture(network, figure)
    predictions, tail, steps = _predictions(network, runs)
    found = {
        "network": {"d": d, "g": g, "n": network.n},
        "predictions": predictions,
        "tail": tail,
        "constants": _constants(network),
        "bounds": _bounds(network),
        "tail_bounds": _tail_bounds(network, steps),
    }
    if figure is not None:
        found["figure"] = _draw(network, figure)
    if as_json:
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        _print_text(Console(), network, found)


def _require_picture(network: Network, figure: Path) -> None:
    if network.d < network.g or network.n > _LARGEST_PICTURE:
        raise InputError(
            f"{network}: --figure draws a run of mei-rizzi, which needs d >= g, with n up to "
            f"{_LARGEST_PICTURE:,}; give a smaller network."
        )
    require_figure(figure)


def _predictions(network: Network, runs: int) -> tuple[list[Row], list[Row], Counter[int]]:
    """What fluid limits say of each randomized router, and runs do; mei-rizzi's tail and steps."""
    rows, tail, measured = [], [], Counter[int]()
    if network.d >= network.g:
        steps = expected_steps(network)
        variant = "published" if network.d == network.g else "idealized"
        rows.append(_row("mei-rizzi", variant, steps, 5 * steps))
        measured = _measure(rows[-1], network, runs)
        tail = _tail(network, measured)
        sweeps = expected_sweeps(network)
        width = 2 * -(-network.d // network.g) + 1
        rows.append(_row("relay", "S", sweeps, 1 + width * sweeps))
        _measure(rows[-1], network, runs)
    best = plan(network)
    rows.append(_row("relay", str(best.schedule), None, best.slots))
    _measure(rows[-1], network, runs)
    return rows, tail, measured


def _row(router: str, variant: str, steps: float | None, slots: float) -> Row:
    return {"router": router, "variant": variant, "steps": steps, "slots": slots}


def _measure(row: Row, network: Network, runs: int) -> Counter[int]:
    """Add measured means to a row; the histogram of the steps."""
    if not runs:
        return Counter()
    names = {"router": row["router"], "variant": row["variant"]}
    done = route(network, runs=runs, **names).tally
    row["runs"] = runs
    row["measured_steps"] = summarize_counts(done.steps).mean
    row["measured_slots"] = summarize_counts(done.slots).mean
    return done.steps


def _tail(network: Network, measured: Counter[int]) -> list[Row]:
    """P(steps > s), by the fluid limit and in runs, while it is neither 1 nor 0."""
    runs, rows = measured.total(), []
    longest = max(measured, default=0)
    for steps, load in enumerate(islice(loads(network.d / network.g), 2000), start=1):
        fluid = -expm1(-load * network.couplers / 2)
        row = {"steps": steps, "fluid": fluid}
        if runs:
            row["measured"] = sum(n for s, n in measured.items() if s > steps) / runs
        if fluid < 1e-6 and steps >= longest:
            break
        if min(row.values()) < 0.9999:
            rows.append(row)
    return rows


def _constants(network: Network) -> Row:
    """The paper's constant, and what slot 5 makes of it."""
    ratio = network.d / network.g
    if ratio < 1:
        return {}
    return {"c": C, "c_with_slot_5": c_with_slot_five(ratio), "lost_share": lost_share(ratio)}


def _bounds(network: Network) -> list[Row]:
    fields = ("name", "kind", "formula", "holds", "conditions", "reference")
    found = bounds_on(network, all_bounds())
    return [
        {
            **{name: getattr(bound, name) for name in fields},
            "slots": slots,
            "leading": bound.leading,
        }
        for bound, slots in sorted(found, key=lambda one: one[0].kind == "lower")
    ]


def _tail_bounds(network: Network, measured: Counter[int]) -> list[Row]:
    """The paper's inequalities for this g, and from which g on they say anything."""
    rows = []
    for tail in TAILS if 1 < network.g <= network.d else ():
        steps = tail.steps(network.g) if tail.steps else None
        row: Row = {
            "statement": tail.name,
            "reference": tail.reference,
            "steps": steps,
            "fails_at_most": tail.fails(network.g),
            "says_something_from_g": smallest_g(tail.fails),
        }
        if measured and tail.fails is square_fails and steps and network.d == network.g:
            row["measured"] = sum(n for s, n in measured.items() if s > steps) / measured.total()
        rows.append(row)
    return rows


def _draw(network: Network, figure: Path) -> list[str]:
    from popsnet.plots import draw_phases

    run = Experiment(network.d, network.g).instance(0)
    strides = list(analyse_phases(network, run.array(), run.coins))
    return [str(path) for path in save_figure(draw_phases(strides), figure)]


def _print_text(console: Console, network: Network, found: dict[str, Any]) -> None:
    typer.echo(f"{network}: {network.n:,} processors in {network.g:,} groups of {network.d:,}\n")
    console.print(_table("Randomized routers, fluid limit", found["predictions"], _PREDICTED))
    if found["constants"]:
        one = found["constants"]
        typer.echo(
            f"c = e^(1 + 1/e) = {one['c']:.4f}; with slot 5 counted {one['c_with_slot_5']:.4f}; "
            f"the published protocol loses {100 * one['lost_share']:.1f} % of the packets.\n"
        )
    if found["tail"]:
        columns = _TAIL if "measured" in found["tail"][0] else _TAIL[:2]
        console.print(_table("mei-rizzi: the chance of more steps", found["tail"], columns))
    references = list(dict.fromkeys(row["reference"] for row in found["bounds"]))
    bounds = [
        {**row, "slots": _with_rest(row), "by": f"{references.index(row['reference']) + 1}"}
        for row in found["bounds"]
    ]
    console.print(_table("Bounds, in slots", bounds, _BOUND))
    for number, reference in enumerate(references, start=1):
        typer.echo(f"{number:>3}  {reference}")
    typer.echo()
    if found["tail_bounds"]:
        title = "The paper's tail bounds; from 1 on they say nothing"
        console.print(_table(title, found["tail_bounds"], _TAIL_BOUND))
    if "figure" in found:
        typer.echo(f"Written: {', '.join(found['figure'])}")


_PREDICTED = (
    ("router", "router"), ("variant", "variant"), ("steps", "steps"), ("slots", "slots"),
    ("measured_steps", "measured steps"), ("measured_slots", "slots"),
)  # fmt: skip
_TAIL = (("steps", "more than"), ("fluid", "fluid limit"), ("measured", "measured"))
_BOUND = (
    ("name", "what"), ("kind", ""), ("slots", "slots"), ("formula", "formula"),
    ("holds", "holds"), ("conditions", "for"), ("by", "by"),
)  # fmt: skip
_TAIL_BOUND = (
    ("statement", "statement"), ("steps", "in steps"), ("fails_at_most", "fails at most"),
    ("measured", "measured"), ("says_something_from_g", "below 1 from g ="),
    ("reference", "section"),
)  # fmt: skip


def _table(title: str, rows: Sequence[Row], columns: Sequence[tuple[str, str]]) -> Table:
    """The columns that any row has."""
    there = [(key, name) for key, name in columns if any(key in row for row in rows)]
    table = Table(title=title, title_justify="left")
    for key, name in there:
        text = any(isinstance(row.get(key), str) for row in rows)
        table.add_column(name, justify="left" if text else "right")
    for row in rows:
        table.add_row(*(_shown(row.get(key)) for key, _ in there))
    return table


def _with_rest(row: Row) -> str:
    return _shown(row["slots"]) + (" + …" if row["leading"] else "")


def _shown(value: object) -> str:
    match value:
        case None:
            return "–"
        case float():
            return f"{value:.3g}" if 0 < value < 0.1 or value >= 1e5 else f"{value:,.2f}"
        case int() if value >= 10**12:
            return f"{value:.2e}"
        case int():
            return f"{value:,}"
        case _:
            return str(value)
