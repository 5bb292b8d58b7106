"""Sorting values on the machine: one a processor, which has the j-th smallest in the end."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.network import Network
from popsnet.routing.deterministic.exchange import swap_values
from popsnet.routing.deterministic.pairs import pair_up
from popsnet.schedules.bounds import permutation_slots
from popsnet.slot import Inbox, Slot
from popsnet.sorting import ComparatorNetwork

__all__ = ["sort_slots", "sort_values"]

Values = npt.NDArray[Any]


def sort_slots(network: Network, depth: int) -> int:
    """Slots of a comparator network at most: 2⌈d/g⌉ a stage, or one for d = 1."""
    return depth * permutation_slots(network)


def sort_values(
    network: Network, comparators: ComparatorNetwork, values: Values
) -> Generator[Slot, Inbox, Values]:
    """Send values through a comparator network whose wires are the processors.

    In each stage partners learn each other's value; the lower keeps the smaller, the other the
    larger. A stage of d > g in which few take part may need less than 2⌈d/g⌉ slots.
    """
    values = values.copy()
    for number, stage in enumerate(comparators, start=1):
        pairs = pair_up(network, stage.low, stage.high)
        heard = yield from swap_values(pairs, values, f"stage {number}: ")
        low, high = pairs.low, pairs.high
        values[low] = np.minimum(values[low], heard[low])
        values[high] = np.maximum(values[high], heard[high])
    return values
