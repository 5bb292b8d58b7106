"""Batcher's odd-even merge of two sorted runs that lie side by side."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from popsnet.sorting.comparators import ComparatorStage

__all__ = ["odd_even_merge"]


def odd_even_merge(run: int) -> Iterator[ComparatorStage]:
    """The stages that merge wires [0, run) with [run, 2·run), run a power of two; 1 + log2 run.

    First a wire is compared with its counterpart in the other run, then at distances run/2, run/4,
    …, 1 (Knuth, *The Art of Computer Programming* 3, 5.3.4).
    """
    low = np.arange(run, dtype=np.int32)
    yield ComparatorStage(low, low + run)
    distance = run // 2
    while distance:
        wires = np.arange(distance, 2 * run - distance, dtype=np.int32)
        low = wires[wires // distance % 2 == 1]
        yield ComparatorStage(low, low + distance)
        distance //= 2
