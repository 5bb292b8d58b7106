"""What all commands of ``popsnet adversary`` take and give in the same way."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table

from popsnet.cli.figures import require_figure, save_figure
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.permutations import require_permutation_file, write_permutation
from popsnet.slot import Ints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "at_least",
    "conclude",
    "draw",
    "narrow_table",
    "network_object",
    "print_table",
    "require_files",
    "rounds_of",
    "save_permutation",
]


def require_files(*, figure: Path | None = None, save: Path | None = None) -> None:
    """Refuse names that cannot be written to, before any work is done."""
    if save is not None:
        require_permutation_file(save)
    if figure is not None:
        if find_spec("matplotlib") is None:
            raise InputError(
                "A figure needs matplotlib, not installed here: pip install 'popsnet[plots]'"
            )
        require_figure(figure)


def draw(figure: Figure, path: Path, as_json: bool) -> None:
    """Write a figure under a name, as SVG and PNG."""
    written = save_figure(figure, path)
    if not as_json:
        typer.echo(f"The figure: {written[0]} and {written[1]}")


def at_least(number: float | str, cut: bool) -> str:
    """A number, or that it is at least so large, because the search or the run was cut."""
    return f"≥ {number}" if cut else str(number)


def save_permutation(path: Path | None, permutation: Ints | None, as_json: bool) -> None:
    """Write the permutation, if there is one and somebody wants it."""
    if path is not None and permutation is not None:
        write_permutation(path, permutation)
        if not as_json:
            typer.echo(f"The permutation: {path}")


def conclude(confirmed: bool, as_json: bool, text: str) -> None:
    """Say whether counting and the machine agree with what was promised; exit 1 if not."""
    if not as_json:
        typer.echo(f"Confirmed: {text}" if confirmed else f"NOT CONFIRMED: {text}")
    if not confirmed:
        raise typer.Exit(1)


def network_object(network: Network) -> dict[str, int]:
    """A network for JSON."""
    return {"d": network.d, "g": network.g, "n": network.n}


def narrow_table(*headings: str) -> Table:
    """A table that fits a terminal of 80 columns; all but the first column to the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="bold underline")
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    return table


def print_table(table: Table) -> None:
    """On standard output."""
    Console().print(table)


def rounds_of(most_slots: int) -> int:
    """Rounds of two slots."""
    if most_slots < 2 or most_slots % 2:
        raise InputError(
            f"--most-slots {most_slots}: rounds have two slots; give an even number from 2 on."
        )
    return most_slots // 2
