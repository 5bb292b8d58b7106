"""Any network of comparators in standard form: the smaller key always on the lower wire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from popsnet.slot import Ints
from popsnet.sorting.comparators import ComparatorStage

__all__ = ["standard_form"]


def standard_form(wires: int, pairs: Iterable[tuple[Ints, Ints]]) -> Iterator[ComparatorStage]:
    """Stages of pairs (smaller to, larger to), in any direction, as stages in standard form.

    Where a comparator points upwards the two wires change names from there on (Knuth, 5.3.4,
    exercise 16). Depth and size stay. If the network sorts, in whatever order it leaves the keys
    on its wires, the result sorts and leaves them in order: a sorted input passes it unchanged.
    """
    names = np.arange(wires, dtype=np.int32)
    for smaller, larger in pairs:
        low, high = names[smaller], names[larger]
        names[smaller], names[larger] = np.minimum(low, high), np.maximum(low, high)
        yield ComparatorStage(names[smaller], names[larger])
