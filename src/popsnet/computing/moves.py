"""Programs for values on POPS: moves of a hypercube, data sum, prefix sums, sorting networks."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.routing.deterministic.exchange import swap_values
from popsnet.routing.deterministic.pairs import pair_up
from popsnet.schedules.bounds import permutation_slots
from popsnet.slot import Inbox, Slot
from popsnet.sorting import ComparatorNetwork

Values: TypeAlias = npt.NDArray[Any]
Steps: TypeAlias = Generator[Slot, Inbox, Values]
"""Yields slots, is sent inboxes, and returns the value of every processor."""


def dimensions(network: Network) -> int:
    """Return the dimension m of a hypercube of n = 2^m processors, and refuse other n."""
    if network.n & (network.n - 1):
        raise InputError(
            f"{network}: n = {network.n} must be a power of two: a hypercube has 2^m processors."
        )
    return network.n.bit_length() - 1


def move_slots(network: Network) -> int:
    """Return the most slots of a move or a stage of comparators: one if d = 1, else 2⌈d/g⌉.

    As in Sahni, "The partitioned optical passive stars network: simulations and fundamental
    operations" (2000), where every move of a SIMD hypercube takes this many.
    """
    return permutation_slots(network)


def move(network: Network, values: Values, dimension: int) -> Steps:
    """Exchange values between processors whose numbers differ in one bit."""
    there = dimensions(network)
    if not there:
        raise InputError(
            f"{network} has one processor and no dimension to move along; choose a larger network."
        )
    if not 0 <= dimension < there:
        raise InputError(f"dimension = {dimension}: {network} has dimensions 0 to {there - 1}.")
    bit = np.int32(1 << dimension)
    low = network.processors
    low = low[low & bit == 0]
    pairs = pair_up(network, low, low | bit)
    heard: Values = yield from swap_values(pairs, values, f"dimension {dimension}: ")
    return heard


def add_all(network: Network, values: Values) -> Steps:
    """Compute the sum of all values at every processor, in log2 n moves."""
    for dimension in range(dimensions(network)):
        values = values + (yield from move(network, values, dimension))
    return values


def add_prefixes(network: Network, values: Values) -> Steps:
    """Compute prefix sums, the sum of values 0 … j at processor j, in log2 n moves.

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


def sort_values(network: Network, comparators: ComparatorNetwork, values: Values) -> Steps:
    """Send values through a comparator network whose wires are the processors.

    In each stage partners learn each other's value. The lower keeps the smaller value, the other
    the larger. For d > g a stage in which few take part may need fewer than 2⌈d/g⌉ slots.
    """
    values = values.copy()
    for number, stage in enumerate(comparators, start=1):
        pairs = pair_up(network, stage.low, stage.high)
        heard = yield from swap_values(pairs, values, f"stage {number}: ")
        low, high = pairs.low, pairs.high
        values[low] = np.minimum(values[low], heard[low])
        values[high] = np.maximum(values[high], heard[high])
    return values
