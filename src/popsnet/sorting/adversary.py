"""An adversary: looks for inputs that keep a network busy to its last stages, and beyond."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from popsnet.coins import Coins
from popsnet.slot import Ints
from popsnet.sorting.comparators import ComparatorNetwork
from popsnet.sorting.samples import flip, sample
from popsnet.sorting.words import LANES, Bits, pack, send_through

POPULATION = 4 * LANES
"""Inputs of a round."""

_PARENTS = POPULATION // 4
_CHANGE = "zero-one adversary"


def attack(network: ComparatorNetwork, rounds: int, coins: Coins) -> Iterator[Bits | None]:
    """Round by round: an input that is not sorted, or None.

    It climbs: the quarter of the inputs that were in order last stay for the next round, each with
    three copies in which a few wires are changed. An input that fails is in order never.
    """
    inputs = np.empty((POPULATION, network.wires), dtype=np.bool_)
    for number in range(POPULATION):
        inputs[number] = sample(network.wires, number, coins)
    for number in range(rounds):
        unsorted, last = send_through(network, pack(inputs))
        if unsorted.any():
            yield inputs[np.argmax(unsorted)]
            return
        yield None
        _breed(inputs, np.argsort(-last, kind="stable"), number, coins)


def _breed(inputs: Bits, order: Ints, number: int, coins: Coins) -> None:
    """Put three changed copies of each of the first in place of the others, in order."""
    parents, others = order[:_PARENTS], order[_PARENTS:]
    for child, place in enumerate(others.tolist()):
        parent = inputs[parents[child % _PARENTS]]
        inputs[place] = flip(parent, _CHANGE, number * POPULATION + child, coins)
