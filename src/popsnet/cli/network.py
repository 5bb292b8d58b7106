"""``popsnet network``: a sorting network, its measures, its diagram, and whether it sorts."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from popsnet.errors import InputError
from popsnet.files import require_writable, write_whole
from popsnet.progress import patient_progress
from popsnet.sorting import ComparatorNetwork, DepthGrowth, Examined, SortingVerdict, examine
from popsnet.sorting.growth import SMALLEST

__all__ = ["network_command"]

_SHOWN = 64


def network_command(
    name: str, n: int, *, seed: int, figure: Path | None, check: bool, growth: bool, as_json: bool
) -> None:
    """Print what is asked for; exit 1 if the network is found not to sort."""
    if figure is not None:
        _require_svg(figure)
    with patient_progress(f"examining {name}", None) as update:
        examined = examine(
            name, n, seed=seed, check=check, growth=growth, progress=lambda doing: update(0, doing)
        )
    if figure is not None:
        _draw(examined.network, figure)
    if as_json:
        typer.echo(json.dumps(_as_object(examined, figure), indent=2))
    else:
        _print_text(examined, figure)
    if examined.verdict is not None and not examined.verdict.sorts:
        raise typer.Exit(1)


def _require_svg(path: Path) -> None:
    if path.suffix != ".svg":
        raise InputError(f"--figure {path}: the diagram is an SVG file; give a name with .svg.")
    if find_spec("matplotlib") is None:
        raise InputError("The diagram needs matplotlib: pip install 'popsnet[plots]'")
    require_writable(path)


def _draw(network: ComparatorNetwork, path: Path) -> None:
    from popsnet.plots import draw_network, svg_text

    drawn = svg_text(draw_network(network))
    with write_whole(path) as file:
        file.write(drawn)


def _as_object(examined: Examined, figure: Path | None) -> dict[str, object]:
    network, verdict, growth = examined.network, examined.verdict, examined.growth
    return {
        "network": network.name,
        "wires": network.wires,
        "seed": examined.seed,
        "proved": examined.proved,
        "depth": network.depth,
        "size": network.size,
        "comparators_a_stage": {
            "min": examined.fewest, "mean": examined.mean, "max": examined.most,
        },
        "figure": None if figure is None else str(figure),
        "check": None if verdict is None else asdict(verdict),
        "growth": None if growth is None else _growth_as_object(growth),
    }  # fmt: skip


def _growth_as_object(growth: DepthGrowth) -> dict[str, object]:
    slope, intercept = growth.line
    return {
        "rows": [{**asdict(row), "batcher_depth": row.batcher} for row in growth.rows],
        "slope": slope,
        "intercept": intercept,
        "crossover_log2_n": growth.crossover,
    }


def _print_text(examined: Examined, figure: Path | None) -> None:
    network = examined.network
    typer.echo(f"{network.name} on {network.wires:,} wires, {examined.status}")
    sizes = f"{examined.fewest:,} to {examined.most:,} a stage, {examined.mean:,.1f} on average"
    each = f"; {sizes}" if network.depth else ""
    typer.echo(f"depth {network.depth:,}, size {network.size:,} comparators{each}")
    if figure is not None:
        typer.echo(f"Knuth diagram written to {figure}")
    if examined.growth is not None:
        _print_growth(examined.growth)
    if examined.verdict is not None:
        typer.echo(_in_words(examined.verdict))


def _print_growth(growth: DepthGrowth) -> None:
    table = Table("n", "depth of bag-tree", "of merge-exchange", "comparators of bag-tree")
    for column in table.columns:
        column.justify = "right"
    for row in growth.rows:
        table.add_row(f"2^{row.exponent}", f"{row.depth:,}", f"{row.batcher:,}", f"{row.size:,}")
    Console().print(table)
    slope, intercept = growth.line
    typer.echo(
        f"depth = {slope:.1f} log2 n {'-' if intercept < 0 else '+'} {abs(intercept):.0f} by least "
        f"squares from 2^{SMALLEST} on; extrapolated,\nit is below t(t + 1)/2 from log2 n = "
        f"{growth.crossover:.0f} on."
    )


def _in_words(verdict: SortingVerdict) -> str:
    if verdict.sorts and verdict.exhaustive:
        return (
            f"OK: all {verdict.inputs:,} inputs of zeros and ones are sorted, and so is every "
            "input, by the 0-1 principle."
        )
    if verdict.sorts:
        return (
            f"OK: {verdict.inputs:,} inputs of zeros and ones are sorted: random, nearly sorted, "
            "arranged, and sought by an adversary. That is a test, not a proof."
        )
    assert verdict.counterexample is not None
    digits = "".join(map(str, verdict.counterexample[:_SHOWN]))
    more = "…" if len(verdict.counterexample) > _SHOWN else ""
    return f"FAILED: this input is not sorted (wire 0 first): {digits}{more}"
