"""Batcher's merge exchange: a network that sorts any number of keys."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from popsnet.sorting.comparators import ComparatorNetwork, ComparatorStage

__all__ = ["merge_exchange", "merge_exchange_depth"]


def merge_exchange(n: int) -> ComparatorNetwork:
    """Batcher's merge exchange on n wires, any n.

    Depth t(t + 1)/2 with t = ⌈log2 n⌉; size (t² - t + 4)·2^(t-2) - 1 for n = 2^t. It is proved to
    sort: Knuth, *The Art of Computer Programming* 3, 5.2.2, Algorithm M; Batcher, "Sorting networks
    and their applications", 1968. A stage takes O(n) time.
    """
    return ComparatorNetwork("merge-exchange", n, lambda: _stages(n))


def merge_exchange_depth(n: int) -> int:
    """The depth of the network, without making it."""
    t = (n - 1).bit_length()
    return t * (t + 1) // 2


def _stages(n: int) -> Iterator[ComparatorStage]:
    """Algorithm M; each pass through its step M3 is a stage."""
    top = 1 << (n - 1).bit_length() >> 1
    p = top
    while p:
        yield _comparators(n, p, 0, p)
        q = top
        while q != p:
            yield _comparators(n, p, p, q - p)
            q //= 2
        p //= 2


def _comparators(n: int, p: int, r: int, distance: int) -> ComparatorStage:
    """Compare i with i + distance, for all i whose bit p is as in r."""
    wires = np.arange(n - distance, dtype=np.int32)
    low = wires[(wires & p) == r]
    return ComparatorStage(low, low + np.int32(distance))
