"""``popsnet adversary average``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from popsnet.adversaries import PATH_SYSTEMS, Average, measure_congestion
from popsnet.adversaries.execution import sizes_to
from popsnet.adversaries.oblivious.congestion import curve
from popsnet.cli.attacks.output import (
    draw,
    narrow_table,
    print_table,
    require_files,
)
from popsnet.coins import Coins
from popsnet.network import Network
from popsnet.progress import patient_progress
from popsnet.theory.lower_bounds import guaranteed_congestion

__all__ = ["average_command"]

Worst = dict[str, dict[int, int]]


def average_command(
    *, largest: int, runs: int, seed: int, worst: int, figure: Path | None, as_json: bool
) -> None:
    """Count random permutations on all path systems, print means, draw them."""
    sizes = sizes_to(largest)
    require_files(figure=figure)
    Coins(seed)  # refuse what is no seed
    with patient_progress("congestion", len(sizes) * len(PATH_SYSTEMS)) as update:
        averages = measure_congestion(
            largest, runs, seed, worst, lambda done, total, doing: update(done, doing)
        )
    built: Worst = {}
    for one in averages:
        if one.worst is not None:
            built.setdefault(one.paths, {})[one.network.g] = one.worst
    if as_json:
        typer.echo(json.dumps({"points": _points(averages)}, indent=2))
    else:
        _print_text(sizes, averages, built)
    if figure is not None:
        _draw(figure, sizes, averages, built, as_json)


def _points(averages: Sequence[Average]) -> list[dict[str, object]]:
    return [
        {
            "g": one.network.g,
            "paths": one.paths,
            "runs": len(one.counted),
            "mean_congestion": one.mean,
            "standard_error": one.error,
            "log_g_over_log_log_g": one.curve,
            "worst_congestion": one.worst,
        }
        for one in averages
    ]


def _print_text(sizes: Sequence[int], averages: Sequence[Average], built: Worst) -> None:
    table = narrow_table("g = d", *PATH_SYSTEMS, "curve")
    for g in sizes:
        means = [f"{one.mean:.2f}" for one in averages if one.network.g == g]
        table.add_row(str(g), *means, f"{curve(g):.2f}")
    typer.echo("Congestion of random permutations, mean; the curve is log g / log log g.")
    print_table(table)
    if not built:
        return
    table = narrow_table("g = d", *PATH_SYSTEMS, "any")
    for g in next(iter(built.values())):
        worst = [str(built[name][g]) for name in PATH_SYSTEMS]
        table.add_row(str(g), *worst, str(guaranteed_congestion(Network(g, g))))
    typer.echo("\nCongestion of the worst permutation, and what is proved for any path system.")
    print_table(table)


def _draw(
    path: Path, sizes: Sequence[int], averages: Sequence[Average], built: Worst, as_json: bool
) -> None:
    from popsnet.plots import Line, draw_congestion

    means = []
    for look, name in enumerate(PATH_SYSTEMS):
        of = [one for one in averages if one.paths == name]
        y, errors = tuple(one.mean for one in of), tuple(one.error for one in of)
        means.append(Line(name, tuple(sizes), y, errors, look))
    means.append(Line("log g / log log g", tuple(sizes), tuple(map(curve, sizes))))
    worst = [
        Line(name, tuple(built[name]), tuple(built[name].values()), look=look)
        for look, name in enumerate(PATH_SYSTEMS)
        if name in built
    ]
    bound = tuple(guaranteed_congestion(Network(g, g)) for g in sizes)
    worst.append(Line("the bound for every path system", tuple(sizes), bound))
    draw(draw_congestion(worst, means), path, as_json)
