"""Schedules for packets whose sources and destinations are given: one hop, or up to two."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import word
from popsnet.model.coins import Coins
from popsnet.model.faults import WorkingParts
from popsnet.model.loops import plain_each
from popsnet.model.network import I32, I64, Bools, Ints, Network
from popsnet.programs.schedules.colouring.colouring import colour_edges
from popsnet.programs.schedules.demand import Demand, most
from popsnet.programs.schedules.schedule import HOME, Paths, ranks

MOST_PACKETS = 2**21
"""Larger demands are not searched."""
MOST_ELEMENTS = 2**25
"""Processors that send, processors that listen and couplers, times slots: 400 MB."""

_RELAYS = 64
"""Relays that are tried for a packet, at most."""
_PATIENCE, _TRIAL = 2, 500
"""A search is given up if the number of packets that wait has not fallen by 5 % in 2 placements per
packet, and 500 more."""
_STARTS = 2**10
"""Small demands are searched several times, with the packets in other orders."""
_RISE = np.float32(0.3)
"""How much the price of a place rises when a packet is put out of it."""
_STRAIGHT, _RELAYED = np.float32(1.0), np.float32(0.5)
"""What putting out a packet costs, in terms of the price; a relayed one has two hops to put out."""
_DETOUR = np.float32(0.2)
"""What a relay costs: it takes twice the room."""
_WORK = 2**31
"""Slots that a search looks at before it is given up: some seconds."""
_HALF, _ONE, _NONE = np.uint64(32), np.uint64(1), np.int64(-1)


class _Movers(NamedTuple):
    """The packets that do not start at their destinations, and what they use.

    With several wavelengths a coupler stands for one wavelength of a coupler.
    """

    packets: I64
    source: I32
    destination: I32
    coupler: I32
    sizes: tuple[int, int, int]
    """The numbers of sources, destinations and couplers."""
    tries: int
    """The relays that are drawn for a packet that cannot go straight at no cost."""
    dead: Bools
    """Whether each source, destination and coupler is dead, or empty if none is."""

    @property
    def loads(self) -> tuple[int, int]:
        """The most packets of a processor (h), and those of a coupler (C)."""
        return max(most(self.source), most(self.destination)), most(self.coupler)

    def placed(self, packets: int, values: I32) -> I32:
        """Return the values of moving packets for all packets, with -1 for the others."""
        placed = np.full(packets, -1, dtype=np.int32)
        placed[self.packets] = values
        return placed


def _going_straight(demand: Demand) -> _Movers:
    """Give numbers without gaps to what packets use that go straight."""
    moved, several = demand.at(demand.moving), demand.network.wavelengths
    places, count = _numbered(moved.couplers)  # its packets use its wavelengths in turn
    coupler = places.astype(np.int64) * several + ranks(places, count) % several
    (senders, m), (listeners, n), (couplers, k) = map(
        _numbered, (moved.source, moved.destination, coupler)
    )
    none = np.empty(0, dtype=np.bool_)
    return _Movers(demand.moving, senders, listeners, couplers, (m, n, k), 0, none)


def _numbered(numbers: Ints) -> tuple[I32, int]:
    """Give each different number a place from 0, and count the places."""
    distinct, places = np.unique(numbers, return_inverse=True)
    return places.astype(np.int32), len(distinct)


def straight_slots(demand: Demand, *, seed: int = 0) -> I32:
    """Assign every packet the slot in which it goes straight from its source to its destination.

    Parameters
    ----------
    demand : Demand
        The packets to send.
    seed : int
        The random seed; a seed always gives the same slots.

    Returns
    -------
    array of int32
        The slot of every packet, from 0, or -1 if it starts at its destination. In a slot every
        processor sends at most one packet and receives at most one, and every coupler carries at
        most one per wavelength.

    Notes
    -----
    Let h be the largest number of packets of a processor, sent or received, and C that of a
    coupler. max(h, C) slots are necessary. They are enough, and found, for d = 1 (König: then
    C ≤ h, and a colouring of the edges from sources to destinations is a schedule) and for h = 1
    (only couplers are shared, so a packet takes as its slot the number of packets before it on its
    coupler). Otherwise 3 slots are NP-complete, so the least number is searched for; first fit,
    which takes at most 2h + C - 2 slots, is what remains if the search fails.

    With W wavelengths the packets of a coupler are dealt to its wavelengths in turn, and ⌈C/W⌉
    takes the place of C. For h > 1 another way to deal them may need fewer slots.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules import Demand
    >>> from popsnet.programs.schedules.fixed import straight_slots
    >>> straight_slots(Demand(Network(2, 2), np.array([0, 0, 1]), np.array([1, 2, 3]))).tolist()
    [0, 1, 0]
    """
    moving = _going_straight(demand)
    h, crowd = moving.loads
    if demand.network.d == 1:
        slots = colour_edges(moving.source, moving.destination, seed=seed)
    elif h <= 1:
        slots = ranks(moving.coupler, moving.sizes[2])
    else:
        slots = _first_fit(moving)
        better = _shortest(demand.network, moving, max(h, crowd), int(slots.max()) + 1, seed)
        slots = slots if better is None else better[1]
    return moving.placed(demand.packets, slots)


def best_fixed(
    demand: Demand, bound: int, most: int, *, seed: int = 0, parts: WorkingParts | None = None
) -> Paths | None:
    """Search for a short schedule with at least ``bound`` and fewer than ``most`` slots.

    Packets may be relayed, once.

    Parameters
    ----------
    demand : Demand
        The packets to send.
    bound : int
        A lower bound for the number of slots, with which the search begins.
    most : int
        The number of slots of a schedule that is known.
    seed : int
        The random seed; a seed always gives the same schedule.
    parts : WorkingParts, optional
        What works, if some parts are dead. By default everything works.

    Returns
    -------
    Paths or None
        The schedule, or None if none was found, or if the demand has more than 2^21 packets, or
        needs more than 400 MB.

    Notes
    -----
    The numbers of slots bound, bound + 1, bound + 3, bound + 7 and so on are tried until a search
    succeeds, and then those between it and the last that failed, by bisection. Every search has a
    limited number of steps, so the work is the same on every computer.

    A packet that goes straight needs its source to send, its destination to listen and a coupler,
    all in one slot; a relayed one needs this for two hops, one slot after the other. The packets
    wait in a queue. The first of it takes the cheapest place, straight or through one of some
    relays drawn at random: what is free costs nothing, and a packet that has it already costs 1 and
    a price. It is put out and waits again, and the price rises. The search ends when no packet
    waits, or when the shortest queue has not become shorter for long.
    """
    network = demand.network
    if network.couplers > MOST_ELEMENTS or bound >= most:
        return None
    dead = np.empty(0, dtype=np.bool_)
    if parts is not None:
        dead = ~np.concatenate((parts.sends, parts.hears, parts.couplers.ravel()))
    moved, sizes = demand.at(demand.moving), (network.n, network.n, network.couplers)
    source, destination, coupler = plain_each(moved.source, moved.destination, moved.couplers)
    moving = _Movers(demand.moving, source, destination, coupler, sizes, _RELAYS, dead)
    plan = _shortest(network, moving, bound, most, seed)
    if plan is None:
        return None
    relay, first, final = (moving.placed(demand.packets, row) for row in plan)
    return Paths(relay, first, final, int(final.max(initial=HOME)) + 1)


def _shortest(network: Network, moving: _Movers, bound: int, most: int, seed: int) -> I32 | None:
    """Return relay, first and final slot of every moving packet, as rows; see `best_fixed`."""
    plan, low, high, step = None, bound, most, 1
    while low < high:
        slots = min(bound + step - 1, high - 1) if plan is None else (low + high) // 2
        step *= 2
        made = _attempt(network, moving, slots, seed)
        if made is None:
            low = slots + 1
        else:
            plan, high = made, slots
    return plan


def _attempt(network: Network, moving: _Movers, slots: int, seed: int) -> I32 | None:
    """Return relay, first and final slot of every moving packet, as rows."""
    h, crowd = moving.loads
    if not len(moving.packets):
        return np.empty((3, 0), dtype=np.int32)
    m, tries = len(moving.packets), moving.tries
    if slots < h or (slots < crowd and not tries) or m > min(_WORK // slots, MOST_PACKETS):
        return None
    if sum(moving.sizes) * slots > MOST_ELEMENTS:
        return None
    shape = np.array((*moving.sizes, network.d, network.g, slots, tries, _WORK))
    coins = Coins(seed).for_run(slots)
    for start in range(1 + _STARTS // m):
        plan = np.full((3, m), -1, dtype=np.int32)
        key = np.uint64(coins.key("slots of packets", start))
        if _search(*moving[1:4], moving.dead, shape, key, plan):
            return plan
    return None


@compiled
def _search(
    source: I32, destination: I32, coupler: I32, dead: Bools, shape: I64, key: np.uint64, plan: I32
) -> bool:
    """Fill ``plan`` with relay, first and final slot of every packet, and tell if all have them.

    The element of sender, listener or coupler i in slot s is i·slots + s, after those of the kinds
    before. Those that are dead have an infinite cost, so no packet takes them.
    """
    senders, listeners, couplers, d, g, slots, tries, most = shape
    hearing, carrying = senders * slots, (senders + listeners) * slots
    m, elements = len(source), carrying + couplers * slots
    owner = np.full(elements, -1, dtype=np.int32)
    cost, price = np.zeros(elements, dtype=np.float32), np.ones(elements, dtype=np.float32)
    for element in np.flatnonzero(dead):
        cost[element * slots : (element + 1) * slots] = np.inf
    held = np.empty(6 * m, dtype=np.int64)
    queue = np.arange(m, dtype=np.int32)
    draws = np.uint64(0)
    for k in range(m - 1, 0, -1):
        j = np.int64(((word(key, draws) >> _HALF) * np.uint64(k + 1)) >> _HALF)
        draws += _ONE
        queue[k], queue[j] = queue[j], queue[k]
    head, waiting, shortest, since, work = 0, m, m, 0, 0
    place = np.empty(6, dtype=np.int64)
    while waiting and since < _PATIENCE * m + _TRIAL and work < most:
        work += slots
        p = queue[head]
        head, waiting = (head + 1) % m, waiting - 1
        sends, hears = source[p] * slots, hearing + destination[p] * slots
        line = carrying + coupler[p] * slots
        best, relay, first, final = np.float32(np.inf), _NONE, -1, -1
        for s in range(slots):
            total = cost[sends + s] + cost[hears + s] + cost[line + s]
            if total < best:
                best, first, final = total, s, s
                if total == 0:
                    break
        for _ in range(tries):
            if best <= _DETOUR:  # nothing is put out
                break
            q = np.int64(((word(key, draws) >> _HALF) * np.uint64(senders)) >> _HALF)
            draws += _ONE
            if q == source[p] or q == destination[p]:
                continue
            to = carrying + (q // d * g + source[p] // d) * slots
            by = carrying + (destination[p] // d * g + q // d) * slots
            listens, passes = hearing + q * slots, q * slots
            so_far, at = np.float32(np.inf), -1
            work += slots
            for s in range(slots):
                total = _DETOUR + so_far + cost[passes + s] + cost[hears + s] + cost[by + s]
                if total < best:
                    best, relay, first, final = total, q, at, s
                total = cost[sends + s] + cost[listens + s] + cost[to + s]
                if total < so_far:
                    so_far, at = total, s
        since += 1
        if first < 0:  # none of the relays that were drawn has live couplers
            queue[(head + waiting) % m] = p
            waiting += 1
            continue
        place[0], place[1], place[2] = sends + first, hears + final, line + first
        uses = 3
        if relay >= 0:
            place[2] = carrying + (relay // d * g + source[p] // d) * slots + first
            place[3] = carrying + (destination[p] // d * g + relay // d) * slots + final
            place[4], place[5] = hearing + relay * slots + first, relay * slots + final
            uses = 6
        for e in place[:uses]:
            other = owner[e]
            if other >= 0:
                price[e] += _RISE
                for i in range(6 if plan[0, other] >= 0 else 3):
                    left = held[6 * other + i]
                    owner[left], cost[left] = -1, 0
                queue[(head + waiting) % m] = other
                waiting += 1
        share = _STRAIGHT if relay < 0 else _RELAYED
        for k in range(uses):
            e = place[k]
            owner[e], cost[e], held[6 * p + k] = p, share * price[e], e
        plan[0, p], plan[1, p], plan[2, p] = relay, first, final
        if waiting < 0.95 * shortest:
            shortest, since = waiting, 0
    return waiting == 0


def _first_fit(moving: _Movers) -> I32:
    """Give every packet the first slot in which its source, destination and coupler are free.

    A packet meets at most h - 1 others at its source and at its destination, and C - 1 on its
    coupler, so it finds one of 2h + C - 2 slots free. Packets come in the order of their couplers.
    """
    order = np.argsort(moving.coupler, kind="stable").astype(np.int32)
    loads = np.bincount(moving.coupler)
    slots = np.empty_like(moving.source)
    ends = np.cumsum(loads)
    _fit(moving.source, moving.destination, order, ends - loads, ends, slots)
    return slots


@compiled
def _fit(source: I32, destination: I32, order: I32, begin: I64, end: I64, slots: I32) -> None:
    """Fill 64 slots at a time, a bit each; a coupler whose bits are all set needs no more packets.

    The packets of coupler c are ``order[begin[c] : end[c]]``. Those that wait are linked.
    """
    m, full = len(source), ~np.uint64(0)
    sends = np.zeros(source.max() + 1, dtype=np.uint64)
    hears = np.zeros(destination.max() + 1, dtype=np.uint64)
    head, after = begin.copy(), np.arange(1, m + 1)
    done = np.empty(m, dtype=np.int32)
    active, count, left, base = np.arange(len(begin)), len(begin), m, 0
    while left:
        remaining = placed = 0
        for c in active[:count]:
            carries, last, k = np.uint64(0), -1, head[c]
            while k < end[c] and carries != full:
                p = order[k]
                free = ~(carries | sends[source[p]] | hears[destination[p]])
                if free:
                    s = 0
                    while not (free >> np.uint64(s)) & _ONE:
                        s += 1
                    bit = _ONE << np.uint64(s)
                    carries |= bit
                    sends[source[p]] |= bit
                    hears[destination[p]] |= bit
                    slots[p] = base + s
                    done[placed] = p
                    placed += 1
                    if last < 0:
                        head[c] = after[k]
                    else:
                        after[last] = after[k]
                else:
                    last = k
                k = after[k]
            if head[c] < end[c]:
                active[remaining] = c
                remaining += 1
        for p in done[:placed]:
            sends[source[p]] = hears[destination[p]] = 0
        count, left, base = remaining, left - placed, base + 64
