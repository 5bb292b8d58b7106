"""Grid, XY, for the packets of some blocks.

A coupler (T, a) is used in one attempt slot only, and the relays (T, l) that hear the groups of a
block hear no others. So blocks do not meet at all. A relay stores one packet for each v, the one it
heard first. Which (T, v) are in use is found by hashing.
"""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import mix
from popsnet.engines.fused.arrays import U64
from popsnet.engines.fused.bits import divide, remainder
from popsnet.engines.fused.relay.bijections import find_places
from popsnet.engines.fused.relay.layout import (
    BlockRange,
    RelayLayout,
    RelayPackets,
    RelayPlaces,
    RelayTally,
    RelayWorkspace,
)
from popsnet.engines.fused.relay.park import by_turn, occupy, pick_alone
from popsnet.engines.fused.relay.pending import is_undelivered, load, put_bit, remove

_0, _1 = np.uint64(0), np.uint64(1)


@compiled
def grid(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, places: RelayPlaces, x: int,
    shift: int, blocks: BlockRange, tally: RelayTally,
) -> None:  # fmt: skip
    """Execute a stage of x attempt slots."""
    for block in range(blocks.first, blocks.last):
        if work.stop[0] != 0:
            return
        m = load(layout, packets, packets.pending, work, block)
        find_places(layout, places, layout.width, m, work)
        m = aim(layout, work, block, m, x, shift)
        tally.messages += m
        alone = attempt(layout, work, m, tally)
        tally.destroyed += m - alone
        work.removed[:] = _0
        store(layout, packets, work, block, alone, x, tally)
        tally.delivered += remove(layout, packets.undelivered, work.removed, block)
        tally.acked += remove(layout, packets.pending, work.removed, block)


@compiled
def aim(layout: RelayLayout, work: RelayWorkspace, block: int, m: int, x: int, shift: int) -> int:
    """Write slot u, relay group T and v of each packet that has a T, and return how many have.

    Here ``sets`` are the T and ``classes`` the v.
    """
    g, width, slots, s = np.uint64(layout.g), np.uint64(layout.width), np.uint64(x), _0
    superclasses, each, per_slot = np.uint64(layout.superclasses), 1 / layout.superclasses, 1 / x
    above = np.uint64(block * layout.rows + layout.width + layout.superclasses - shift)
    for k in range(m):
        number, place = work.numbers[k], np.uint64(work.places[k])
        a = divide(np.uint64(number), layout.by_d)
        delta = remainder(above + a - place, superclasses, each)
        turn = remainder(delta, slots, per_slot)
        whole = delta - turn
        relay = place + whole
        relay -= width * np.uint64(relay >= width)
        work.numbers[s], work.sets[s], work.turns[s] = number, relay, turn
        work.classes[s] = np.uint64(float(whole) * per_slot + 0.5)
        s += np.uint64(relay < g)
    return int(np.int64(s))


@compiled
def attempt(layout: RelayLayout, work: RelayWorkspace, m: int, tally: RelayTally) -> int:
    """Put source groups one by one on their couplers, and return how many packets are alone."""
    alone, start = 0, 0
    while start < m:
        a, end = divide(np.uint64(work.numbers[start]), layout.by_d), start
        while end < m and divide(np.uint64(work.numbers[end]), layout.by_d) == a:
            end += 1
        cells, out = work.sets[start:end], work.alone[alone:]
        tally.collisions += occupy(cells, end - start, work.table)
        count = pick_alone(cells, end - start, work.table, out)
        for q in range(count):
            out[q] += np.uint32(start)
        for k in range(end - start):
            work.table[cells[k]] = np.uint8(0)
        alone += count
        start = end
    return alone


@compiled
def store(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, block: int, alone: int,
    x: int, tally: RelayTally,
) -> None:  # fmt: skip
    """Store at relays what they hear first for each v, deliver it and acknowledge it."""
    order, first_word = by_turn(work, alone, x), block * layout.words
    taken = room_for(work.used, alone)
    work.acked[:] = 0
    relays, stored, latest = 0, 0, 0
    for q in range(alone):
        p = order[q]
        relay, v = np.uint64(work.sets[p]), np.uint64(work.classes[p])
        if not take(taken, relay * np.uint64(layout.superclasses) + v + _1):
            continue
        stored += 1
        relays += int(work.acked[relay] == 0)
        work.acked[relay] = 1
        number = np.uint64(work.numbers[p])
        put_bit(work.removed, number, _1)
        if is_undelivered(packets, first_word, number) == _1:
            latest = max(latest, x + int(v) + 1)
    tally.messages += stored + relays
    tally.last_slot = max(tally.last_slot, latest)
    if stored > 0:
        tally.bits = max(tally.bits, x)


@compiled
def room_for(cells: U64, keys: int) -> U64:
    """Return empty cells, a power of two of them, that this many keys fill at most by half."""
    size = 2
    while size < 2 * keys:
        size *= 2
    cells[:size] = _0
    return cells[:size]


@compiled(inline=True)
def take(taken: U64, key: np.uint64) -> bool:
    """Take a key, and return whether it was free."""
    last = np.uint64(len(taken) - 1)
    at = mix(key) & last
    while taken[at] != _0:
        if taken[at] == key:
            return False
        at = (at + _1) & last
    taken[at] = key
    return True
