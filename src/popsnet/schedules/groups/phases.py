"""The slots of relayed packets where groups are the limit: d < g.

The slots are cut into phases. The two hops of a relayed packet are in different phases. If in each
phase of T slots every coupler has at most T packets, and every group sends and receives at most
d·T, then the packets of the phase can be dealt to its slots in any order of its hops (see
:mod:`~popsnet.schedules.groups.nested`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.compiled import compiled
from popsnet.schedules.groups.one_hop import deal_matrix
from popsnet.schedules.groups.plan import GroupPlan, join_packets
from popsnet.schedules.groups.split import Split, cost
from popsnet.schedules.groups.transport import Bounds, fit

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MOST_WORK = 1 << 24
"""The most phases tried for all packets together, in a pass."""
_PASSES = 80
_PATIENCE = 6


def in_two_phases(divided: Split, d: int, early: int, late: int) -> GroupPlan | None:
    """Send first hops in ``early`` slots and second hops in ``late`` ones, or return None.

    The straight packets of the first phase are found exactly if there are any.
    """
    straight = divided.straight
    hops = _hops(divided)
    room = [slots - one for slots, one in zip((early, late), hops, strict=True)]
    rows = [d * slots - one.sum(axis=1) for slots, one in zip((early, late), hops, strict=True)]
    columns = [d * slots - one.sum(axis=0) for slots, one in zip((early, late), hops, strict=True)]
    bounds = Bounds(
        np.maximum(straight - room[1], 0), np.minimum(straight, room[0]),
        np.maximum(straight.sum(axis=1) - rows[1], 0), rows[0],
        np.maximum(straight.sum(axis=0) - columns[1], 0), columns[0],
    )  # fmt: skip
    first = fit(straight * early // (early + late), bounds)
    if first is None:
        return None
    phases = np.zeros((2, len(divided.packets)), dtype=np.int64)
    phases[1] = 1
    return _deal_phases(
        divided, np.array((early, late)), np.array((first, straight - first)), phases
    )


def in_many_phases(
    divided: Split, d: int, phases: Callable[[int, int], I64], slots: int, coins: Coins
) -> GroupPlan | None:
    """Find phases by prices, as :mod:`~popsnet.schedules.groups.split` finds relays.

    ``phases`` gives the lengths of the phases for a number of slots and a least length. If there
    are many packets, several are moved at once, and the phases have at least as many slots.
    """
    g = len(divided.straight)
    total = int(divided.straight.sum() + divided.packets.sum())
    lengths, weight = phases(slots, 1), 1
    while total * len(lengths) > weight * _MOST_WORK:
        weight *= 2
        lengths = phases(slots, 2 * weight)
    parts = -(-divided.packets // weight)
    item = np.repeat(np.arange(len(parts)), parts)
    size = np.full(len(item), weight)
    size[np.cumsum(parts) - 1] = divided.packets - (parts - 1) * weight
    order = np.argsort(coins.words("order of phases", 0, np.arange(len(item))), kind="stable")
    item, size = item[order], size[order]
    groups = (divided.source[item], divided.relay[item], divided.destination[item], size)
    units = np.zeros((6, len(item) + len(item) // 2 + 4 * g), dtype=np.int32)
    units[:4, : len(item)] = groups
    shares = np.zeros((len(lengths), g, g), dtype=np.int64)
    rooms = np.array((lengths, d * lengths))
    if not _settle(units, len(item), weight, divided.straight, shares, rooms, _PASSES):
        return None
    units = units[:, units[3] > 0]
    return _deal_phases(divided._replace(**_regrouped(units)), lengths, shares, units[4:])


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


def _regrouped(units: I32) -> dict[str, npt.NDArray[np.integer]]:
    names = ("source", "relay", "destination")
    fields: dict[str, npt.NDArray[np.integer]] = dict(zip(names, units, strict=False))
    return {**fields, "packets": units[3].astype(np.int64)}


def _hops(divided: Split) -> tuple[I64, I64]:
    """Return the matrices of first and of second hops."""
    first, second = np.zeros((2, *divided.straight.shape), dtype=np.int64)
    np.add.at(first, (divided.source, divided.relay), divided.packets)
    np.add.at(second, (divided.relay, divided.destination), divided.packets)
    return first, second


def _deal_phases(
    divided: Split, lengths: I64, shares: I64, phases: npt.NDArray[np.integer]
) -> GroupPlan:
    """Deal the packets of each phase to its slots.

    ``shares`` has the straight packets of each phase, and ``phases`` those of both hops of each
    item of the split.
    """
    g = len(divided.straight)
    loads = shares.copy()
    ends = (divided.source, divided.relay, divided.destination)
    for hop in range(2):
        np.add.at(loads, (phases[hop], ends[hop], ends[hop + 1]), divided.packets)
    begins = np.cumsum(lengths) - lengths
    dealt = [
        begin + deal_matrix(load, int(slots))
        for begin, load, slots in zip(begins, loads, lengths, strict=True)
    ]
    slots = np.concatenate(dealt).astype(np.int32)
    taken = np.cumsum(loads.ravel()) - loads.ravel()
    straight = _take(slots, taken, shares.ravel())
    cell = np.repeat(np.tile(np.arange(g * g), len(lengths)), shares.ravel())
    straight = straight[np.argsort(_small(cell, g * g), kind="stable")]
    hops = []
    for hop in range(2):
        cells = (phases[hop].astype(np.int64) * g + ends[hop]) * g + ends[hop + 1]
        order = np.argsort(cells, kind="stable")
        amounts = np.bincount(cells, weights=divided.packets, minlength=len(taken))
        found = _take(slots, taken, amounts.astype(np.int64))
        back = np.argsort(np.repeat(order, divided.packets[order]), kind="stable")
        hops.append(found[back])
    return join_packets(divided, straight, hops[0], hops[1], int(lengths.sum()))


def _take(slots: I32, taken: I64, amounts: I64) -> I32:
    """Take the next slots of each cell of each phase, and move on what is taken."""
    ends = np.cumsum(amounts)
    place = np.repeat(taken - ends + amounts, amounts) + np.arange(ends[-1])
    taken += amounts
    found: I32 = slots[place]
    return found


def _small(numbers: I64, bound: int) -> npt.NDArray[np.integer]:
    """Return numbers in a type that is sorted by digits, where they fit."""
    return numbers.astype(np.uint16) if bound <= 2**16 else numbers


@compiled(inline=True)
def _hop_cost(
    p: int, a: int, b: int, more: int, rooms: I64, load: I64, sends: I64, receives: I64,
    prices: Floats, send_prices: Floats, receive_prices: Floats,
) -> float:  # fmt: skip
    return (
        cost(load[p, a, b], more, rooms[0, p], prices[p, a, b])
        + cost(sends[p, a], more, rooms[1, p], send_prices[p, a])
        + cost(receives[p, b], more, rooms[1, p], receive_prices[p, b])
    )


@compiled
def _settle(
    units: I32, used: int, weight: int, straight: I64, shares: I64, rooms: I64, passes: int
) -> bool:
    """Choose the phases of both hops of relayed units and of straight packets, in place."""
    phases, g = rooms.shape[1], len(straight)
    load = np.zeros((phases, g, g), dtype=np.int64)
    sends, receives = np.zeros((phases, g), np.int64), np.zeros((phases, g), np.int64)
    prices = np.zeros((phases, g, g))
    send_prices, receive_prices = np.zeros((phases, g)), np.zeros((phases, g))
    best_over, idle = np.int64(1) << 62, 0
    for turn in range(passes + 1):
        if turn > 0:
            weight = max(1, weight // 2)
        gain = 25.0 * (turn % 2)
        for k in range(used):
            u = k
            a, t, b, size = units[0, u], units[1, u], units[2, u], np.int64(units[3, u])
            p, q = np.int64(units[4, u]), np.int64(units[5, u])
            if turn > 0:
                over = max(
                    load[p, a, t] - rooms[0, p], load[q, t, b] - rooms[0, q],
                    sends[p, a] - rooms[1, p], receives[p, t] - rooms[1, p],
                    sends[q, t] - rooms[1, q], receives[q, b] - rooms[1, q],
                )  # fmt: skip
                if over <= 0:
                    continue
                if over < size and used < units.shape[1]:  # the rest stays
                    units[:, used] = units[:, u]
                    units[3, u] -= over
                    u, size = used, over
                    units[3, u] = size
                    used += 1
                load[p, a, t] -= size
                sends[p, a] -= size
                receives[p, t] -= size
                load[q, t, b] -= size
                sends[q, t] -= size
                receives[q, b] -= size
            least, chosen, other, early, begin = 1e300, p, q, 1e300, 0
            if turn > 0:
                least = _hop_cost(
                    p, a, t, size, rooms, load, sends, receives,
                    prices, send_prices, receive_prices,
                ) + _hop_cost(
                    q, t, b, size, rooms, load, sends, receives,
                    prices, send_prices, receive_prices,
                ) - gain  # fmt: skip
            for q in range(1, phases):
                now = _hop_cost(
                    q - 1, a, t, size, rooms, load, sends, receives,
                    prices, send_prices, receive_prices,
                )  # fmt: skip
                if now < early:
                    early, begin = now, q - 1
                now = early + _hop_cost(
                    q, t, b, size, rooms, load, sends, receives,
                    prices, send_prices, receive_prices,
                )  # fmt: skip
                if now < least:
                    least, chosen, other = now, begin, q
            p, q = chosen, other
            units[4, u], units[5, u] = p, q
            load[p, a, t] += size
            sends[p, a] += size
            receives[p, t] += size
            load[q, t, b] += size
            sends[q, t] += size
            receives[q, b] += size
        for a in range(g):
            for b in range(g):
                if turn == 0:
                    waiting, last = straight[a, b], 0
                else:
                    waiting, last = np.int64(0), phases - 1
                at = 0
                while at <= last or waiting > 0:
                    if waiting == 0:
                        over = max(
                            load[at, a, b] - rooms[0, at], sends[at, a] - rooms[1, at],
                            receives[at, b] - rooms[1, at],
                        )  # fmt: skip
                        waiting = min(shares[at, a, b], over)
                        if waiting <= 0:
                            waiting = np.int64(0)
                            at += 1
                            continue
                        shares[at, a, b] -= waiting
                        load[at, a, b] -= waiting
                        sends[at, a] -= waiting
                        receives[at, b] -= waiting
                    while waiting > 0:
                        size = min(waiting, weight)
                        least, chosen = 1e300, at
                        if turn > 0:
                            least = _hop_cost(
                                at, a, b, size, rooms, load, sends, receives,
                                prices, send_prices, receive_prices,
                            ) - gain  # fmt: skip
                        for p in range(phases):
                            now = _hop_cost(
                                p, a, b, size, rooms, load, sends, receives,
                                prices, send_prices, receive_prices,
                            )  # fmt: skip
                            if now < least:
                                least, chosen = now, p
                        shares[chosen, a, b] += size
                        load[chosen, a, b] += size
                        sends[chosen, a] += size
                        receives[chosen, b] += size
                        waiting -= size
                    at += 1
        over = np.int64(0)
        for p in range(phases):
            for a in range(g):
                more = max(0, sends[p, a] - rooms[1, p])
                send_prices[p, a] += more > 0
                over += more
                more = max(0, receives[p, a] - rooms[1, p])
                receive_prices[p, a] += more > 0
                over += more
                for b in range(g):
                    more = max(0, load[p, a, b] - rooms[0, p])
                    prices[p, a, b] += more > 0
                    over += more
        if over == 0:
            return True
        idle = 0 if over < 0.95 * best_over else idle + 1
        best_over = min(over, best_over)
        if idle >= (_PATIENCE if over > 64 else 4 * _PATIENCE):
            return False
    return False
