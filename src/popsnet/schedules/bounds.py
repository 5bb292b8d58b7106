"""How many slots a demand takes by the construction, and how many it takes at least."""

from __future__ import annotations

import numpy as np

from popsnet.network import Network
from popsnet.schedules.demand import Demand


def offline_slots(demand: Demand) -> int:
    """Slots of the schedule: h for d = 1, else 2·max(h, ⌈Δ/g⌉); 2⌈d/g⌉ for a permutation.

    Here h is the most packets of a processor and Δ the most of a group, sent or received. Proof:
    see :func:`popsnet.schedules.construction.assign_rounds`, and ``colour_edges``, for each round.
    """
    return demand.h if demand.network.d == 1 else 2 * demand.rounds


def permutation_slots(network: Network) -> int:
    """1 for d = 1, else 2⌈d/g⌉: the slots of any permutation that all processors know."""
    return 1 if network.d == 1 else 2 * -(-network.d // network.g)


def lower_bound(demand: Demand) -> int:
    """No schedule of this demand has fewer slots, whatever way the packets take.

    Packets that are where they must be need nothing. Of the others T slots let (1) a processor
    send T and receive T, (2) a group send g·T and receive g·T, and (3) a coupler carry T.
    So of w packets from group a to b at most T go straight, and the rest take two hops or more:
    the sum of all w + max(w - T, 0) is at most T·g·min(d, g), as in a slot each of g² couplers and
    n listeners has one packet at most. The least T that agrees with all three. O(m log m).
    """
    network = demand.network
    moving = demand.source != demand.destination
    moved = Demand(network, demand.source[moving], demand.destination[moving])
    couplers = network.coupler(network.group(moved.destination), network.group(moved.source))
    _, loads = np.unique(couplers, return_counts=True)
    room = network.g * min(network.d, network.g)
    low = moved.rounds
    high = max(low, -(-2 * moved.packets // room))
    while low < high:
        slots = (low + high) // 2
        hops = moved.packets + int(np.maximum(loads - slots, 0).sum())
        low, high = (low, slots) if hops <= slots * room else (slots + 1, high)
    return low
