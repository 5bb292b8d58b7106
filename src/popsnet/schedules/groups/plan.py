"""Plans: the slots and the relay group of every packet of a traffic matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.network import I32, I64
from popsnet.schedules.groups.split import Split


class GroupPlan(NamedTuple):
    """The slots of all packets of a traffic matrix, in row-major order of its entries.

    A coupler carries at most one packet in each slot, and a group sends and receives at most d.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.schedules.groups import plan_one_hop
    >>> plan = plan_one_hop(np.array([[0, 2], [1, 0]]), 1)
    >>> plan.slots, plan.first.tolist()
    (2, [0, 1, 0])
    """

    source: I32
    """The group that each packet starts in."""
    relay: I32
    """The group that passes it on, or -1 if it goes straight."""
    destination: I32
    """The group that it goes to."""
    first: I32
    """The slot of its first hop, counted from 0."""
    final: I32
    """The slot of its final hop; that of its first if it goes straight."""
    slots: int
    """The number of slots."""


def join_packets(divided: Split, straight: I32, firsts: I32, finals: I32, slots: int) -> GroupPlan:
    """Make a plan from the slots of straight packets, in row-major order, and of relayed ones.

    The relayed packets are in the order of the items of the split.
    """
    g = len(divided.straight)
    item = np.repeat(np.arange(len(divided.packets)), divided.packets)
    cell = divided.source[item].astype(np.int64) * g + divided.destination[item]
    counts = divided.straight.ravel() + np.bincount(cell, minlength=g * g)
    ends = np.cumsum(counts)
    order = np.argsort(cell, kind="stable")
    relayed = np.bincount(cell, minlength=g * g)
    ahead = np.cumsum(relayed) - relayed
    place = (ends - relayed - ahead)[cell[order]] + np.arange(len(order))
    relay = np.full(ends[-1], -1, dtype=np.int32)
    first, final = np.empty_like(relay), np.empty_like(relay)
    relay[place] = divided.relay[item[order]]
    goes_straight = relay < 0
    first[place], final[place] = firsts[order], finals[order]
    first[goes_straight] = final[goes_straight] = straight
    groups = packet_groups(counts.reshape(g, g))
    return GroupPlan(groups[0], relay, groups[1], first, final, slots)


def packet_groups(counts: I64) -> tuple[I32, I32]:
    """Return the source and destination group of every packet, in row-major order."""
    g = len(counts)
    row = np.repeat(np.arange(g, dtype=np.int32), counts.sum(axis=1))
    column = np.repeat(np.tile(np.arange(g, dtype=np.int32), g), counts.ravel())
    return row, column
