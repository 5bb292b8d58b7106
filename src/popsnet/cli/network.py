"""``popsnet network``: a sorting network, its measures, its diagram, and whether it sorts."""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from statistics import mean

import typer
from rich.console import Console
from rich.table import Table

from popsnet.errors import InputError
from popsnet.files import require_writable, write_whole
from popsnet.progress import patient_progress
from popsnet.sorting import (
    NETWORKS,
    ComparatorNetwork,
    DepthGrowth,
    SortingVerdict,
    check_network,
    make_network,
    measure_growth,
)
from popsnet.sorting.growth import SMALLEST

__all__ = ["MOST_WIRES", "network_command"]

MOST_WIRES = 2**20
_SHOWN = 64


def network_command(
    name: str, n: int, *, seed: int, figure: Path | None, check: bool, growth: bool, as_json: bool
) -> None:
    """Print what is asked for; exit 1 if the network is found not to sort."""
    if n > MOST_WIRES:
        raise InputError(f"n = {n:,}: give at most {MOST_WIRES:,} wires.")
    network = make_network(name, n, seed)
    if figure is not None:
        _draw(network, figure)
    grown = _measure(name, n) if growth else None
    verdict = _check(network, seed) if check else None
    if as_json:
        typer.echo(json.dumps(_as_object(network, seed, figure, verdict, grown), indent=2))
    else:
        _print_text(network, figure, verdict, grown)
    if verdict is not None and not verdict.sorts:
        raise typer.Exit(1)


def _draw(network: ComparatorNetwork, path: Path) -> None:
    if path.suffix != ".svg":
        raise InputError(f"--figure {path}: the diagram is an SVG file; give a name with .svg.")
    if find_spec("matplotlib") is None:
        raise InputError("The diagram needs matplotlib: pip install 'popsnet[plots]'")
    require_writable(path)
    from popsnet.plots import draw_network, svg_text

    drawn = svg_text(draw_network(network))
    with write_whole(path) as file:
        file.write(drawn)


def _measure(name: str, n: int) -> DepthGrowth:
    if name != "bag-tree":
        raise InputError(
            f"--growth compares bag-tree with merge-exchange; {name} is known exactly."
        )
    with patient_progress("making bag trees", None) as update:
        return measure_growth(
            n.bit_length() - 1, watch=lambda row: update(0, f"2^{row.exponent} wires")
        )


def _check(network: ComparatorNetwork, seed: int) -> SortingVerdict:
    with patient_progress(f"checking {network.name}", None) as update:
        return check_network(
            network, seed=seed, watch=lambda passes: update(0, f"{passes} passes done")
        )


def _as_object(
    network: ComparatorNetwork, seed: int, figure: Path | None, verdict: SortingVerdict | None,
    growth: DepthGrowth | None,
) -> dict[str, object]:  # fmt: skip
    sizes = network.stage_sizes
    return {
        "network": network.name,
        "wires": network.wires,
        "seed": seed,
        "proved": NETWORKS[network.name].proved,
        "depth": network.depth,
        "size": network.size,
        "comparators_a_stage": {
            "min": min(sizes, default=0), "mean": mean(sizes or [0]), "max": max(sizes, default=0),
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


def _print_text(
    network: ComparatorNetwork,
    figure: Path | None,
    verdict: SortingVerdict | None,
    growth: DepthGrowth | None,
) -> None:
    sizes = network.stage_sizes
    typer.echo(f"{network.name} on {network.wires:,} wires, {_known(network, verdict)}")
    each = (
        f"; {min(sizes):,} to {max(sizes):,} a stage, {mean(sizes):,.1f} on average"
        if sizes
        else ""
    )
    typer.echo(f"depth {network.depth:,}, size {network.size:,} comparators{each}")
    if figure is not None:
        typer.echo(f"Knuth diagram written to {figure}")
    if growth is not None:
        _print_growth(growth)
    if verdict is not None:
        typer.echo(_in_words(verdict))


def _known(network: ComparatorNetwork, verdict: SortingVerdict | None) -> str:
    """Whether it sorts, as far as that is known after the check, if there was one."""
    if verdict is not None and not verdict.sorts:
        return "which does not sort"
    if NETWORKS[network.name].proved:
        return "proved to sort"
    if verdict is not None and verdict.exhaustive:
        return "proved to sort by trying all inputs"
    return "not proved to sort"


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
