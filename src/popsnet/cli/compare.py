"""``popsnet compare``: every router on the same permutations."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from popsnet.cli.progress import patient_progress
from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.experiments.comparison import Compared, Comparison, compare_routers
from popsnet.files import require_writable
from popsnet.network import Network
from popsnet.trace import Event

__all__ = ["compare_command"]

_PICTURES = (".svg", ".png")


def compare_command(
    d: int, g: int, *, runs: int, seed: int, figure: Path | None, as_json: bool
) -> None:
    """Run and print; exit 1 if a router has lost packets."""
    Coins(seed)  # refuses what is no seed
    network = Network(d, g)
    if figure is not None:
        _require_picture(figure)
    with patient_progress(f"routing on {network}", None) as update:

        def watch(name: str, event: Event) -> None:
            update(0, f"{name}, slot {event.slot:,}")

        found = compare_routers(network, runs, seed, watch)
    if figure is not None:
        _draw(found, figure)
    if as_json:
        typer.echo(json.dumps(_as_object(found, figure), indent=2))
    else:
        _print_text(Console(), found, figure)
    if any(one.failed for one in found.done):
        raise typer.Exit(1)


def _require_picture(path: Path) -> None:
    if path.suffix.lower() not in _PICTURES:
        raise InputError(f"--figure {path}: the name must end in {' or '.join(_PICTURES)}.")
    if find_spec("matplotlib") is None:
        raise InputError("--figure needs matplotlib, not installed: pip install 'popsnet[plots]'")
    require_writable(path)


def _draw(found: Comparison, path: Path) -> None:
    from popsnet.plots.comparison import Mark, draw_comparison
    from popsnet.plots.style import save_one

    marks = [
        Mark(one.router.name, one.mean_slots, one.worst_slots, one.router.online)
        for one in found.done
    ]
    title = f"{found.network}, {found.runs} random permutations"
    save_one(draw_comparison(title, marks, found.lower_bound), path)


def _row(one: Compared) -> dict[str, Any]:
    ran = one.outcomes
    return {
        "router": one.router.name,
        "variant": one.variant,
        "online": one.router.online,
        "randomness": one.router.randomness,
        "mean_slots": one.mean_slots if ran else None,
        "worst_slots": one.worst_slots if ran else None,
        "mean_collisions": mean(run.collisions for run in ran) if ran else None,
        "peak_buffers": max(run.peak_buffers or 0 for run in ran) if ran else None,
        "control_bits": max(run.control_bits or 0 for run in ran) if ran else None,
        "capped": one.capped if ran else None,
        "lost": sum(run.lost for run in ran) if ran else None,
        "expected_slots": one.expected.slots if one.expected else None,
    }


def _as_object(found: Comparison, figure: Path | None) -> dict[str, Any]:
    network = found.network
    return {
        "network": {"d": network.d, "g": network.g, "n": network.n},
        "runs": found.runs,
        "lower_bound": found.lower_bound,
        "routers": [_row(one) for one in found.done],
        "left_out": [_row(one) for one in found.left_out],
        "figure": None if figure is None else str(figure),
    }


def _print_text(console: Console, found: Comparison, figure: Path | None) -> None:
    table = Table(title=f"{found.network}: {found.runs} random permutations, the same for all")
    for name in ("router", "slots, mean", "worst", "collisions", "buffers"):
        table.add_column(name, justify="left" if name == "router" else "right")
    table.add_column("coins", overflow="fold")
    table.add_column("on-line")
    for one in found.done:
        row = _row(one)
        least = "≥ " if one.capped else ""  # a capped run is cut
        figures = (
            f"{least}{row['mean_slots']:,.1f}", f"{least}{row['worst_slots']:,}",
            f"{row['mean_collisions']:,.1f}", f"{row['peak_buffers']}",
        )  # fmt: skip
        coins = Text(one.router.randomness)
        table.add_row(one.router.name, *figures, coins, "yes" if row["online"] else "no")
    console.print(table)
    typer.echo(f"Lower bound for any schedule of these permutations, mean: {found.lower_bound:.1f}")
    for one in found.left_out:
        assert one.expected is not None
        typer.echo(f"Left out: {one.router.name}, {one.expected.slots:,.0f} slots expected.")
    if figure is not None:
        typer.echo(f"Picture written to {figure}.")
