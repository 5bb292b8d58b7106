"""Which processors of their groups send, relay and receive the packets of a plan.

A processor sends at most one packet in a slot and receives at most one. For relays, draw an edge
for every packet from the slot in which the relay group receives it to the slot in which it sends
it: at most d edges meet, so d colours are enough (König, 1916), and a colour is a processor. Other
packets start and end at any processors that are still free in that slot, in turn.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.network import I32, I64, Network
from popsnet.programs.schedules.colouring.colouring import colour_edges
from popsnet.programs.schedules.groups.plan import GroupPlan
from popsnet.programs.schedules.schedule import PacketOrder, grouped

_NONE = -1


def give_processors(network: Network, plan: GroupPlan) -> tuple[I32, I32, I32]:
    """Choose the processors that send, relay and receive each packet.

    Parameters
    ----------
    network : Network
        The network that the plan was made for.
    plan : GroupPlan
        The slots and the groups of all packets.

    Returns
    -------
    source, relay, destination : array of int32
        The processors of every packet; ``relay`` is -1 if it goes straight.

    Notes
    -----
    Every plan can be executed: a group sends and receives at most d packets in a slot. Packets
    start and end at the processors of a group in turn. A packet that stays in its group goes to
    another processor, unless a single processor of the group is free in its slot.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules.groups.plan import plan_one_hop
    >>> from popsnet.programs.schedules.groups.processors import give_processors
    >>> plan = plan_one_hop(np.array([[1, 2], [1, 0]]), 2)
    >>> source, relay, destination = give_processors(Network(2, 2), plan)
    >>> plan.first.tolist(), source.tolist(), destination.tolist()
    ([0, 0, 1, 1], [0, 1, 0, 2], [1, 2, 3, 0])
    """
    relay = _relays(network, plan)
    seats = _Seats(np.empty_like(relay), relay, np.empty_like(relay))
    first, final = grouped(plan.first, plan.slots), grouped(plan.final, plan.slots)
    busy = np.full((2, network.n), _NONE, dtype=np.int32)
    _seat(network.d, plan, first, final, seats, busy, np.zeros((2, network.g), dtype=np.int64))
    return seats


def _relays(network: Network, plan: GroupPlan) -> I32:
    relay = np.full(len(plan.relay), _NONE, dtype=np.int32)
    relayed = np.flatnonzero(plan.relay >= 0)
    group = plan.relay[relayed]
    into, out_of = (
        np.unique(group * np.int64(plan.slots) + slot[relayed], return_inverse=True)[1]
        for slot in (plan.first, plan.final)
    )
    relay[relayed] = network.processor(group, colour_edges(into, out_of, network.d))
    return relay


class _Seats(NamedTuple):
    """The processors of every packet."""

    source: I32
    relay: I32
    destination: I32


@compiled
def _seat(
    d: int,
    plan: GroupPlan,
    first: PacketOrder,
    final: PacketOrder,
    seats: _Seats,
    busy: I32,
    turns: I64,
) -> None:
    """Choose sources and destinations, slot by slot; those of packets inside a group come first.

    ``busy`` has the last slot in which each processor sends and in which it receives, and ``turns``
    the next index of each group for either.
    """
    sending, receiving, from_group, to_group = busy[0], busy[1], plan.source, plan.destination
    source, relay, destination = seats
    for slot in range(plan.slots):
        starts = first.packets[first.bounds[slot] : first.bounds[slot + 1]]
        ends = final.packets[final.bounds[slot] : final.bounds[slot + 1]]
        for k in starts:
            if relay[k] != _NONE:
                receiving[relay[k]] = slot
        for k in ends:
            if relay[k] != _NONE:
                sending[relay[k]] = slot
        for inside in (True, False):
            for k in starts:
                if (from_group[k] == to_group[k]) == inside:
                    source[k] = _next(from_group[k], d, slot, sending, turns[0], _NONE)
            for k in ends:
                if (from_group[k] == to_group[k]) == inside:
                    b, avoided = to_group[k], source[k] if inside else _NONE
                    at = _next(b, d, slot, receiving, turns[1], avoided)
                    if at == _NONE and relay[k] == _NONE:  # another may send it
                        other = _next(b, d, slot, sending, turns[0], avoided)
                        if other != _NONE:
                            sending[avoided] = _NONE
                            source[k] = other
                    if at == _NONE:
                        at = _next(b, d, slot, receiving, turns[1], _NONE)
                    destination[k] = at


@compiled
def _next(group: int, d: int, slot: int, busy: I32, turns: I64, avoided: int) -> int:
    """Take the next processor of a group that is not busy, or return -1 if there is none."""
    index = turns[group]
    for _ in range(d):
        processor = int(group * d + index)
        index = index + 1 if index + 1 < d else 0
        if busy[processor] != slot and processor != avoided:
            busy[processor] = slot
            turns[group] = index
            return processor
    return _NONE
