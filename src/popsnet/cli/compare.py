"""``popsnet compare``: every router on the same permutations."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from popsnet.advice.comparison import Comparison, compare
from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.files import require_writable
from popsnet.network import Network

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
    found = compare(network, runs=runs, seed=seed)
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


def _as_object(found: Comparison, figure: Path | None) -> dict[str, Any]:
    network = found.network
    return {
        "network": {"d": network.d, "g": network.g, "n": network.n},
        "runs": found.runs,
        "lower_bound": found.lower_bound,
        "routers": found.to_records(),
        "left_out": [one.to_record() for one in found.left_out],
        "figure": None if figure is None else str(figure),
    }


def _print_text(console: Console, found: Comparison, figure: Path | None) -> None:
    table = Table(title=f"{found.network}: {found.runs} random permutations, the same for all")
    for name in ("router", "slots, mean", "worst", "collisions", "buffers"):
        table.add_column(name, justify="left" if name == "router" else "right")
    table.add_column("coins", overflow="fold")
    table.add_column("on-line")
    for one in found.done:
        row = one.to_record()
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
