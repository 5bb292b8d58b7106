"""``popsnet compute``: a move of a hypercube, data sum or prefix sums, on the machine."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import typer

from popsnet.coins import Coins
from popsnet.computing.computation import compute
from popsnet.computing.moves import add_all, add_prefixes, dimensions, move, move_slots
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.progress import patient_progress

__all__ = ["MOST_VALUES", "compute_command"]

MOST_VALUES = 2**20
_LARGEST = 1000
_KNOWN = ("move", "sum", "prefix-sums")
Values = npt.NDArray[Any]


def compute_command(what: str, d: int, g: int, *, dimension: int, seed: int, as_json: bool) -> None:
    """Compute with random values, look at the result and print; exit 1 if it is wrong."""
    network = Network(d, g)
    if what not in _KNOWN:
        raise InputError(f"There is no {what!r} to compute; choose one of {', '.join(_KNOWN)}.")
    if network.n > MOST_VALUES:
        raise InputError(f"n = {network.n:,}: give at most {MOST_VALUES:,} processors.")
    moves = 1 if what == "move" else dimensions(network)
    everybody = np.arange(network.n, dtype=np.int32)
    values = Coins(seed).draws(_LARGEST, "values to add", 0, everybody).astype(np.int64)
    steps = {"move": move(network, values, dimension), "sum": add_all(network, values)}
    chosen = steps.get(what) or add_prefixes(network, values)
    with patient_progress(f"computing on {network}", moves * move_slots(network)) as update:
        done = compute(network, chosen, update)
    right = bool(np.array_equal(done.values, _expected(what, values, dimension)))
    facts: dict[str, object] = {
        "network": {"d": d, "g": g, "n": network.n},
        "computed": what,
        "moves": moves,
        "slots": done.slots,
        "slots_of_a_move_in_the_literature": move_slots(network),
        "messages": done.messages,
        "collisions": done.collisions,
        "right": right,
    }
    typer.echo(json.dumps(facts, indent=2) if as_json else _text(network, facts))
    if not right:
        raise typer.Exit(1)


def _expected(what: str, values: Values, dimension: int) -> Values:
    if what == "prefix-sums":
        return np.cumsum(values)
    if what == "sum":
        return np.full_like(values, values.sum())
    partner = np.arange(len(values)) ^ (1 << dimension)
    moved: Values = values[partner]
    return moved


def _text(network: Network, facts: dict[str, object]) -> str:
    return (
        f"{facts['computed']} on {network}: {facts['moves']} moves of at most "
        f"{facts['slots_of_a_move_in_the_literature']} slots (Sahni), slots {facts['slots']}\n"
        f"{'OK: right' if facts['right'] else 'WRONG'}; messages {facts['messages']:,}, "
        f"collisions {facts['collisions']}"
    )
