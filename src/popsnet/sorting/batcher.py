"""Batcher's networks: merge exchange for any number of keys, the bitonic sorter, odd-even merge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.errors import InputError
from popsnet.slot import Ints
from popsnet.sorting.comparators import ComparatorNetwork, ComparatorStage


def merge_exchange(n: int) -> ComparatorNetwork:
    """Batcher's merge exchange on n wires, any n.

    Depth t(t + 1)/2 with t = ⌈log2 n⌉; size (t² - t + 4)·2^(t-2) - 1 for n = 2^t. It is proved to
    sort: Knuth, *The Art of Computer Programming* 3, 5.2.2, Algorithm M; Batcher, "Sorting networks
    and their applications", 1968. A stage takes O(n) time.
    """
    return ComparatorNetwork("merge-exchange", n, lambda: _merge_exchange_stages(n))


def merge_exchange_depth(n: int) -> int:
    """The depth of the network, without making it."""
    t = (n - 1).bit_length()
    return t * (t + 1) // 2


class Certified(NamedTuple):
    """Keys in order, and which rows of the batch needed the second network."""

    keys: npt.NDArray[Any]
    repaired: npt.NDArray[np.bool_]


def sort_certified(keys: npt.NDArray[Any], network: ComparatorNetwork) -> Certified:
    """Sort along the last axis by a network; what it leaves unsorted, by merge exchange.

    So the result is right even if the network is not proved to sort. Whether keys are in order is
    easily seen: each wire looks at its neighbour, or, in routing, each processor asks whether the
    packet it got is its own. A network that was only tested decides how long it takes, not what
    comes out.
    """
    done = network.sort(keys)
    repaired = np.asarray((done[..., :-1] > done[..., 1:]).any(axis=-1))
    if repaired.any():
        done[repaired] = merge_exchange(network.wires).sort(done[repaired])
    return Certified(done, repaired)


def _merge_exchange_stages(n: int) -> Iterator[ComparatorStage]:
    """Algorithm M; each pass through its step M3 is a stage."""
    top = 1 << (n - 1).bit_length() >> 1
    for p in _halves(top):
        yield _comparators(n, p, 0, p)
        for q in _halves(top):
            if q > p:
                yield _comparators(n, p, p, q - p)


def _comparators(n: int, p: int, r: int, distance: int) -> ComparatorStage:
    """Compare i with i + distance, for all i whose bit p is as in r."""
    wires = np.arange(n - distance, dtype=np.int32)
    low = wires[(wires & p) == r]
    return ComparatorStage(low, low + np.int32(distance))


def _halves(power: int) -> Iterator[int]:
    """A power of two, then its half, and so on to 1."""
    while power:
        yield power
        power //= 2


def odd_even_merge(run: int) -> Iterator[ComparatorStage]:
    """The stages that merge wires [0, run) with [run, 2·run), run a power of two; 1 + log2 run.

    First a wire is compared with its counterpart in the other run, then at distances run/2, run/4,
    …, 1 (Knuth, *The Art of Computer Programming* 3, 5.3.4).
    """
    low = np.arange(run, dtype=np.int32)
    yield ComparatorStage(low, low + run)
    for distance in _halves(run // 2):
        wires = np.arange(distance, 2 * run - distance, dtype=np.int32)
        low = wires[wires // distance % 2 == 1]
        yield ComparatorStage(low, low + distance)


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
    return ComparatorNetwork("bitonic", n, lambda: _bitonic_stages(n))


def _bitonic_stages(n: int) -> Iterator[ComparatorStage]:
    wires = np.arange(n, dtype=np.int32)
    block = 2
    while block <= n:
        yield _pairs(wires, wires ^ np.int32(block - 1))
        for distance in _halves(block // 4):
            yield _pairs(wires, wires ^ np.int32(distance))
        block *= 2


def _pairs(wires: Ints, partners: Ints) -> ComparatorStage:
    low = wires[wires < partners]
    return ComparatorStage(low, partners[low])
