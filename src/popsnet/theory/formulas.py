"""Slot counts that are known exactly."""

from __future__ import annotations

import numpy as np

from popsnet.errors import InputError
from popsnet.network import Network

__all__ = [
    "batcher_slots",
    "census_slots",
    "datta_slots",
    "delivery_slots",
    "deterministic_slots",
    "rank_slots",
]


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


def delivery_slots(network: Network) -> int:
    """⌊(d + kg - k)/g⌋ slots in which all packets of datta can go to the groups of their classes.

    A class has d packets, c_s of them in strip s, and ⌈c_s/g⌉ ≤ (c_s + g - 1)/g slots for them.
    """
    d, g = network.d, network.g
    k = network.blocks
    return (d + k * g - k) // g


def datta_slots(network: Network) -> int:
    """Slots of our datta, on every permutation; k(4·lg² + 2·lg + 9) - ⌈k/g⌉ for d = kg, g = 2^lg.

    In general each strip of w ≤ g indices takes two slots for each stage of merge exchange on wg
    wires and for the keys of neighbours (one slot if d = 1), and ⌈g/d⌉ + 1 slots, twice, to make
    reservations; then come the slots of delivery to class groups, and k = ⌈d/g⌉ slots home.
    """
    d, g = network.d, network.g
    k, reports = network.blocks, -(-g // d)
    hops = 1 if d == 1 < g else 2
    widths = (min(g, d - first) for first in range(0, d, g))
    stages = sum(_merge_exchange_depth(width * g) + 1 for width in widths)
    return hops * stages + 2 * k * (reports + 1) + delivery_slots(network) + k


def _merge_exchange_depth(wires: int) -> int:
    t = (wires - 1).bit_length()
    return t * (t + 1) // 2


def rank_slots(network: Network) -> int:
    """N, the slots for numbered packets: k and four standard deviations, and more on many couplers.

    The packets that one group has for another are nearly Poisson with mean k. N is such that by
    Bernstein's bound one of the g² numbers is larger in fewer than one run in five.
    """
    k, room = network.d // network.g, np.log(5 * network.couplers)
    return int(np.ceil(k + room / 3 + np.sqrt(room * room / 9 + 2 * k * room)))


def census_slots(network: Network) -> int:
    """2k + N + 2⌈log2 g⌉ + 3 slots of a census of one round, with the seed; g divides d = kg."""
    d, g = network.d, network.g
    if d % g:
        raise InputError(f"{network}: the census needs d to be a multiple of g.")
    return 2 * (d // g) + rank_slots(network) + 2 * (g - 1).bit_length() + 3
