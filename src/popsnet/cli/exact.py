"""``popsnet exact``: the exact law of the number of steps on a tiny network."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.exact import Distribution, StepsDistribution, steps_distribution
from popsnet.network import Network
from popsnet.permutations import find_permutation, make_permutation
from popsnet.progress import patient_progress

__all__ = ["exact_command"]

_SHORT = 40
"""Digits of a numerator or denominator that a line of text has room for."""
_MOST_BITS = 14_000
"""Of a number that Python will still write in decimal, 4300 digits."""


def exact_command(
    d: int, g: int, *, router: str, permutation: str, everybody: bool, upto: int | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Solve the chain and print its law."""
    network = Network(d, g)
    if upto is not None and upto < 1:
        raise InputError(f"--upto {upto}: there would be nothing to list; give at least 1.")
    destination = _destination(network, permutation)
    with patient_progress(f"exact chain of {router} on {network}", None) as update:

        def progress(known: int) -> None:
            update(known, f"{known:,} transitions of states")

        law = steps_distribution(
            network, router, destination, everybody=everybody, progress=progress
        )
    if as_json:
        typer.echo(json.dumps(_as_object(law, permutation, upto), indent=2))
    else:
        _print_text(Console(), law, permutation, upto)


def _destination(network: Network, permutation: str) -> list[int] | None:
    """None for the mean over all permutations."""
    find_permutation(permutation)
    if permutation == "keyed":
        raise InputError("--permutation keyed draws one; give random for all, a name or a file.")
    if permutation == "random":
        return None
    return [int(target) for target in make_permutation(permutation, network, Coins(0))]


def _written(number: Fraction) -> str | None:
    """As n/d, or None if it is too long to be written."""
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS:
        return None
    return str(number)


def _listed(law: Distribution, upto: int | None) -> list[int]:
    """The numbers of steps that are listed: from the first that is possible."""
    last = len(law.within) - 1 if upto is None else min(upto, len(law.within) - 1)
    return [steps for steps in range(last + 1) if law.within[steps]]


def _as_object(law: StepsDistribution, permutation: str, upto: int | None) -> dict[str, Any]:
    network, slots = law.network, law.mean_slots
    return {
        "network": {"d": network.d, "g": network.g, "n": network.n},
        "router": law.router,
        "permutation": permutation,
        "everybody": law.everybody,
        "law": law.model,
        "states": law.states,
        "mean": {"fraction": _written(law.mean), "decimal": float(law.mean)},
        "variance": {"fraction": _written(law.variance), "decimal": float(law.variance)},
        "sd": law.sd,
        "mean_slots": {"fraction": _written(slots), "decimal": float(slots)},
        "quantiles": {f"{float(part)}": steps for part, steps in law.quantiles.items()},
        "steps": [
            {
                "steps": steps,
                "probability": _written(law.probability(steps)),
                "decimal": float(law.probability(steps)),
                "at_most": float(law.within[steps]),
            }
            for steps in _listed(law, upto)
        ],
    }


def _print_text(
    console: Console, law: StepsDistribution, permutation: str, upto: int | None
) -> None:
    what = law.unit
    typer.echo(f"{law.network}: {law.router}, {law.model}")
    typer.echo(f"{_over(permutation)}; {law.states:,} states up to the names of groups\n")
    slots = float(law.mean_slots)
    label = f"mean {what}"
    typer.echo(f"{label:12} {_fraction(law.mean)}{float(law.mean):.6f}; {slots:.4f} slots")
    typer.echo(f"variance     {_fraction(law.variance)}{float(law.variance):.6f}; sd {law.sd:.6f}")
    found = [(float(100 * part), steps) for part, steps in law.quantiles.items()]
    quantiles = ", ".join(f"{part:g} % within {s}" for part, s in found if s is not None)
    typer.echo(f"quantiles    {quantiles}\n")
    table = Table(what, "P(exactly)", "P(at most)", "P(more)")
    for column in table.columns:
        column.justify = "right"
    listed = _listed(law, upto)
    if not listed:
        typer.echo(f"--upto {upto} lists nothing: every run takes {law.fewest} {what} or more.")
        return
    for steps in listed:
        within = law.within[steps]
        chances = (float(law.probability(steps)), float(within), float(1 - within))
        table.add_row(f"{steps}", f"{chances[0]:.8f}", f"{chances[1]:.8f}", f"{chances[2]:.3g}")
    console.print(table)


def _fraction(number: Fraction) -> str:
    digits = len(text) if (text := _written(number)) is not None else None
    if digits is None or digits > 2 * _SHORT:
        return "a long fraction (see --json) ≈ "
    return f"{number} ≈ "


def _over(permutation: str) -> str:
    if permutation == "random":
        return "Exact over all permutations, equally likely, and all coins"
    return f"Exact over all coins, for permutation {permutation}"
