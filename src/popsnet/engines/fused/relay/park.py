"""Park and sweep, P and S, for the packets of some blocks.

Attempts contend on couplers (T, a) of one source group, and nothing else contends. Members of a set
(T, a) agree which of them stores a packet, so a set is a row of counters: the room for each class.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import scaled, word
from popsnet.engines.fused.arrays import I64, U8, U32, U64
from popsnet.engines.fused.bits import divide
from popsnet.engines.fused.relay.bijections import find_places, keep_ahead, place_of, relay_of
from popsnet.engines.fused.relay.layout import (
    Bijections,
    BlockRange,
    RelayLayout,
    RelayPackets,
    RelayPlaces,
    RelayTally,
    RelayWorkspace,
)
from popsnet.engines.fused.relay.pending import is_undelivered, load, put_bit, remove, split

_0, _1, _6, _63 = np.uint64(0), np.uint64(1), np.uint64(6), np.uint64(63)
_ALONE = np.uint8(1)


class Windows(NamedTuple):
    """The windows of a stage, and the keys of their coins, unused by a sweep."""

    lengths: I64
    keys: U64
    swept: bool


class RelayWindow(NamedTuple):
    """One of these windows."""

    number: int
    length: int
    before: int
    """Slots of the stage before deliveries."""
    passed: int
    """Attempts of the windows before this one."""


@compiled
def park(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, places: RelayPlaces,
    windows: Windows, following: Bijections, blocks: BlockRange, tally: RelayTally,
) -> None:  # fmt: skip
    """Execute a stage with these windows."""
    lengths, keys, swept = windows
    before = lengths.sum() + (len(lengths) if len(lengths) > 1 else 0)
    for block in range(blocks.first, blocks.last):
        if work.stop[0] != 0:
            return
        m = load(layout, packets, packets.pending, work, block)
        find_places(layout, places, layout.d, m, work)
        split(layout, work.numbers, work.places, m, work.sets, work.classes)
        work.removed[:] = _0
        work.earliest[:] = 0
        if len(lengths) == 1 and lengths[0] == 1 and layout.k == 1:
            try_once(layout, packets, work, block, m, following, tally)
        else:
            make_room(layout, work, block)
            passed = 0
            for i in range(len(lengths)):
                if i > 0:
                    m = still_pending(work, m)
                start = np.uint64(block * layout.rows * layout.d)
                choose_turns(keys[i], start, m, lengths[i], swept, work)
                window = RelayWindow(i, lengths[i], before, passed)
                try_window(layout, packets, work, block, m, window, following, tally)
                passed += lengths[i]
        delivered = remove(layout, packets.undelivered, work.removed, block)
        tally.delivered += delivered
        tally.acked += remove(layout, packets.pending, work.removed, block)
        if delivered > 0 and layout.k == 1:  # with more classes, store knows
            tally.last_slot = before + 1


@compiled
def try_once(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, block: int, m: int,
    following: Bijections, tally: RelayTally,
) -> None:  # fmt: skip
    """Execute one slot for one class: a packet alone is stored, delivered and acknowledged."""
    window = RelayWindow(0, 1, 1, 0)
    tally.collisions += occupy(work.sets, m, work.table)
    early = send_early(layout, work, block, m, work.sets, window, following)
    tally.collisions += occupy(work.early_cells, early, work.table)
    alone = np.uint64(0)
    for k in range(m):
        bit = np.uint64(work.table[work.sets[k]] == _ALONE)
        put_bit(work.removed, np.uint64(work.numbers[k]), bit)
        alone += bit
    keep_early(layout, packets, work, block, early, window, following, tally)
    vacate(work.sets, m, work.table)
    vacate(work.early_cells, early, work.table)
    stored = int(np.int64(alone))
    tally.messages += m + 2 * stored
    tally.destroyed += m - stored


@compiled
def try_window(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, block: int, m: int,
    window: RelayWindow, following: Bijections, tally: RelayTally,
) -> None:  # fmt: skip
    """Execute a window: all send in their slots, and the sets store."""
    width = np.uint32(window.length)
    for k in range(m):
        work.cells[k] = np.uint32(work.sets[k] * width) + work.turns[k]
    tally.collisions += occupy(work.cells, m, work.table)
    early = send_early(layout, work, block, m, work.cells, window, following)
    tally.collisions += occupy(work.early_cells, early, work.table)
    alone = pick_alone(work.cells, m, work.table, work.alone)
    keep_early(layout, packets, work, block, early, window, following, tally)
    vacate(work.cells, m, work.table)
    vacate(work.early_cells, early, work.table)
    tally.messages += m
    tally.destroyed += m - alone
    store(layout, packets, work, block, alone, window, tally)


@compiled
def send_early(
    layout: RelayLayout, work: RelayWorkspace, block: int, m: int, cells: U32, window: RelayWindow,
    following: Bijections,
) -> int:  # fmt: skip
    """Write the cells of copies for the next stage, of packets for their own group."""
    g, count, first, length = layout.g, 0, block * layout.rows, window.length
    for k in range(m if following.copies > 0 else 0):
        group = divide(np.uint64(work.targets[k]), layout.by_d)
        row = divide(np.uint64(work.numbers[k]), layout.by_d)
        if group != np.uint64(first) + row:
            continue
        start, turn = count, int(work.turns[k]) if length > 1 else 0
        for u in range(following.copies):
            relay = relay_of(layout, place_of(layout, following.rows, u, work.targets[k]))
            cell = np.uint32((int(row) * g + relay) * length + turn)
            new = bool(cell != cells[k])
            for e in range(start, count):
                new &= bool(cell != work.early_cells[e])
            work.early[count], work.early_cells[count] = np.uint32(k), cell
            count += int(new)
    return count


@compiled
def keep_early(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, block: int, early: int,
    window: RelayWindow, following: Bijections, tally: RelayTally,
) -> None:  # fmt: skip
    """Let every relay keep the first copy for the next stage that it hears."""
    length, passed = window.length, window.passed
    for e in range(early):
        cell = int(work.early_cells[e])
        if work.table[cell] == _ALONE:
            at, attempt = cell // length, np.uint32(passed + cell % length + 1)
            if work.earliest[at] == 0 or work.earliest[at] > attempt:
                work.earliest[at] = attempt
    for e in range(early):
        cell = int(work.early_cells[e])
        tally.destroyed += int(work.table[cell] != _ALONE)
        when = passed + cell % length + 1
        if work.table[cell] == _ALONE and work.earliest[cell // length] == when:
            k = work.early[e]
            source = np.uint32(np.uint32(block * layout.rows * layout.d) + work.numbers[k])
            relay = cell // length % layout.g
            keep_ahead(layout, packets, following, source, work.targets[k], relay)


@compiled
def make_room(layout: RelayLayout, work: RelayWorkspace, block: int) -> None:
    """Give a set (T, a) room for its members, the indices a, a + g, a + 2g, … below d."""
    width = layout.g * layout.k
    for row in range(min(layout.rows, layout.g - block * layout.rows)):
        a = block * layout.rows + row
        work.room[row * width : (row + 1) * width] = (layout.d - a + layout.g - 1) // layout.g
    work.acked[:] = 0


@compiled
def still_pending(work: RelayWorkspace, m: int) -> int:
    """Keep packets without an ack in an earlier window."""
    s = _0
    for k in range(m):
        number = np.uint64(work.numbers[k])
        work.numbers[s], work.targets[s] = number, work.targets[k]
        work.sets[s], work.classes[s] = work.sets[k], work.classes[k]
        s += _1 ^ ((work.removed[number >> _6] >> (number & _63)) & _1)
    return int(np.int64(s))


@compiled
def choose_turns(
    key: np.uint64, start: np.uint64, m: int, window: int, swept: bool, work: RelayWorkspace
) -> None:
    """Choose the slot of the window in which each source tries, by its coin or its class."""
    bound = np.uint64(window)
    if swept:
        for k in range(m):
            work.turns[k] = work.classes[k]
        return
    for k in range(m):
        work.turns[k] = scaled(word(key, start + np.uint64(work.numbers[k])), bound)


@compiled
def occupy(cells: U32, m: int, table: U8) -> int:
    """Add one to each cell (0, 1, 3, 7, …), and return how many cells then have two."""
    collided = np.uint64(0)
    for k in range(m):
        before = table[cells[k]]
        collided += np.uint64(before == _ALONE)
        table[cells[k]] = (before << _ALONE) | _ALONE
    return int(np.int64(collided))


@compiled
def pick_alone(cells: U32, m: int, table: U8, out: U32) -> int:
    """Write the positions of packets that are alone in their cells."""
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
def by_turn(work: RelayWorkspace, alone: int, window: int) -> U32:
    """Sort the positions of packets alone by their slots, by counting."""
    if window == 1:
        return work.alone
    starts = work.starts
    starts[: window + 1] = 0
    for q in range(alone):
        starts[work.turns[work.alone[q]] + 1] += 1
    for turn in range(window):
        starts[turn + 1] += starts[turn]
    for q in range(alone):
        turn = work.turns[work.alone[q]]
        work.order[starts[turn]] = work.alone[q]
        starts[turn] += 1
    return work.order


@compiled
def store(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, block: int, alone: int,
    window: RelayWindow, tally: RelayTally,
) -> None:  # fmt: skip
    """Store what sets have room for, in the order of slots, deliver and acknowledge it."""
    k, first_word, stamp = np.uint64(layout.k), block * layout.words, np.uint16(window.number + 1)
    order, acks, stored, latest = by_turn(work, alone, window.length), _0, _0, _0
    for q in range(alone):
        p = order[q]
        at, which, packet = work.sets[p], work.classes[p], np.uint64(work.numbers[p])
        room = np.uint64(at) * k + np.uint64(which)
        free = np.uint64(work.room[room] > 0)
        work.room[room] -= np.uint32(free)
        stored += free
        acks += free & np.uint64(work.acked[at] != stamp)
        work.acked[at] = stamp if free else work.acked[at]
        put_bit(work.removed, packet, free)
        latest = max(latest, (free & is_undelivered(packets, first_word, packet)) * (_1 + which))
    tally.messages += int(np.int64(stored + acks))
    delivered = window.before + int(np.int64(latest)) if latest > _0 else 0
    tally.last_slot = max(tally.last_slot, delivered)
    tally.bits = max(tally.bits, window.length if stored > _0 else 0)
