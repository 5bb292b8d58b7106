"""Moves of a hypercube on POPS, and what is built of them: data sum and prefix sums."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.routing.deterministic.exchange import swap_values
from popsnet.routing.deterministic.pairs import pair_up
from popsnet.slot import Inbox, Slot

__all__ = ["add_all", "add_prefixes", "dimensions", "move", "move_slots"]

Values = npt.NDArray[Any]
Computation = Generator[Slot, Inbox, Values]


def dimensions(network: Network) -> int:
    """The dimension m of a hypercube of n = 2^m processors; refuses other n."""
    if network.n & (network.n - 1):
        raise InputError(
            f"{network}: n = {network.n} is no power of two, and a hypercube has 2^m processors."
        )
    return network.n.bit_length() - 1


def move_slots(network: Network) -> int:
    """Slots of a move at most: one for d = 1, else 2⌈d/g⌉.

    As in Sahni, "The partitioned optical passive stars network: simulations and fundamental
    operations" (2000), where every move of a SIMD hypercube takes as many.
    """
    return 1 if network.d == 1 else 2 * network.blocks


def move(network: Network, values: Values, dimension: int) -> Computation:
    """Along a dimension: processors whose numbers differ in that bit learn each other's value."""
    there = dimensions(network)
    if not there:
        raise InputError(f"{network} has one processor and no dimension to move along.")
    if not 0 <= dimension < there:
        raise InputError(f"dimension = {dimension}: {network} has dimensions 0 to {there - 1}.")
    bit = np.int32(1 << dimension)
    low = network.processors
    low = low[low & bit == 0]
    pairs = pair_up(network, low, low | bit)
    heard: Values = yield from swap_values(pairs, values, f"dimension {dimension}: ")
    return heard


def add_all(network: Network, values: Values) -> Computation:
    """Data sum: everybody has the sum of all in log2 n moves."""
    for dimension in range(dimensions(network)):
        values = values + (yield from move(network, values, dimension))
    return values


def add_prefixes(network: Network, values: Values) -> Computation:
    """Prefix sums: processor j has the sum of values 0 … j in log2 n moves.

    Each keeps the sum over its subcube so far, which it exchanges, and its own prefix within it:
    the upper half adds the sum of the lower.
    """
    processors = network.processors
    prefix, total = values, values
    for dimension in range(dimensions(network)):
        heard = yield from move(network, total, dimension)
        upper = processors >> dimension & 1 == 1
        prefix = np.where(upper, prefix + heard, prefix)
        total = total + heard
    return prefix
