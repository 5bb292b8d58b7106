"""Sorting that is always right with a network that is not proved to be.

Whether keys are in order is easily seen: each wire looks at its neighbour, or, in routing, each
processor asks whether the packet it got is its own. If anybody says no, the keys go through a
network that is proved. So the network that was only tested decides how long it takes, not what
comes out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.sorting.batcher import merge_exchange
from popsnet.sorting.comparators import ComparatorNetwork


class Certified(NamedTuple):
    """Keys in order, and which rows of the batch needed the second network."""

    keys: npt.NDArray[Any]
    repaired: npt.NDArray[np.bool_]


def sort_certified(keys: npt.NDArray[Any], network: ComparatorNetwork) -> Certified:
    """Sort along the last axis by a network; what it leaves unsorted, by merge exchange."""
    done = network.sort(keys)
    repaired = np.asarray((done[..., :-1] > done[..., 1:]).any(axis=-1))
    if repaired.any():
        done[repaired] = merge_exchange(network.wires).sort(done[repaired])
    return Certified(done, repaired)
