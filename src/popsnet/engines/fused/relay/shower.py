"""Fold and shower, F and R: one attempt of several copies, their deliveries, and the global OR.

Attempts contend on couplers (T, a) of one source group. For d > g deliveries contend too, on
couplers (b, T) over all source groups, two bits each here. They are filled by one thread before any
delivery is resolved, and the attempts are made again: that is cheaper than to store them, because
these stages come when few packets are left.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.arrays import U32, U64, Records, record_type
from popsnet.engines.fused.bits import divide
from popsnet.engines.fused.relay.bijections import WORDS, find_places
from popsnet.engines.fused.relay.layout import (
    Bijections,
    BlockRange,
    RelayLayout,
    RelayPackets,
    RelayPlaces,
    RelayTally,
    RelayWorkspace,
)
from popsnet.engines.fused.relay.pending import load, put_bit, remove, split

_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_5, _31 = np.uint64(5), np.uint64(31)
_ALONE = np.uint8(1)


class Deliveries(NamedTuple):
    """A delivery slot."""

    turn: int
    folded: bool
    """Whether deliveries are acknowledged, as in a fold."""
    couplers: U64


@compiled
def mark(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, bijections: Bijections,
    deliveries: Deliveries, tally: RelayTally,
) -> None:  # fmt: skip
    """Put the deliveries of one slot on their couplers, in all blocks."""
    couplers = deliveries.couplers
    couplers[:] = _0
    for block in range(layout.blocks):
        if work.stop[0] != 0:
            return
        m = attempt(layout, packets, work, bijections, block, work.unused[0])
        sets = work.sets[deliveries.turn * len(work.numbers) :]
        for k in range(m):
            if work.table[sets[k]] == _ALONE:
                tally.collisions += put(couplers, coupler(layout, work, sets, k))
        leave(work, m, bijections.copies)


@compiled
def resolve(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, bijections: Bijections,
    deliveries: Deliveries, blocks: BlockRange, tally: RelayTally,
) -> None:  # fmt: skip
    """Resolve the deliveries of one slot in some blocks, and acknowledge those of a fold."""
    turn, folded, couplers = deliveries
    contends, attempts = layout.d > layout.g, tally if turn == 0 else work.unused[0]
    for block in range(blocks.first, blocks.last):
        if work.stop[0] != 0:
            return
        m = attempt(layout, packets, work, bijections, block, attempts)
        sets, sent, arrived = work.sets[turn * len(work.numbers) :], 0, 0
        work.removed[:] = _0
        for k in range(m):
            if work.table[sets[k]] == _ALONE:
                sent += 1
                if not contends or alone(couplers, coupler(layout, work, sets, k)):
                    arrived += 1
                    put_bit(work.removed, np.uint64(work.numbers[k]), _1)
        leave(work, m, bijections.copies)
        delivered = remove(layout, packets.undelivered, work.removed, block)
        tally.messages += sent
        tally.destroyed += sent - arrived
        tally.delivered += delivered
        tally.last_slot = max(tally.last_slot, turn + 2 if delivered > 0 else 0)
        if folded:
            acked = remove(layout, packets.pending, work.removed, block)
            tally.acked += acked
            tally.messages += 2 * acked  # from the destination to the relay, and to the source


@compiled
def attempt(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, bijections: Bijections,
    block: int, tally: RelayTally,
) -> int:  # fmt: skip
    """Put all pending packets of a block on their couplers, and return how many."""
    m, span = load(layout, packets, packets.pending, work, block), len(work.numbers)
    copies, width = bijections.copies, layout.g * WORDS
    for u in range(copies):
        some = bijections.rows[u * width : (u + 1) * width]
        find_places(layout, RelayPlaces(some, work.numbers[:0]), layout.d, m, work)
        split(layout, work.numbers, work.places, m, work.sets[u * span :], work.classes)
    arrivals, collided = 0, 0
    for k in range(m):
        for u in range(copies):
            if is_new(work.sets, span, k, u):
                cell = work.sets[u * span + k]
                before = work.table[cell]
                collided += int(before == _ALONE)
                work.table[cell] = (before << _ALONE) | _ALONE
                arrivals += 1
    tally.messages += m
    tally.collisions += collided
    tally.destroyed += arrivals - heard(work, span, m, copies)
    return m


@compiled(inline=True)
def is_new(sets: U32, span: int, k: int, u: int) -> bool:
    """Return whether no earlier copy of the packet goes to the same relay group."""
    new = True
    for v in range(u):
        new &= bool(sets[v * span + k] != sets[u * span + k])
    return new


@compiled
def heard(work: RelayWorkspace, span: int, m: int, copies: int) -> int:
    """Return how many copies arrived."""
    count = 0
    for k in range(m):
        for u in range(copies):
            if is_new(work.sets, span, k, u):
                count += int(work.table[work.sets[u * span + k]] == _ALONE)
    return count


@compiled
def leave(work: RelayWorkspace, m: int, copies: int) -> None:
    """Clear all couplers of the block."""
    for u in range(copies):
        for k in range(m):
            work.table[work.sets[u * len(work.numbers) + k]] = np.uint8(0)


@compiled(inline=True)
def coupler(layout: RelayLayout, work: RelayWorkspace, sets: U32, k: int) -> np.uint64:
    """Return the coupler of a delivery, from relay group T to the destination's group."""
    g, at = np.uint64(layout.g), np.uint64(sets[k])
    relay = at - divide(at, layout.by_g) * g
    return divide(np.uint64(work.targets[k]), layout.by_d) * g + relay


@compiled(inline=True)
def put(couplers: U64, at: np.uint64) -> int:
    """Put a message on a coupler (0, 1, 3), and return whether one was alone before."""
    shift = (at & _31) * _2
    before = (couplers[at >> _5] >> shift) & _3
    couplers[at >> _5] |= ((before << _1 | _1) & _3) << shift
    return int(before == _1)


@compiled(inline=True)
def alone(couplers: U64, at: np.uint64) -> bool:
    """Return whether a coupler has one message."""
    return bool((couplers[at >> _5] >> ((at & _31) * _2)) & _3 == _1)


class GroupCounts(Protocol):
    """The members of a group that wait for their packets, and whether the first is one."""

    waiting: int
    first: int


GROUP = record_type(GroupCounts)


@compiled
def global_or(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, groups: Records,
    tally: RelayTally,
) -> None:  # fmt: skip
    """Count the two slots after a shower, for d ≥ g: groups object, and inform each other.

    In the first, the members of a group that wait for their packets send, and its first member if
    it has its own. A single message does not collide.
    """
    g, missed = layout.g, 0
    for a in range(g):
        groups[a].waiting, groups[a].first = 0, 0
    for block in range(layout.blocks):
        for k in range(load(layout, packets, packets.undelivered, work, block)):
            at = np.int64(divide(np.uint64(work.targets[k]), layout.by_d))
            groups[at].waiting += 1
            groups[at].first += int(np.int64(work.targets[k]) == at * layout.d)
    for a in range(g):
        announce(g, 1, groups[a].waiting + 1 - groups[a].first, tally)
        missed += int(groups[a].waiting > 0)
    # in every group the members that heard an objection send, and the first: it listened to group 0
    announce(1, g, missed + int(groups[0].waiting == 0), tally)


@compiled
def announce(couplers: int, groups: int, senders: int, tally: RelayTally) -> None:
    """Count a slot with senders in each of some groups, on some couplers each."""
    tally.messages += groups * senders
    if senders > 1:
        tally.collisions += groups * couplers
        tally.destroyed += groups * couplers * senders
