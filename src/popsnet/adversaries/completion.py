"""Permutations from the few packets whose destinations matter."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.slot import Ints

__all__ = ["complete"]


def complete(n: int, sources: Ints, destinations: Ints) -> npt.NDArray[np.int32]:
    """The permutation of [0, n) with these pairs, the others matched in rising order; O(n)."""
    permutation = np.full(n, -1, dtype=np.int32)
    permutation[sources] = destinations
    taken = np.zeros(n, dtype=np.bool_)
    taken[destinations] = True
    permutation[permutation < 0] = np.flatnonzero(~taken)
    return permutation
