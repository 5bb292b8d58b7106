"""The slots of relayed packets where groups are the limit: d < g.

The slots are cut into phases. The two hops of a relayed packet are in different phases. If in each
phase of T slots every coupler has at most T packets, and every group sends and receives at most
d·T, then the packets of the phase can be dealt to its slots in any order of its hops (see
:mod:`~popsnet.programs.schedules.groups.nested`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.coins import Coins
from popsnet.model.network import F64, I32, I64, Ints
from popsnet.programs.schedules.colouring.multigraph import runs
from popsnet.programs.schedules.groups.plan import GroupPlan, deal_matrix, join_packets
from popsnet.programs.schedules.groups.split import FEW, GAIN, PASSES, PATIENCE, Split, cost, pieces
from popsnet.programs.schedules.groups.transport import MatrixBounds, fit

_MOST_WORK = 1 << 24
"""The most phases tried for all packets together, in a pass."""
_MOST_CELLS = 1 << 23
"""The most couplers of all phases together, which take 32 bytes each."""
_COARSE_WORK = 1 << 21
"""The same where several packets are moved at once, and shares are refined later."""


def in_two_phases(divided: Split, d: int, early: int, late: int) -> GroupPlan | None:
    """Send first hops in ``early`` slots and second hops in ``late`` ones, or return None.

    The straight packets of the first phase are found exactly if there are any.
    """
    straight = divided.straight
    lengths, hops = np.array((early, late)), divided.hops
    room = lengths[:, None, None] - hops
    rows, columns = (d * lengths[:, None] - hops.sum(axis=axis) for axis in (2, 1))
    bounds = MatrixBounds(
        np.maximum(straight - room[1], 0), np.minimum(straight, room[0]),
        np.maximum(straight.sum(axis=1) - rows[1], 0), rows[0],
        np.maximum(straight.sum(axis=0) - columns[1], 0), columns[0],
    )  # fmt: skip
    first = fit(straight * early // (early + late), bounds)
    if first is None:
        return None
    phases = np.repeat(np.array(((0,), (1,))), len(divided.packets), axis=1)
    return _deal_phases(divided, lengths, np.array((first, straight - first)), phases)


def in_many_phases(
    divided: Split, d: int, phases: Callable[[int, int], I64], slots: int, coins: Coins
) -> GroupPlan | None:
    """Find phases by prices, as :mod:`~popsnet.programs.schedules.groups.split` finds relays.

    ``phases`` gives the lengths of the phases for a number of slots and a least length. If there
    are many packets, several are moved at once, and the phases have at least as many slots.
    """
    g = len(divided.straight)
    total = int(divided.straight.sum() + divided.packets.sum())
    lengths, weight, least = phases(slots, 1), 1, 1
    while len(lengths) * g * g > _MOST_CELLS and least < slots:
        least *= 2
        lengths = phases(slots, least)
    if total * len(lengths) > _MOST_WORK:
        while total * len(lengths) > weight * _COARSE_WORK:
            weight *= 2
            lengths = phases(slots, max(least, 2 * weight))
    if len(lengths) < 2 or len(lengths) * g * g > _MOST_CELLS:
        return None
    item, size = pieces(divided.packets, weight, "order of phases", coins)
    units = np.zeros((6, len(item) + len(item) // 2 + 4 * g), dtype=np.int32)
    ends = divided.source[item], divided.relay[item], divided.destination[item]
    units[:4, : len(item)] = *ends, size
    shares = np.zeros((len(lengths), g, g), dtype=np.int64)
    loads = [np.zeros_like(each) for each in (shares, shares[:, 0], shares[:, 0])]
    prices = [np.zeros(load.shape) for load in loads]
    state = _State._make([np.array((lengths, d * lengths)), *loads, *prices])
    if not _settle(state, units, len(item), weight, divided.straight, shares):
        return None
    source, relay, destination, packets, *both = units[:, units[3] > 0]
    regrouped = Split(divided.straight, source, relay, destination, packets.astype(np.int64))
    return _deal_phases(regrouped, lengths, shares, np.array(both))


def growing_phases(slots: int, least: int) -> I64:
    """Return the lengths of phases that double from both ends to the middle.

    Few packets can arrive in the first phase and few can leave in the last, so these are short.
    """
    ends = [least]
    while 4 * sum(ends) <= slots:
        ends.append(sum(ends))
    middle = slots - 2 * sum(ends)
    if middle < 0:
        return equal_phases(slots, least)
    count = -(-middle // ends[-1])
    inner = [(middle + k) // count for k in range(count)]
    return np.array([*ends, *inner, *ends[::-1]])


def equal_phases(slots: int, least: int) -> I64:
    """Return the lengths of phases that differ by at most one."""
    count = max(1, slots // least)
    return (slots + np.arange(count)) // count


def _deal_phases(divided: Split, lengths: I64, shares: I64, phases: Ints) -> GroupPlan:
    """Deal the packets of each phase to its slots.

    ``shares`` has the straight packets of each phase, and ``phases`` those of both hops of each
    item of the split.
    """
    cells = np.arange(shares.size).reshape(len(lengths), -1).T.ravel()  # all phases of a pair
    kinds = [(cells, shares.ravel()[cells])]
    ends = (divided.source, divided.relay, divided.destination)
    for hop in range(2):
        places = phases[hop], ends[hop], ends[hop + 1]
        kinds.append((np.ravel_multi_index(places, shares.shape), divided.packets))
    amounts = [np.bincount(*kind, shares.size).astype(np.int64) for kind in kinds]
    loads = np.sum(amounts, axis=0)
    begins = np.cumsum(lengths) - lengths
    dealt = [
        begin + deal_matrix(load, int(slots))
        for begin, load, slots in zip(begins, loads.reshape(shares.shape), lengths, strict=True)
    ]
    slots = np.concatenate(dealt).astype(np.int32)
    taken = np.cumsum(loads) - loads
    by_item = list[I32]()
    for (cells, packets), amount in zip(kinds, amounts, strict=True):
        order = np.argsort(cells, kind="stable")
        back = np.argsort(np.repeat(order, packets[order]), kind="stable")
        by_item.append(slots[runs(taken, amount)][back])
        taken += amount
    straight, firsts, finals = by_item
    return join_packets(divided, straight, firsts, finals, int(lengths.sum()))


class _State(NamedTuple):
    """Loads, rooms and prices, by phase."""

    rooms: I64
    """Of every coupler, and of every group for what it sends and for what it receives."""
    load: I64
    sends: I64
    receives: I64
    prices: F64
    send_prices: F64
    receive_prices: F64


@compiled(inline=True)
def _over(at: _State, p: int, a: int, b: int) -> int:
    """Return how many packets too many a hop meets."""
    over: int = max(
        at.load[p, a, b] - at.rooms[0, p],
        at.sends[p, a] - at.rooms[1, p],
        at.receives[p, b] - at.rooms[1, p],
    )
    return over


@compiled(inline=True)
def _add(at: _State, p: int, a: int, b: int, packets: int) -> None:
    at.load[p, a, b] += packets
    at.sends[p, a] += packets
    at.receives[p, b] += packets


@compiled(inline=True)
def _cost(at: _State, p: int, a: int, b: int, packets: int) -> float:
    return (
        cost(at.load[p, a, b], packets, at.rooms[0, p], at.prices[p, a, b])
        + cost(at.sends[p, a], packets, at.rooms[1, p], at.send_prices[p, a])
        + cost(at.receives[p, b], packets, at.rooms[1, p], at.receive_prices[p, b])
    )


@compiled
def _settle(at: _State, units: I32, used: int, weight: int, straight: I64, shares: I64) -> bool:
    """Choose the phases of both hops of relayed units and of straight packets, in place."""
    phases, g = shares.shape[0], shares.shape[1]
    best, idle = 1 << 62, 0
    for turn in range(PASSES + 1):
        if turn > 0:
            weight = max(1, weight // 2)
        gain = GAIN * (turn % 2)
        used = _move_relayed(at, units, used, turn > 0, gain)
        for a in range(g):
            for b in range(g):
                if straight[a, b] == 0:
                    continue
                for p in range(-1, 0) if turn == 0 else range(phases):
                    packets = straight[a, b]
                    if turn > 0:
                        packets = min(shares[p, a, b], _over(at, p, a, b))
                        if packets <= 0:
                            continue
                        shares[p, a, b] -= packets
                        _add(at, p, a, b, -packets)
                    _put(at, a, b, packets, weight, p, gain, shares)
        over = _raise_prices(at)
        if over == 0:
            return True
        idle = 0 if over < 0.95 * best else idle + 1
        best = min(over, best)
        if idle >= (PATIENCE if over > FEW else 4 * PATIENCE):
            break
    return False


@compiled
def _move_relayed(at: _State, units: I32, used: int, again: bool, gain: float) -> int:
    """Move units that meet something overfull, or all; return how many units there are now."""
    phases = at.load.shape[0]
    for k in range(used):
        u = k
        a, t, b, size = units[0, u], units[1, u], units[2, u], int(units[3, u])
        p, q, least = int(units[4, u]), int(units[5, u]), np.inf
        if again:
            over = max(_over(at, p, a, t), _over(at, q, t, b))
            if over <= 0:
                continue
            if over < size and used < units.shape[1]:  # the rest stays
                for row in range(6):
                    units[row, used] = units[row, u]
                units[3, u] -= over
                u, size = used, over
                units[3, u] = size
                used += 1
            _add(at, p, a, t, -size)
            _add(at, q, t, b, -size)
            least = _cost(at, p, a, t, size) + _cost(at, q, t, b, size) - gain
        early, begin = np.inf, 0
        for later in range(1, phases):
            now = _cost(at, later - 1, a, t, size)
            if now < early:
                early, begin = now, later - 1
            now = early + _cost(at, later, t, b, size)
            if now < least:
                least, p, q = now, begin, later
        units[4, u], units[5, u] = p, q
        _add(at, p, a, t, size)
        _add(at, q, t, b, size)
    return used


@compiled
def _put(
    at: _State, a: int, b: int, packets: int, weight: int, old: int, gain: float, shares: I64
) -> None:
    """Put straight packets where they cost least, a few at a time."""
    while packets > 0:
        size, chosen, least = min(packets, weight), old, np.inf
        if old >= 0:
            least = _cost(at, old, a, b, size) - gain
        for p in range(shares.shape[0]):
            now = _cost(at, p, a, b, size)
            if now < least:
                least, chosen = now, p
        shares[chosen, a, b] += size
        _add(at, chosen, a, b, size)
        packets -= size


@compiled
def _raise_prices(at: _State) -> int:
    """Raise the prices of what is overfull, and return by how many packets."""
    phases, g, over = at.load.shape[0], at.load.shape[1], 0
    for p in range(phases):
        for a in range(g):
            if at.receives[p, a] > at.rooms[1, p]:
                over += at.receives[p, a] - at.rooms[1, p]
                at.receive_prices[p, a] += 1
            if at.sends[p, a] > at.rooms[1, p]:
                over += at.sends[p, a] - at.rooms[1, p]
                at.send_prices[p, a] += 1
            for b in range(g):
                if at.load[p, a, b] > at.rooms[0, p]:
                    over += at.load[p, a, b] - at.rooms[0, p]
                    at.prices[p, a, b] += 1
    return over
