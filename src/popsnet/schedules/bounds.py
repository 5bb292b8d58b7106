"""The number of slots of the constructed schedule, and a lower bound for any schedule."""

from __future__ import annotations

import numpy as np

from popsnet.network import Network
from popsnet.schedules.demand import Demand


def offline_slots(demand: Demand) -> int:
    """Return the number of slots of the schedule that :func:`make_schedule` builds.

    Parameters
    ----------
    demand : Demand
        The packets to send.

    Returns
    -------
    int
        h for d = 1, else 2·max(h, ⌈Δ/g⌉), which is 2⌈d/g⌉ for a permutation.

    Notes
    -----
    Here h is the largest number of packets of a processor and Δ that of a group, sent or received.
    For the proof see :func:`popsnet.schedules.construction.assign_rounds`, and
    :func:`popsnet.schedules.colouring.colour_edges` for each round.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.schedules import Demand, offline_slots
    >>> offline_slots(Demand.of_permutation(Network(5, 2), np.arange(10)[::-1]))
    6
    """
    return demand.h if demand.network.d == 1 else 2 * demand.rounds


def permutation_slots(network: Network) -> int:
    """Return the slots of any known permutation: 1 for d = 1, else 2⌈d/g⌉."""
    return 1 if network.d == 1 else 2 * -(-network.d // network.g)


def lower_bound(demand: Demand) -> int:
    """Return a number of slots below which no schedule of this demand exists, by any path.

    Parameters
    ----------
    demand : Demand
        The packets to send.

    Returns
    -------
    int
        The lower bound.

    Notes
    -----
    Packets that start at their destinations need no slot. For the others, in T slots (1) a
    processor sends and receives at most T packets, (2) a group at most g·T, and (3) a coupler
    carries at most T. So of w packets from group a to b at most T take one hop, and the others at
    least two: the sum of all w + max(w - T, 0) is at most T·g·min(d, g), since in a slot each of g²
    couplers and n listeners has at most one packet. The bound is the least T that satisfies all
    three. O(m log m) time for m packets.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.schedules import Demand, lower_bound
    >>> lower_bound(Demand(Network(4, 4), np.array([0, 0, 1]), np.array([5, 6, 5])))
    2
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
