"""``popsnet adversary separation``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import typer

from popsnet.adversaries import FAMILIES, Separation, separation
from popsnet.adversaries.two_hop.separation import Needed
from popsnet.cli.attacks.output import (
    at_least,
    conclude,
    draw,
    narrow_table,
    print_table,
    require_files,
    rounds_of,
    sizes_to,
)
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.progress import patient_progress

__all__ = ["separation_command"]


def separation_command(
    *, largest: int, runs: int, most_slots: int, figure: Path | None, as_json: bool
) -> None:
    """Both sides on all sizes, as a table and a figure; exit 1 if something is not confirmed."""
    sizes, rounds = sizes_to(largest), rounds_of(most_slots)
    if runs < 1:
        raise InputError(f"runs = {runs}: the randomized algorithm runs once or more.")
    require_files(figure=figure)
    with patient_progress("attacking", None) as update:
        found = [
            separation(
                Network(g, g), list(FAMILIES.values()), runs, rounds, lambda what: update(0, what)
            )
            for g in sizes
        ]
    if as_json:
        typer.echo(json.dumps({"points": [_as_object(one) for one in found]}, indent=2))
    else:
        _print_text(found)
    if figure is not None:
        _draw(figure, found, as_json)
    confirmed = all(one.confirmed for one in found)
    conclude(confirmed, as_json, "every permutation was executed, and its packet did not arrive.")


def _as_object(one: Separation) -> dict[str, object]:
    return {
        "g": one.network.g,
        "reached": {name: attack.slots for name, attack in one.attacks.items()},
        "guaranteed": next(iter(one.attacks.values())).guaranteed,
        "limits_reached": [name for name, attack in one.attacks.items() if attack.at_limit],
        "randomized": {
            "runs": len(one.randomized),
            "capped": sum(run.capped for run in one.randomized),
            "mean": None if _capped(one.randomized) else _mean(one.randomized),
            "max": None if _capped(one.randomized) else max(one.randomized).slots,
            "on_the_permutations_built": [
                None if run.capped else run.slots for run in one.randomized_on_worst
            ],
        },
        "confirmed": one.confirmed,
    }


def _print_text(found: Sequence[Separation]) -> None:
    table = narrow_table("g = d", *FAMILIES, "any", "random", "max", "on built")
    for one in found:
        reached = [at_least(attack.slots, attack.at_limit) for attack in one.attacks.values()]
        table.add_row(
            str(one.network.g),
            *reached,
            str(next(iter(one.attacks.values())).guaranteed),
            at_least(f"{_mean(one.randomized):.1f}", _capped(one.randomized)),
            at_least(max(one.randomized).slots, _capped(one.randomized)),
            at_least(max(one.randomized_on_worst).slots, _capped(one.randomized_on_worst)),
        )
    print_table(table)
    typer.echo(
        "Slots T after which a packet has not arrived, against each algorithm; what is proved "
        "against any; and the slots that the randomized one takes: the mean and the most on "
        "random permutations, and the most on those built."
    )


def _capped(runs: Sequence[Needed]) -> bool:
    return any(run.capped for run in runs)


def _mean(runs: Sequence[Needed]) -> float:
    return fmean(run.slots for run in runs)


def _draw(path: Path, found: Sequence[Separation], as_json: bool) -> None:
    from popsnet.plots import draw_separation

    attacked = [next(iter(one.attacks.values())) for one in found]
    figure = draw_separation(
        [one.network.g for one in found],
        {name: [one.attacks[name].slots for one in found] for name in FAMILIES},
        [attack.guaranteed for attack in attacked],
        [_mean(one.randomized) for one in found],
        limit=2 * attacked[0].most_rounds,
        capped=[_capped(one.randomized) for one in found],
    )
    draw(figure, path, as_json)
