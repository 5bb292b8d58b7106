"""Processors for plans between groups: which one sends, relays and receives each packet."""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import Network
from popsnet.schedules.colouring.colouring import colour_edges
from popsnet.schedules.groups.plan import I32, I64, GroupPlan


def give_processors(network: Network, plan: GroupPlan, *, seed: int = 0) -> tuple[I32, I32, I32]:
    """Choose the source, the relay and the destination of every packet of a plan.

    Parameters
    ----------
    network : Network
        The network.
    plan : GroupPlan
        The plan, in which a group sends and receives at most d packets per slot.
    seed : int
        The random seed of the colouring.

    Returns
    -------
    tuple of three arrays of int32
        The processors of every packet; the relay is -1 for one that goes straight. In a slot every
        processor sends at most one packet, and receives at most one.

    Notes
    -----
    At a relay group every relayed packet is an edge from the slot in which it comes to the slot in
    which it leaves. The degrees are at most d, so there is a colouring with d colours, and the
    colour is the processor. All other packets take processors that are free in their slot, in turn,
    so that those of a group start with about equally many. A packet from a group to itself takes
    two different processors, where possible.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.schedules.groups import give_processors, plan_one_hop
    >>> plan = plan_one_hop(np.array([[0, 4], [2, 0]]), 2)
    >>> give_processors(Network(2, 2), plan)[0].tolist()
    [0, 1, 0, 1, 2, 3]
    """
    g, slots = network.g, plan.slots
    relayed = np.flatnonzero(plan.relay >= 0)
    through, first, final = (one[relayed] for one in (plan.relay, plan.first, plan.final))
    at = through.astype(np.int64) * slots
    ends = (np.unique(at + one, return_inverse=True)[1].astype(np.int32) for one in (first, final))
    index = colour_edges(*ends, network.d, seed=seed) if len(relayed) else through
    relays = network.processor(through, index)
    nowhere = np.full(len(plan.first), -1, dtype=np.int32)
    source = _deal(plan.source, plan.first, relays, final, nowhere, network.d, g, slots)
    inside = plan.source == plan.destination
    apart = np.where(inside, source, nowhere).astype(np.int32)
    destination = _deal(plan.destination, plan.final, relays, first, apart, network.d, g, slots)
    relay = nowhere
    relay[relayed] = relays
    return source, relay, destination


@compiled
def _deal(
    groups: I32, at: I32, busy: I32, busy_at: I32, apart: I32, d: int, g: int, slots: int
) -> I32:
    """Give every packet a processor of its group that is free in its slot.

    ``busy`` are processors that have something else to do in the slots ``busy_at``, and a packet
    does not take the processor ``apart``, if there is another.
    """
    order, bounds = _by_slot(at, slots)
    others, ends = _by_slot(busy_at, slots)
    taken, turn = np.full(g * d, -1, dtype=np.int32), np.zeros(g, dtype=np.int64)
    given = np.empty(len(groups), dtype=np.int32)
    for slot in range(slots):
        for k in others[ends[slot] : ends[slot + 1]]:
            taken[busy[k]] = slot
        for p in order[bounds[slot] : bounds[slot + 1]]:
            base, index, steps = np.int64(groups[p]) * d, turn[groups[p]], 0
            while steps < d and (taken[base + index] == slot or base + index == apart[p]):
                index = index + 1 if index + 1 < d else 0
                steps += 1
            chosen = apart[p] if steps == d else np.int32(base + index)
            given[p], taken[chosen] = chosen, slot
            turn[groups[p]] = (chosen - base + 1) % d
    return given


@compiled
def _by_slot(at: I32, slots: int) -> tuple[I64, I64]:
    """Return the positions ordered by slot, and where each slot begins."""
    bounds = np.zeros(slots + 1, dtype=np.int64)
    for slot in at:
        bounds[slot + 1] += 1
    bounds[:] = np.cumsum(bounds)
    order, free = np.empty(len(at), dtype=np.int64), bounds[:-1].copy()
    for k in range(len(at)):
        order[free[at[k]]] = k
        free[at[k]] += 1
    return order, bounds
