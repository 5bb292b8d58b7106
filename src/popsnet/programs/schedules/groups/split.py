"""Choose which packets of a traffic matrix go straight, and the relay groups of the others.

For T slots, a coupler may carry T packets, and a group may send and receive T·min(d, g). A packet
from group a to group b loads the coupler between them, or those from a to a relay group and from
there to b. At most T packets of an entry can go straight. The others take the cheapest relay, in
random order: a coupler and a group cost more the fuller they are, and very much beyond what they
can carry. Then packets that touch something overfull are moved to where they cost least, several
times, and the prices of what stays overfull rise.

This is a heuristic. It fails where the loads of no assignment fit, and sometimes where they could.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.coins import Coins
from popsnet.model.network import F64, I32, I64

MOST_UNITS = 1 << 19
"""The most parts that relayed packets are moved in."""
PASSES = 80
PATIENCE = 6
"""Passes without progress after which a search ends; four times as many if few are too many."""
FEW = 64
GAIN = 25.0
"""What a move must save in every other pass, about half the cost of one packet too many."""
_STRAIGHT = -1


class Split(NamedTuple):
    """Which packets go straight, and the relays of the others."""

    straight: I64
    """The packets that go straight, per entry."""
    source: I32
    """Of relayed packets: the group that they start in."""
    relay: I32
    destination: I32
    packets: I64
    """The number of packets with these three groups."""

    @property
    def hops(self) -> I64:
        """The first and the second hops of relayed packets on every coupler."""
        hops = np.zeros((2, *self.straight.shape), dtype=np.int64)
        np.add.at(hops[0], (self.source, self.relay), self.packets)
        np.add.at(hops[1], (self.relay, self.destination), self.packets)
        return hops


class Limits(NamedTuple):
    """How much may be carried in all slots, and in those for either hop of relayed packets."""

    coupler: int
    group: int
    """The sends and the receives of a group."""
    first: int
    """The first hops of relayed packets on a coupler."""
    second: int
    through: int
    """The packets that a group relays."""
    is_wide: bool
    """Whether d ≥ g, so that packets inside a group limit nothing else."""


class _Market(NamedTuple):
    """What couplers carry and groups relay, and what a packet more costs."""

    load: I64
    first: I64
    """The first hops of relayed packets on a coupler."""
    second: I64
    sends: I64
    receives: I64
    through: I64
    price: F64
    tolls: F64
    out: F64
    """The costs of hops from a to t, and of t to b."""
    into: F64
    via: F64


def split(counts: I64, d: int, slots: int, early: int, late: int, coins: Coins) -> Split | None:
    """Divide the packets of a matrix within the limits, or return None if that fails.

    They are for first hops in ``early`` slots and second hops in ``late`` ones. For d ≥ g couplers
    are the limit: g - 1 of a group, as the own one relays nothing.
    """
    g = len(counts)
    most = min(d, g - 1)
    limits = Limits(slots, most * slots, early, late, most * min(early, late), d >= g)
    straight = np.minimum(counts, slots)
    excess = counts - straight
    weight = 1 + int(excess.sum()) // MOST_UNITS
    row, column = np.nonzero(excess)
    item, size = pieces(excess[row, column], weight, "order of packets", coins)
    used = len(item)
    room = np.zeros((4, used + used // 2 + 4 * g), dtype=np.int32)
    room[:, :used] = row[item], np.full(used, _STRAIGHT), column[item], size
    inside = np.diag(straight) if limits.is_wide else 0
    sends, receives = counts.sum(axis=1) - inside, counts.sum(axis=0) - inside
    used = _settle(room, used, weight, straight, np.stack((sends, receives)), limits)
    if used < 0:
        return None
    source, relay, destination, packets = room[:, :used][:, room[1, :used] != _STRAIGHT]
    key = np.ravel_multi_index((relay, source, destination), (g, g, g))
    keys, place = np.unique(key, return_inverse=True)
    sums = np.bincount(place, packets, len(keys)).astype(np.int64)
    relay, source, destination = np.array(np.unravel_index(keys, (g, g, g)), dtype=np.int32)
    return Split(straight, source, relay, destination, sums)


def pieces(packets: I64, weight: int, purpose: str, coins: Coins) -> tuple[I64, I64]:
    """Divide items into pieces of ``weight`` packets or fewer; return their items and packets.

    They are in random order.
    """
    parts = -(-packets // weight)
    item = np.repeat(np.arange(len(parts)), parts)
    size = np.full(len(item), weight)
    size[np.cumsum(parts) - 1] = packets - (parts - 1) * weight
    order = np.argsort(coins.words(purpose, 0, np.arange(len(item))), kind="stable")
    return item[order], size[order]


@compiled(inline=True)
def cost(load: int, more: int, limit: int, price: float) -> float:
    """Return what it costs to add this many packets to something with a load and a limit."""
    if load + more > limit:
        return price + 50.0 * (load + more - limit) / more
    share = (load + more) / limit
    fourth = share * share * share * share
    return 0.05 * share + fourth * fourth


@compiled
def _settle(units: I32, used: int, weight: int, straight: I64, ends: I64, limits: Limits) -> int:
    """Choose relays for units, in place; return the number of units, or -1 if that fails."""
    g, room = len(straight), units.shape[1]
    slots, group, most_first, most_second, most_through, _ = limits
    load, first, second = straight.copy(), np.zeros((g, g), np.int64), np.zeros((g, g), np.int64)
    out, into = np.empty((g, g)), np.empty((g, g))
    price, via, tolls = np.zeros((g, g)), np.empty(g), np.zeros(g)
    sends, receives, through = ends[0], ends[1], np.zeros(g, dtype=np.int64)
    at = _Market(load, first, second, sends, receives, through, price, tolls, out, into, via)
    best_over, idle = np.int64(1) << 62, 0
    for turn in range(PASSES + 1):
        if turn > 0:
            weight = max(1, weight // 2)
        for a in range(g):
            tolls[a] += turn > 0 and max(sends[a], receives[a]) + through[a] > group
            tolls[a] += turn > 0 and through[a] > most_through
            for b in range(g):
                price[a, b] += load[a, b] > slots
        for a in range(g):
            _price_group(at, a, weight, limits)
            for b in range(g):
                _price(at, a, b, weight, limits)
        k, begun, gain = 0, used, GAIN * (turn % 2)
        while k < begun + g * g:
            was_straight = k >= begun
            if not was_straight:
                u, a, t, b, size = k, units[0, k], units[1, k], units[2, k], units[3, k]
                k += 1
                if turn > 0:
                    if t == _STRAIGHT:
                        continue
                    over = max(
                        load[a, t] - slots, load[t, b] - slots, first[a, t] - most_first,
                        second[t, b] - most_second, through[t] - most_through,
                        max(sends[t], receives[t]) + through[t] - group,
                    )  # fmt: skip
                    if over <= 0:
                        continue
                    if over < size and used < room:  # the rest stays
                        u, size = used, np.int32(over)
                        used += 1
                        units[3, k - 1] -= size
                        units[0, u], units[2, u], units[3, u] = a, b, size
            else:  # straight packets on an overfull coupler may be relayed, in new units
                a, b = divmod(k - begun, g)
                size = min(weight, straight[a, b])
                if turn < 3 or size == 0 or load[a, b] <= slots or used == room:
                    k += 1
                    continue
                u, t = used, _STRAIGHT
                units[0, u], units[2, u], units[3, u] = a, b, size
                used += 1
            if t != _STRAIGHT:
                _relay(at, a, t, b, -size, weight, limits)
            elif turn > 0:
                load[a, b] -= size
                straight[a, b] -= size
                _price(at, a, b, weight, limits)
            least, old = 1e300, t
            if turn > 0:
                least = cost(load[a, b], size, slots, price[a, b])
                t = _STRAIGHT
                if old != _STRAIGHT and out[a, old] + into[b, old] + via[old] <= least:
                    least, t = out[a, old] + into[b, old] + via[old], old
                if t == old:
                    least -= gain
            begin = (u + turn) % g
            for j in range(begin, begin + g):
                middle = j if j < g else j - g
                now = out[a, middle] + into[b, middle] + via[middle]
                if now < least:
                    least, t = now, middle
            units[1, u] = t
            if t != _STRAIGHT:
                _relay(at, a, t, b, size, weight, limits)
            elif turn == 0:
                return -1  # there is no third group
            else:
                load[a, b] += size
                straight[a, b] += size
                _price(at, a, b, weight, limits)
                if was_straight:  # it stays, and so would the next
                    used -= 1
                    k += 1
        over = 0
        for a in range(g):
            over += max(0, max(sends[a], receives[a]) + through[a] - group)
            over += max(0, through[a] - most_through)
            for b in range(g):
                over += max(0, load[a, b] - slots) + max(0, first[a, b] - most_first)
                over += max(0, second[a, b] - most_second)
        if over == 0:
            return used
        idle = 0 if over < 0.95 * best_over else idle + 1
        best_over = min(over, best_over)
        if idle >= (PATIENCE if over > FEW else 4 * PATIENCE):
            break
    return -1


@compiled
def _relay(at: _Market, a: int, t: int, b: int, size: int, weight: int, limits: Limits) -> None:
    """Let more packets go from a by t to b, or fewer."""
    at.load[a, t] += size
    at.load[t, b] += size
    at.first[a, t] += size
    at.second[t, b] += size
    at.through[t] += size
    _price(at, a, t, weight, limits)
    _price(at, t, b, weight, limits)
    _price_group(at, t, weight, limits)


@compiled
def _price(at: _Market, a: int, b: int, weight: int, limits: Limits) -> None:
    """Compute the costs of a coupler for first and second hops again."""
    each = cost(at.load[a, b], weight, limits.coupler, at.price[a, b])
    at.out[a, b] = each + 100.0 * max(0, at.first[a, b] + weight - limits.first)
    at.into[b, a] = each + 100.0 * max(0, at.second[a, b] + weight - limits.second)
    if a == b:
        at.out[a, b] = at.into[b, a] = 1e300


@compiled
def _price_group(at: _Market, t: int, weight: int, limits: Limits) -> None:
    """Compute the cost of a group as a relay again."""
    through = at.through[t]
    at.via[t] = 0.5 * cost(at.sends[t] + through, weight, limits.group, at.tolls[t])
    at.via[t] += 0.5 * cost(at.receives[t] + through, weight, limits.group, at.tolls[t])
    at.via[t] += 100.0 * max(0, through + weight - limits.through)
