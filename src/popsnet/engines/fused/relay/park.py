"""Park and sweep, P and S: what they come to for the packets of some blocks.

Attempts contend on couplers (T, a) of one source group, and nothing else contends. Members of a set
(T, a) agree on who stores what, so a set is a row of counters: how many more of each class.
"""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.passes import I64, U8, U32, U64
from popsnet.engines.fused.relay.bijections import find_places
from popsnet.engines.fused.relay.ground import (
    ACKED,
    BITS,
    COLLISIONS,
    DESTROYED,
    HOME,
    LAST,
    MESSAGES,
    Ground,
    Hands,
    Packets,
)
from popsnet.engines.fused.relay.ways import is_hungry, load, put_bit, split, strike
from popsnet.splitmix import word

_0, _1, _6, _63, _32 = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63), np.uint64(32)
_ALONE = np.uint8(1)


@compiled
def park(
    ground: Ground, packets: Packets, hands: Hands, rows: U64, table: U32, windows: I64,
    keys: U64, swept: bool, first: int, last: int, tally: I64,
) -> None:  # fmt: skip
    """A stage with these windows; ``keys`` are of the coins of each, which a sweep does not use."""
    before = windows.sum() + (len(windows) if len(windows) > 1 else 0)  # slots before deliveries
    for block in range(first, last):
        if hands.stop[0] != 0:
            return
        m = load(ground, packets, packets.pending, hands, block)
        find_places(ground, rows, table, ground.d, m, hands)
        split(ground, hands.numbers, hands.places, m, hands.sets, hands.classes)
        hands.struck[:] = _0
        if len(windows) == 1 and windows[0] == 1 and ground.k == 1:
            try_once(hands, m, tally)
        else:
            make_room(ground, hands, block)
            for i in range(len(windows)):
                if i > 0:
                    m = still_pending(hands, m)
                start = np.uint64(block * ground.rows * ground.d)
                choose_turns(keys[i], start, m, windows[i], swept, hands)
                try_window(ground, packets, hands, block, m, i, windows[i], before, tally)
        home = strike(ground, packets.hungry, hands.struck, block)
        tally[HOME] += home
        tally[ACKED] += strike(ground, packets.pending, hands.struck, block)
        if home > 0 and ground.k == 1:  # with more classes, store knows
            tally[LAST] = before + 1


@compiled
def try_once(hands: Hands, m: int, tally: I64) -> None:
    """One slot, one class: whoever is alone is stored, delivered and acked."""
    tally[COLLISIONS] += occupy(hands.sets, m, hands.table)
    alone = np.uint64(0)
    for k in range(m):
        bit = np.uint64(hands.table[hands.sets[k]] == _ALONE)
        put_bit(hands.struck, np.uint64(hands.numbers[k]), bit)
        alone += bit
    vacate(hands.sets, m, hands.table)
    stored = int(np.int64(alone))
    tally[MESSAGES] += m + 2 * stored
    tally[DESTROYED] += m - stored


@compiled
def try_window(
    ground: Ground, packets: Packets, hands: Hands, block: int, m: int, number: int, window: int,
    before: int, tally: I64,
) -> None:  # fmt: skip
    """One window: all send in their slots, and the sets store."""
    width = np.uint32(window)
    for k in range(m):
        hands.cells[k] = np.uint32(hands.sets[k] * width) + hands.turns[k]
    tally[COLLISIONS] += occupy(hands.cells, m, hands.table)
    alone = pick_alone(hands.cells, m, hands.table, hands.alone)
    vacate(hands.cells, m, hands.table)
    tally[MESSAGES] += m
    tally[DESTROYED] += m - alone
    store(
        ground,
        packets,
        hands,
        block,
        by_turn(hands, alone, window),
        alone,
        number,
        window,
        before,
        tally,
    )


@compiled
def make_room(ground: Ground, hands: Hands, block: int) -> None:
    """A set (T, a) has as many members as there are indices a, a + g, a + 2g, … below d."""
    width = ground.g * ground.k
    for row in range(min(ground.rows, ground.g - block * ground.rows)):
        a = block * ground.rows + row
        hands.left[row * width : (row + 1) * width] = (ground.d - a + ground.g - 1) // ground.g
    hands.acked[:] = 0


