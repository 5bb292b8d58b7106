"""The bitonic sorter, for powers of two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from popsnet.errors import InputError
from popsnet.slot import Ints
from popsnet.sorting.comparators import ComparatorNetwork, ComparatorStage

__all__ = ["bitonic"]


def bitonic(n: int) -> ComparatorNetwork:
    """Batcher's bitonic sorter on n = 2^t wires: depth t(t + 1)/2, all n/2 comparators a stage.

    It is proved to sort (Batcher, "Sorting networks and their applications", 1968). In standard
    form the first stage of a merge compares wires that mirror each other, instead of sorting every
    other block downwards.
    """
    if n < 1 or n & (n - 1):
        raise InputError(
            f"n = {n}: the bitonic sorter needs a power of two; merge-exchange takes any n."
        )
    return ComparatorNetwork("bitonic", n, lambda: _stages(n))


def _stages(n: int) -> Iterator[ComparatorStage]:
    wires = np.arange(n, dtype=np.int32)
    block = 2
    while block <= n:
        yield _pairs(wires, wires ^ np.int32(block - 1))
        distance = block // 4
        while distance:
            yield _pairs(wires, wires ^ np.int32(distance))
            distance //= 2
        block *= 2


def _pairs(wires: Ints, partners: Ints) -> ComparatorStage:
    low = wires[wires < partners]
    return ComparatorStage(low, partners[low])
