"""Fold and shower, F and R: one attempt of several copies, and their deliveries.

Attempts contend on couplers (T, a) of one source group. For d > g deliveries contend too, on
couplers (b, T) over all source groups, two bits each here. They are filled by one thread before
anybody is judged, and the attempts are made again: cheaper than to remember them, for these stages
come when few packets are left.
"""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.passes import I64, U32, U64
from popsnet.engines.fused.relay.bijections import WORDS, find_places
from popsnet.engines.fused.relay.ground import (
    ACKED,
    COLLISIONS,
    DESTROYED,
    HOME,
    LAST,
    MESSAGES,
    Ground,
    Hands,
    Packets,
    divide,
)
from popsnet.engines.fused.relay.ways import load, put_bit, split, strike

_0, _1, _2, _3 = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_5, _31 = np.uint64(5), np.uint64(31)
_ALONE = np.uint8(1)


@compiled
def mark(
    ground: Ground, packets: Packets, hands: Hands, rows: U64, copies: int, turn: int,
    couplers: U64, tally: I64,
) -> None:  # fmt: skip
    """Put the deliveries of one turn on their couplers, in all blocks."""
    couplers[:] = _0
    unused = np.zeros_like(tally)
    for block in range(ground.blocks):
        if hands.stop[0] != 0:
            return
        m = attempt(ground, packets, hands, rows, copies, block, unused)
        sets = hands.sets[turn * len(hands.numbers) :]
        for k in range(m):
            if hands.table[sets[k]] == _ALONE:
                tally[COLLISIONS] += put(couplers, coupler(ground, hands, sets, k))
        leave(hands, m, copies)


@compiled
def judge(
    ground: Ground, packets: Packets, hands: Hands, rows: U64, copies: int, turn: int,
    couplers: U64, folded: bool, first: int, last: int, tally: I64,
) -> None:  # fmt: skip
    """The deliveries of one turn in some blocks: who comes home, and after a fold who is told."""
    unused, contends = np.zeros_like(tally), ground.d > ground.g
    for block in range(first, last):
        if hands.stop[0] != 0:
            return
        m = attempt(ground, packets, hands, rows, copies, block, tally if turn == 0 else unused)
        sets, sent, arrived = hands.sets[turn * len(hands.numbers) :], 0, 0
        hands.struck[:] = _0
        for k in range(m):
            if hands.table[sets[k]] == _ALONE:
                sent += 1
                if not contends or alone(couplers, coupler(ground, hands, sets, k)):
                    arrived += 1
                    put_bit(hands.struck, np.uint64(hands.numbers[k]), _1)
        leave(hands, m, copies)
        tally[MESSAGES] += sent
        tally[DESTROYED] += sent - arrived
        settle(ground, packets, hands, block, turn + 2, folded, tally)


@compiled
def settle(
    ground: Ground, packets: Packets, hands: Hands, block: int, slot: int, folded: bool, tally: I64
) -> None:
    """Who was struck has arrived in this slot of the stage; after a fold the source is told."""
    home = strike(ground, packets.hungry, hands.struck, block)
    tally[HOME] += home
    tally[LAST] = max(tally[LAST], slot if home > 0 else 0)
    if folded:
        told = strike(ground, packets.pending, hands.struck, block)
        tally[ACKED] += told
        tally[MESSAGES] += 2 * told  # the destination tells the relay, and the relay the source


@compiled
def attempt(
    ground: Ground, packets: Packets, hands: Hands, rows: U64, copies: int, block: int, tally: I64
) -> int:
    """All pending packets of a block on their couplers; how many packets."""
    m, span = load(ground, packets, packets.pending, hands, block), len(hands.numbers)
    for u in range(copies):
        some = rows[u * ground.g * WORDS : (u + 1) * ground.g * WORDS]
        find_places(ground, some, hands.numbers[:0], ground.d, m, hands)
        split(ground, hands.numbers, hands.places, m, hands.sets[u * span :], hands.classes)
    arrivals = 0
    for k in range(m):
        for u in range(copies):
            if is_new(hands.sets, span, k, u):
                cell = hands.sets[u * span + k]
                before = hands.table[cell]
                tally[COLLISIONS] += int(before == _ALONE)
                hands.table[cell] = (before << _ALONE) | _ALONE
                arrivals += 1
    tally[MESSAGES] += m
    tally[DESTROYED] += arrivals - heard(hands, span, m, copies)
    return m


@compiled(inline=True)
def is_new(sets: U32, span: int, k: int, u: int) -> bool:
    """Whether no earlier copy of the packet goes to the same relay group."""
    new = True
    for v in range(u):
        new &= bool(sets[v * span + k] != sets[u * span + k])
    return new


@compiled
def heard(hands: Hands, span: int, m: int, copies: int) -> int:
    """How many copies arrived."""
    count = 0
    for k in range(m):
        for u in range(copies):
            if is_new(hands.sets, span, k, u):
                count += int(hands.table[hands.sets[u * span + k]] == _ALONE)
    return count


@compiled
def leave(hands: Hands, m: int, copies: int) -> None:
    """All couplers of the block are silent again."""
    for u in range(copies):
        for k in range(m):
            hands.table[hands.sets[u * len(hands.numbers) + k]] = np.uint8(0)


@compiled(inline=True)
def coupler(ground: Ground, hands: Hands, sets: U32, k: int) -> np.uint64:
    """The coupler of a delivery: from relay group T to the group of the destination."""
    g, at = np.uint64(ground.g), np.uint64(sets[k])
    relay = at - divide(at, ground.by_g) * g
    return divide(np.uint64(hands.targets[k]), ground.by_d) * g + relay


@compiled(inline=True)
def put(couplers: U64, at: np.uint64) -> int:
    """One more message on a coupler: 0 becomes 1, then 3; whether it was alone until now."""
    shift = (at & _31) * _2
    before = (couplers[at >> _5] >> shift) & _3
    couplers[at >> _5] |= ((before << _1 | _1) & _3) << shift
    return int(before == _1)


@compiled(inline=True)
def alone(couplers: U64, at: np.uint64) -> bool:
    """Whether a coupler has one message."""
    return bool((couplers[at >> _5] >> ((at & _31) * _2)) & _3 == _1)
