"""Grid, XY: what it comes to for the packets of some blocks.

A coupler (T, a) is used in one attempt slot only, and the relays (T, l) that hear the groups of a
block hear no others. So blocks do not meet at all. A relay stores one packet for each v, the one it
heard first; which (T, v) are in use is found by hashing.
"""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.passes import I64, U32, U64
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
    divide,
)
from popsnet.engines.fused.relay.park import by_turn, occupy, pick_alone
from popsnet.engines.fused.relay.ways import is_hungry, load, put_bit, strike
from popsnet.splitmix import mix

_0, _1 = np.uint64(0), np.uint64(1)


@compiled
def grid(
    ground: Ground, packets: Packets, hands: Hands, rows: U64, table: U32, x: int, shift: int,
    first: int, last: int, tally: I64,
) -> None:  # fmt: skip
    """A stage of x attempt slots."""
    for block in range(first, last):
        if hands.stop[0] != 0:
            return
        m = load(ground, packets, packets.pending, hands, block)
        find_places(ground, rows, table, ground.width, m, hands)
        m = aim(ground, hands, block, m, x, shift)
        tally[MESSAGES] += m
        alone = attempt(ground, hands, m, tally)
        tally[DESTROYED] += m - alone
        hands.struck[:] = _0
        store(ground, packets, hands, block, alone, x, tally)
        tally[HOME] += strike(ground, packets.hungry, hands.struck, block)
        tally[ACKED] += strike(ground, packets.pending, hands.struck, block)


@compiled
def aim(ground: Ground, hands: Hands, block: int, m: int, x: int, shift: int) -> int:
    """The slot u, the relay group T and v of each packet that has a T; how many have.

    Here ``sets`` are the T and ``classes`` the v.
    """
    s = 0
    for k in range(m):
        number, place = hands.numbers[k], np.int64(hands.places[k])
        a = block * ground.rows + np.int64(divide(np.uint64(number), ground.by_d))
        delta = (a - place - shift) % ground.superclasses
        relay = (place + delta // x * x) % ground.width
        hands.numbers[s], hands.sets[s] = number, relay
        hands.turns[s], hands.classes[s] = delta % x, delta // x
        s += int(relay < ground.g)
    return s


@compiled
def attempt(ground: Ground, hands: Hands, m: int, tally: I64) -> int:
    """Source groups one after another on their couplers; how many packets are alone."""
    alone, start = 0, 0
    while start < m:
        a, end = divide(np.uint64(hands.numbers[start]), ground.by_d), start
        while end < m and divide(np.uint64(hands.numbers[end]), ground.by_d) == a:
            end += 1
        cells, out = hands.sets[start:end], hands.alone[alone:]
        tally[COLLISIONS] += occupy(cells, end - start, hands.table)
        found = pick_alone(cells, end - start, hands.table, out)
        for q in range(found):
            out[q] += np.uint32(start)
        for k in range(end - start):
            hands.table[cells[k]] = np.uint8(0)
        alone += found
        start = end
    return alone


@compiled
def store(
    ground: Ground, packets: Packets, hands: Hands, block: int, alone: int, x: int, tally: I64
) -> None:
    """Relays store what they hear first for each v; it is delivered and acked."""
    order, first_word = by_turn(hands, alone, x), block * ground.words
    taken = room_for(hands.taken, alone)
    hands.acked[:] = 0
    relays, stored, latest = 0, 0, 0
    for q in range(alone):
        p = order[q]
        relay, v = np.uint64(hands.sets[p]), np.uint64(hands.classes[p])
        if not take(taken, relay * np.uint64(ground.superclasses) + v + _1):
            continue
        stored += 1
        relays += int(hands.acked[relay] == 0)
        hands.acked[relay] = 1
        number = np.uint64(hands.numbers[p])
        put_bit(hands.struck, number, _1)
        if is_hungry(packets, first_word, number) == _1:
            latest = max(latest, x + int(v) + 1)
    tally[MESSAGES] += stored + relays
    tally[LAST] = max(tally[LAST], latest)
    if stored > 0:
        tally[BITS] = max(tally[BITS], x)


@compiled
def room_for(cells: U64, keys: int) -> U64:
    """As many empty cells, a power of two, as so many keys half fill at most."""
    size = 2
    while size < 2 * keys:
        size *= 2
    cells[:size] = _0
    return cells[:size]


@compiled(inline=True)
def take(taken: U64, key: np.uint64) -> bool:
    """Whether nobody has the key yet; from now on somebody has."""
    last = np.uint64(len(taken) - 1)
    at = mix(key) & last
    while taken[at] != _0:
        if taken[at] == key:
            return False
        at = (at + _1) & last
    taken[at] = key
    return True
