"""Strips of a network with d > g: at most g indices of every group, which can be sorted at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from popsnet.network import Network
from popsnet.sorting import merge_exchange_depth

__all__ = ["Strip", "datta_slots", "delivery_slots", "strips"]


class Strip(NamedTuple):
    """The processors with index ``first`` to first + width - 1, and so width·g wires."""

    first: int
    width: int


def strips(network: Network) -> Iterator[Strip]:
    """There are k = ⌈d/g⌉ strips; all have g indices but the last, which has the rest."""
    for first in range(0, network.d, network.g):
        yield Strip(first, min(network.g, network.d - first))


def delivery_slots(network: Network) -> int:
    """⌊(d + kg - k)/g⌋ slots in which all packets can go to the groups of their classes.

    A class has d packets, c_s of them in strip s, and ⌈c_s/g⌉ ≤ (c_s + g - 1)/g slots for them.
    """
    d, g = network.d, network.g
    k = -(-d // g)
    return (d + k * g - k) // g


def hops(network: Network) -> int:
    """Slots of an exchange: one where every processor has a coupler to every other, else two."""
    return 1 if network.d == 1 < network.g else 2


def datta_slots(network: Network) -> int:
    """Slots of our datta, on every permutation; k(4·lg² + 2·lg + 9) - ⌈k/g⌉ for d = kg, g = 2^lg.

    In general each strip of w indices takes two slots for each stage of merge exchange on wg wires
    and for the keys of neighbours (one slot if d = 1), and ⌈g/d⌉ + 1 slots, twice, to make
    reservations; then come the slots of delivery to class groups, and k slots home.
    """
    d, g = network.d, network.g
    k, reports = -(-d // g), -(-g // d)
    sorting = sum(hops(network) * (merge_exchange_depth(w * g) + 1) for _, w in strips(network))
    return sorting + 2 * k * (reports + 1) + delivery_slots(network) + k
