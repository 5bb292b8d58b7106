"""Slot counts that are known exactly."""

from __future__ import annotations

from popsnet.errors import InputError
from popsnet.network import Network

__all__ = ["batcher_slots", "deterministic_slots"]


def deterministic_slots(network: Network) -> int:
    """Slots of the published deterministic router: 4k·lg² + 2k·lg + 21k + 3·lg + 7.

    Here k = d/g, a whole number, and lg = log2 g, with g a power of two. It is O((d/g)·log² g),
    for every permutation: the router of Datta and Soundaralakshmi (IEEE Transactions on Parallel
    and Distributed Systems, 2003), counted as Mei and Rizzi correct it in their section 4, with
    log n (1 + log n) / 2 stages of odd-even merge sort where log² n had been claimed.
    """
    d, g = network.d, network.g
    if d % g or g & (g - 1):
        raise InputError(
            f"{network}: the count is known for g a power of two and d a multiple of g."
        )
    k, lg = d // g, g.bit_length() - 1
    return 4 * k * lg**2 + 2 * k * lg + 21 * k + 3 * lg + 7


def batcher_slots(network: Network) -> int:
    """Slots of Batcher's merge exchange for d ≤ g: t(t + 1) with t = ⌈log2 n⌉, half for d = 1."""
    if network.d > network.g:
        raise InputError(f"{network}: batcher needs d <= g; use datta.")
    t = (network.n - 1).bit_length()
    return t * (t + 1) // (2 if network.d == 1 else 1)
