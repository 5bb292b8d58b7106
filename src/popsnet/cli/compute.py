"""``popsnet compute``: a move of a hypercube, data sum or prefix sums, on the machine."""

from __future__ import annotations

import json

import typer

from popsnet.computing import compute
from popsnet.network import Network

__all__ = ["compute_command"]


def compute_command(what: str, d: int, g: int, *, dimension: int, seed: int, as_json: bool) -> None:
    """Compute with random values, look at the result and print; exit 1 if it is wrong."""
    network = Network(d, g)
    done = compute(network, what, dimension=dimension, seed=seed)
    facts: dict[str, object] = {
        "network": {"d": d, "g": g, "n": network.n},
        "computed": what,
        "moves": done.moves,
        "slots": done.slots,
        "slots_of_a_move_in_the_literature": done.slots_per_move,
        "messages": done.messages,
        "collisions": done.collisions,
        "right": done.correct,
    }
    typer.echo(json.dumps(facts, indent=2) if as_json else _text(network, facts))
    if not done.correct:
        raise typer.Exit(1)


def _text(network: Network, facts: dict[str, object]) -> str:
    return (
        f"{facts['computed']} on {network}: {facts['moves']} moves of at most "
        f"{facts['slots_of_a_move_in_the_literature']} slots (Sahni), slots {facts['slots']}\n"
        f"{'OK: right' if facts['right'] else 'WRONG'}; messages {facts['messages']:,}, "
        f"collisions {facts['collisions']}"
    )
