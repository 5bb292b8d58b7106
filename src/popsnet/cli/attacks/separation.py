"""``popsnet adversary separation``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer

from popsnet.adversaries import FAMILIES, Separation, measure_separation
from popsnet.cli.attacks.output import (
    at_least,
    conclude,
    draw,
    narrow_table,
    print_table,
    require_files,
    rounds_of,
)
from popsnet.progress import patient_progress

__all__ = ["separation_command"]


def separation_command(
    *, largest: int, runs: int, most_slots: int, figure: Path | None, as_json: bool
) -> None:
    """Both sides on all sizes, as a table and a figure; exit 1 if something is not confirmed."""
    rounds = rounds_of(most_slots)
    require_files(figure=figure)
    with patient_progress("attacking", None) as update:
        found = measure_separation(largest, runs, rounds, lambda what: update(0, what))
    if as_json:
        typer.echo(json.dumps({"points": [_as_object(one) for one in found]}, indent=2))
    else:
        _print_text(found)
    if figure is not None:
        _draw(figure, found, rounds, as_json)
    confirmed = all(one.confirmed for one in found)
    conclude(confirmed, as_json, "every permutation was executed, and its packet did not arrive.")


def _as_object(one: Separation) -> dict[str, object]:
    return {
        "g": one.network.g,
        "reached": one.reached,
        "guaranteed": one.guaranteed,
        "limits_reached": one.limits_reached,
        "randomized": {
            "runs": len(one.randomized),
            "capped": one.randomized_capped,
            "mean": None if one.randomized_capped else one.randomized_mean,
            "max": None if one.randomized_capped else one.randomized_max,
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
            str(one.guaranteed),
            at_least(f"{one.randomized_mean:.1f}", one.randomized_capped > 0),
            at_least(one.randomized_max, one.randomized_capped > 0),
            at_least(one.worst_max, one.worst_capped > 0),
        )
    print_table(table)
    typer.echo(
        "Slots T after which a packet has not arrived, against each algorithm; what is proved "
        "against any; and the slots that the randomized one takes: the mean and the most on "
        "random permutations, and the most on those built."
    )


def _draw(path: Path, found: Sequence[Separation], rounds: int, as_json: bool) -> None:
    from popsnet.plots import draw_separation

    figure = draw_separation(
        [one.network.g for one in found],
        {name: [one.attacks[name].slots for one in found] for name in FAMILIES},
        [one.guaranteed for one in found],
        [one.randomized_mean for one in found],
        limit=2 * rounds,
        capped=[one.randomized_capped > 0 for one in found],
    )
    draw(figure, path, as_json)