@compiled
def still_pending(hands: Hands, m: int) -> int:
    """Keep those who had no ack in an earlier window."""
    s = _0
    for k in range(m):
        number = np.uint64(hands.numbers[k])
        hands.numbers[s] = number
        hands.sets[s], hands.classes[s] = hands.sets[k], hands.classes[k]
        s += _1 ^ ((hands.struck[number >> _6] >> (number & _63)) & _1)
    return int(np.int64(s))


@compiled
def choose_turns(
    key: np.uint64, start: np.uint64, m: int, window: int, swept: bool, hands: Hands
) -> None:
    """In which slot of the window each source tries: its private coin, or its class."""
    bound = np.uint64(window)
    if swept:
        for k in range(m):
            hands.turns[k] = hands.classes[k]
        return
    for k in range(m):
        drawn = word(key, start + np.uint64(hands.numbers[k])) >> _32
        hands.turns[k] = (drawn * bound) >> _32


@compiled
def occupy(cells: U32, m: int, table: U8) -> int:
    """One more in each cell: it goes from 0 to 1, 3, 7, …; how many cells came to have two."""
    collided = np.uint64(0)
    for k in range(m):
        before = table[cells[k]]
        collided += np.uint64(before == _ALONE)
        table[cells[k]] = (before << _ALONE) | _ALONE
    return int(np.int64(collided))


@compiled
def pick_alone(cells: U32, m: int, table: U8, out: U32) -> int:
    """The positions of those who are alone in their cell."""
    s = np.uint64(0)
    for k in range(m):
        out[s] = k
        s += np.uint64(table[cells[k]] == _ALONE)
    return int(np.int64(s))


@compiled
def vacate(cells: U32, m: int, table: U8) -> None:
    """Make all cells empty again, one by one if few were in use."""
    if m > len(table) // 16:
        table[:] = np.uint8(0)
        return
    for k in range(m):
        table[cells[k]] = np.uint8(0)


@compiled
def by_turn(hands: Hands, alone: int, window: int) -> U32:
    """The positions of those alone, in the order of their slots: a counting sort."""
    if window == 1:
        return hands.alone
    starts = hands.starts
    starts[: window + 1] = 0
    for q in range(alone):
        starts[hands.turns[hands.alone[q]] + 1] += 1
    for turn in range(window):
        starts[turn + 1] += starts[turn]
    for q in range(alone):
        turn = hands.turns[hands.alone[q]]
        hands.order[starts[turn]] = hands.alone[q]
        starts[turn] += 1
    return hands.order


@compiled
def store(
    ground: Ground, packets: Packets, hands: Hands, block: int, order: U32, alone: int,
    number: int, window: int, before: int, tally: I64,
) -> None:  # fmt: skip
    """Sets store in the order of slots what they have room for; it is delivered and acked."""
    k, first_word, stamp = np.uint64(ground.k), block * ground.words, np.uint16(number + 1)
    acks, stored, latest = _0, _0, _0
    for q in range(alone):
        p = order[q]
        at, which, packet = hands.sets[p], hands.classes[p], np.uint64(hands.numbers[p])
        room = np.uint64(at) * k + np.uint64(which)
        free = np.uint64(hands.left[room] > 0)
        hands.left[room] -= np.uint32(free)
        stored += free
        acks += free & np.uint64(hands.acked[at] != stamp)
        hands.acked[at] = stamp if free else hands.acked[at]
        put_bit(hands.struck, packet, free)
        latest = max(latest, (free & is_hungry(packets, first_word, packet)) * (_1 + which))
    tally[MESSAGES] += int(np.int64(stored + acks))
    tally[LAST] = max(tally[LAST], before + int(np.int64(latest)) if latest > _0 else 0)
    tally[BITS] = max(tally[BITS], window if stored > _0 else 0)
