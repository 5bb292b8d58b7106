"""``popsnet exact``: the exact law of the number of steps on a tiny network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.exact import Distribution, mei_rizzi_chain, relay_chain, solve
from popsnet.exact.chain import Chain, Progress
from popsnet.network import Network
from popsnet.permutations import find_permutation, make_permutation
from popsnet.progress import patient_progress

__all__ = ["exact_command"]

_QUANTILES = tuple(Fraction(part, 1000) for part in (500, 900, 990, 999))
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
    _require_choices(router, everybody, upto)
    destination = _destination(network, permutation)
    with patient_progress(f"exact chain of {router} on {network}", None) as update:

        def progress(known: int) -> None:
            update(known, f"{known:,} transitions of states")

        chain = _chain(network, router, destination, everybody, progress)
        law = solve(chain)
    facts = {"router": router, "permutation": permutation, "everybody": everybody}
    if as_json:
        typer.echo(json.dumps(_as_object(network, facts, law, upto), indent=2))
    else:
        _print_text(Console(), network, facts, law, upto)


def _require_choices(router: str, everybody: bool, upto: int | None) -> None:
    if router not in ("mei-rizzi", "relay"):
        raise InputError(f"--router {router}: exact chains are there for mei-rizzi and relay.")
    if everybody and router == "relay":
        raise InputError("--everybody is for mei-rizzi; in relay every packet always takes part.")
    if upto is not None and upto < 1:
        raise InputError(f"--upto {upto}: there would be nothing to list; give at least 1.")


def _destination(network: Network, permutation: str) -> list[int] | None:
    """None for the mean over all permutations."""
    find_permutation(permutation)
    if permutation == "keyed":
        raise InputError("--permutation keyed draws one; give random for all, a name or a file.")
    if permutation == "random":
        return None
    return [int(target) for target in make_permutation(permutation, network, Coins(0))]


def _chain(
    network: Network, router: str, destination: Sequence[int] | None, everybody: bool,
    progress: Progress,
) -> Chain:  # fmt: skip
    if router == "relay":
        return relay_chain(network, destination, progress=progress)
    return mei_rizzi_chain(network, destination, everybody=everybody, progress=progress)


def _slots(network: Network, router: str, steps: Fraction) -> Fraction:
    """Five a step; or one for the seed, and 2⌈d/g⌉ + 1 a stage."""
    return 5 * steps if router == "mei-rizzi" else 1 + (2 * -(-network.d // network.g) + 1) * steps


def _written(number: Fraction) -> str | None:
    """As n/d, or None if it is too long to be written."""
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS:
        return None
    return str(number)


def _listed(law: Distribution, upto: int | None) -> list[int]:
    """The numbers of steps that are listed: from the first that is possible."""
    last = len(law.within) - 1 if upto is None else min(upto, len(law.within) - 1)
    return [steps for steps in range(last + 1) if law.within[steps]]


def _as_object(
    network: Network, facts: dict[str, Any], law: Distribution, upto: int | None
) -> dict[str, Any]:
    slots = _slots(network, facts["router"], law.mean)
    return {
        "network": {"d": network.d, "g": network.g, "n": network.n},
        **facts,
        "law": _what(network, facts),
        "states": law.states,
        "mean": {"fraction": _written(law.mean), "decimal": float(law.mean)},
        "variance": {"fraction": _written(law.variance), "decimal": float(law.variance)},
        "sd": law.sd,
        "mean_slots": {"fraction": _written(slots), "decimal": float(slots)},
        "quantiles": {f"{float(part)}": law.quantile(part) for part in _QUANTILES},
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
    console: Console, network: Network, facts: dict[str, Any], law: Distribution, upto: int | None
) -> None:
    what = "steps" if facts["router"] == "mei-rizzi" else "stages"
    typer.echo(f"{network}: {facts['router']}, {_what(network, facts)}")
    typer.echo(f"{_over(facts['permutation'])}; {law.states:,} states up to the names of groups\n")
    slots = float(_slots(network, facts["router"], law.mean))
    label = f"mean {what}"
    typer.echo(f"{label:12} {_fraction(law.mean)}{float(law.mean):.6f}; {slots:.4f} slots")
    typer.echo(f"variance     {_fraction(law.variance)}{float(law.variance):.6f}; sd {law.sd:.6f}")
    found = [(float(100 * part), law.quantile(part)) for part in _QUANTILES]
    quantiles = ", ".join(f"{part:g} % within {s}" for part, s in found if s is not None)
    typer.echo(f"quantiles    {quantiles}\n")
    table = Table(what, "P(exactly)", "P(at most)", "P(more)")
    for column in table.columns:
        column.justify = "right"
    listed = _listed(law, upto)
    if not listed:
        fewest = next(steps for steps, within in enumerate(law.within) if within)
        typer.echo(f"--upto {upto} lists nothing: every run takes {fewest} {what} or more.")
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


def _what(network: Network, facts: dict[str, Any]) -> str:
    if facts["router"] == "relay":
        turned = ", turned from the fifth stage on" if network.d == network.g else ""
        return f"schedule S with ideal bijections{turned} (the router's own are nearly uniform)"
    if network.d == network.g:
        return "as published"
    law = "everybody takes part" if facts["everybody"] else "packets take part by the paper's law"
    same = "; deferred takes as many steps" if network.d % network.g == 0 else ""
    return f"idealized, {law} (the steps of published are the same{same})"
