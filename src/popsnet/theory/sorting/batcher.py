"""Batcher's networks: merge exchange for any number of keys, the bitonic sorter, odd-even merge."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import wrong
from popsnet.theory.sorting.comparators import ComparatorNetwork, ComparatorStage


def merge_exchange(n: int) -> ComparatorNetwork:
    """Build Batcher's merge exchange on n wires.

    Parameters
    ----------
    n : int
        The number of wires, any n ≥ 1.

    Returns
    -------
    ComparatorNetwork
        The network, which is proved to sort.

    Notes
    -----
    Depth t(t + 1)/2 with t = ⌈log2 n⌉; size (t² - t + 4)·2^(t-2) - 1 for n = 2^t. The proof is in
    Knuth, *The Art of Computer Programming* 3, 5.2.2, Algorithm M, and Batcher, "Sorting networks
    and their applications", 1968. Building a stage takes O(n) time.

    Examples
    --------
    >>> from popsnet.theory.sorting import merge_exchange
    >>> network = merge_exchange(16)
    >>> network.depth, network.size
    (10, 63)
    """
    return ComparatorNetwork("merge-exchange", n, lambda: _merge_exchange_stages(n))


def merge_exchange_depth(n: int) -> int:
    """Return the depth of merge exchange on n wires without building it.

    Parameters
    ----------
    n : int
        The number of wires.

    Returns
    -------
    int
        t(t + 1)/2 with t = ⌈log2 n⌉.

    Examples
    --------
    >>> from popsnet.theory.sorting import merge_exchange_depth
    >>> merge_exchange_depth(1024)
    55
    """
    t = (n - 1).bit_length()
    return t * (t + 1) // 2


class CertifiedSort(NamedTuple):
    """The outcome of :func:`sort_certified`.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.theory.sorting import bitonic, sort_certified
    >>> sort_certified(np.array([[3, 1], [1, 2]]), bitonic(2)).repaired.tolist()
    [False, False]
    """

    keys: npt.NDArray[Any]
    """The sorted keys."""
    repaired: npt.NDArray[np.bool_]
    """Which rows of the batch needed merge exchange."""


Certified = CertifiedSort
"""The old name."""


def sort_certified(keys: npt.NDArray[Any], network: ComparatorNetwork) -> CertifiedSort:
    """Sort along the last axis by a network, and by merge exchange if the result is not sorted.

    Parameters
    ----------
    keys : array
        A batch of keys; the last axis is that of the wires.
    network : ComparatorNetwork
        The network to use, proved to sort or not.

    Returns
    -------
    CertifiedSort
        The sorted keys, and which rows needed merge exchange.

    Notes
    -----
    The result is right even if the network is not proved to sort. Whether keys are in order is easy
    to check: each wire compares itself with its neighbour or, in routing, each processor checks
    whether it got its own packet. So a network that is only tested affects the time, but not the
    result.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.theory.sorting import bag_tree, sort_certified
    >>> keys, repaired = sort_certified(np.arange(100)[::-1], bag_tree(100))
    >>> keys[:3].tolist(), bool(repaired)
    ([0, 1, 2], False)
    """
    done = network.sort(keys)
    repaired = np.asarray((done[..., :-1] > done[..., 1:]).any(axis=-1))
    if repaired.any():
        done[repaired] = merge_exchange(network.wires).sort(done[repaired])
    return CertifiedSort(done, repaired)


def _merge_exchange_stages(n: int) -> Iterator[ComparatorStage]:
    """Yield the stages of Algorithm M; each pass through its step M3 is a stage."""
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


def _halves(power: int) -> list[int]:
    """Return a power of two, then its half, and so on down to 1; nothing for 0."""
    return [power >> k for k in range(int(power).bit_length())]


def odd_even_merge(run: int) -> Iterator[ComparatorStage]:
    """Yield the 1 + log2 run stages that merge wires [0, run) with [run, 2·run).

    ``run`` is a power of two. First each wire is compared with its counterpart in the other run,
    then at distances run/2, run/4, …, 1 (Knuth, *The Art of Computer Programming* 3, 5.3.4).
    """
    yield _comparators(2 * run, run, 0, run)
    for distance in _halves(run // 2):
        yield _comparators(2 * run, distance, distance, distance)


def bitonic(n: int) -> ComparatorNetwork:
    """Build Batcher's bitonic sorter on n = 2^t wires.

    Parameters
    ----------
    n : int
        The number of wires, a power of two.

    Returns
    -------
    ComparatorNetwork
        The network, which is proved to sort.

    Raises
    ------
    InputError
        If n is not a power of two.

    Notes
    -----
    Depth t(t + 1)/2, with n/2 comparators in every stage (Batcher, "Sorting networks and their
    applications", 1968). In standard form the first stage of a merge compares wires that mirror
    each other, instead of sorting every other block downwards.

    Examples
    --------
    >>> from popsnet.theory.sorting import bitonic
    >>> bitonic(8).stage_sizes
    (4, 4, 4, 4, 4, 4)
    """
    if n < 1 or n & (n - 1):
        raise wrong("n", n)(
            "the bitonic sorter needs a power of two. Use merge-exchange, which takes any n."
        )
    return ComparatorNetwork("bitonic", n, lambda: _bitonic_stages(n))


def _bitonic_stages(n: int) -> Iterator[ComparatorStage]:
    wires = np.arange(n, dtype=np.int32)
    for half in _halves(n // 2)[::-1]:
        low = wires[(wires & half) == 0]
        yield ComparatorStage(low, low ^ np.int32(2 * half - 1))
        for distance in _halves(half // 2):
            yield _comparators(n, distance, 0, distance)
