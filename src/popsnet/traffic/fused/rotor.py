"""rotor, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.splitmix import step_key
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.frame import frame_slot, reduced
from popsnet.traffic.fused.lists import (
    FROM,
    KEY,
    SINCE,
    TO,
    Lists,
    new_lists,
    take,
    with_chunks,
)  # fmt: skip
from popsnet.traffic.fused.parts import (
    ARRIVAL,
    DESTINATION,
    FREE,
    LOST,
    MESSAGES,
    NEXT,
    OWN,
    REFUSED,
    RELAYED,
    Paper,
    Parts,
    deliver,
    note_slot,
)  # fmt: skip
from popsnet.traffic.fused.shelf import (
    Shelf,
    larger_records,
    look_at,
    new_shelf,
    place,
    settled,
    widen,
)  # fmt: skip
from popsnet.traffic.fused.spread import hear

_TO, _SINCE, _MORE = 1, 2, 3
"""Columns of the records of own queues after the key: the first packet, its destination and slot of
arrival, and the last of the others, -1 if there is none. The others are a ring in the pool."""


class Surplus(NamedTuple):
    """For each processor, the stripes of its queues to which packets came that were not empty.

    A row is (stripe, next row). A processor meets a class in one slot of the frame, so that its
    stripe says which class it is.
    """

    rows: I32
    head: I32
    tail: I32
    state: I64
    """The first free row, and the number of rows in use."""


@dataclass
class Rotor:
    """The kernel of rotor: packets by the slot of the frame in which their class is met."""

    own: Shelf
    relayed: Lists
    surplus: Surplus
    last: I64
    spare: I32
    public: np.uint64
    keeper: np.uint64

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        self.surplus = _with_room(self.surplus, len(block.sources))
        self.relayed = with_chunks(self.relayed, int(parts.state[OWN]) + len(block.sources))
        records = _advance(
            parts, block, paper, self.own, self.relayed, self.surplus, self.last, self.spare,
            self.public, self.keeper,
        )  # fmt: skip
        self.own = settled(self.own, records)


def open_rotor(n: int, public: np.uint64, keeper: np.uint64) -> Rotor:
    """Return the kernel for n processors, with the public seed and the number of a purpose."""
    none = np.full(n, -1, dtype=np.int32)
    rows, state = np.empty((0, 2), dtype=np.int32), np.array([-1, 0])
    return Rotor(
        new_shelf(n), new_lists(n), Surplus(rows, none, none.copy(), state),
        np.full(n, -1, dtype=np.int64), np.empty((n + 1, 4), dtype=np.int32), public, keeper,
    )  # fmt: skip


def _with_room(surplus: Surplus, arrivals: int) -> Surplus:
    size = len(surplus.rows)
    if size - int(surplus.state[1]) >= arrivals:
        return surplus
    rows = np.empty((max(int(surplus.state[1]) + arrivals, size + size // 2, 64), 2), np.int32)
    rows[:size] = surplus.rows
    rows[size:, 1] = np.arange(size + 1, len(rows) + 1)
    rows[-1, 1] = surplus.state[0]
    surplus.state[0] = size
    return surplus._replace(rows=rows)


@compiled
def _advance(
    parts: Parts, block: Block, paper: Paper, own: Shelf, relayed: Lists, surplus: Surplus,
    last: I64, spare: I32, public: np.uint64, keeper: np.uint64,
) -> I32:  # fmt: skip
    pool, held, kept, state, nodes = parts.pool, parts.held, parts.kept, parts.state, parts.nodes
    stripes, keys, lengths, events = parts.stripes, parts.keys, parts.lengths, parts.events
    records, base, sizes, used, meta = own.records, own.base, own.sizes, own.used, own.meta
    group, index, residue, d, g = parts.group, parts.indices, parts.residue, parts.d, parts.g
    sources, destinations, starts = block.sources, block.destinations, block.starts
    hops = parts.hops
    for k in range(len(starts) - 1):
        t, low, high = block.begin + k, starts[k], starts[k + 1]
        m = _accept(
            low, high, sources, destinations, parts.buffer, held, state, paper.refused_rows, group,
            index, residue, d, g, nodes, keys, stripes,
        )  # fmt: skip
        done = 0
        while done < m:
            done = _enqueue(
                t, records, base, sizes, used, meta, pool, parts.free, state, destinations, nodes,
                stripes, keys, lengths, done, m,
            )  # fmt: skip
            if done < m:
                records = larger_records(records, base, sizes, meta, stripes[done])
        _note_surplus(
            keys, stripes, lengths, m, surplus.rows, surplus.head, surplus.tail, surplus.state
        )
        u = t % (d * g)
        t0, t2 = u % max(d, g), u // max(d, g)
        first = take(
            relayed.rows, relayed.after, relayed.first, relayed.end, relayed.free, relayed.top, u,
            last, t, events, 0,
        )  # fmt: skip
        for q in range(first):
            kept[events[q, KEY]] -= 1
        second = _take_own(
            t, u, records, base, sizes, used, pool, parts.free, state, last, events, first, spare,
            parts.nodes,
        )  # fmt: skip
        out = _spread(
            t, t0, d, g, records, base, sizes, pool, parts.free, state, surplus.rows,
            surplus.head, surplus.state, last, stripes, parts.senders, events, second, parts.nodes,
        )  # fmt: skip
        for q in range(first, out):
            held[events[q, KEY]] -= 1
        state[OWN] -= out - first
        state[RELAYED] -= first
        delivered, stored = hear(
            t0, t2, step_key(public, keeper, t), events, second, out, d, g, group, index, residue,
            parts.buffer, kept, state, stripes, parts.coming, relayed.rows, relayed.after,
            relayed.first, relayed.end, relayed.free, relayed.top,
        )  # fmt: skip
        hops[:first] = 2
        hops[first:delivered] = 1
        deliver(
            t, events, hops, delivered, state, parts.words, parts.places, paper.arrival,
            paper.source, paper.destination, paper.hops,
        )  # fmt: skip
        paper.counts[LOST, k] = out - delivered - stored
        paper.counts[MESSAGES, k] = out
        note_slot(k, low, high, m, sources, held, state, paper.counts, paper.ends)
    return records


@compiled
def _accept(
    low: int, high: int, sources: I32, destinations: I32, buffer: int, held: I32, state: I64,
    refused_rows: I64, group: I32, index: I32, residue: I32, d: int, g: int, nodes: I32, keys: I32,
    stripes: I32,
) -> int:  # fmt: skip
    """Write the rows of arrivals that are not refused, and their queues; return how many."""
    m, refused = 0, state[REFUSED]
    for k in range(low, high):
        source, to = sources[k], destinations[k]
        if buffer > 0 and held[source] >= buffer:
            refused_rows[refused] = k
            refused += 1
            continue
        held[source] += 1
        a, i = int(group[source]), int(index[source])
        stripes[m] = frame_slot(a, i, int(group[to]), int(residue[to]), d, g)
        nodes[m], keys[m] = k, source
        m += 1
    state[REFUSED] = refused
    state[OWN] += m
    return m


@compiled
def _enqueue(
    t: int, records: I32, base: I64, sizes: I32, used: I32, meta: I64, pool: I32, free: I32,
    state: I64, destinations: I32, nodes: I32, stripes: I32, keys: I32, lengths: I32, low: int,
    m: int,
) -> int:  # fmt: skip
    """Append arrivals low … m - 1 to queues, and return the first for which there was no room.

    Writes whether each queue had packets.
    """
    if look_at(records, base, sizes, stripes, keys, low, m) == -(1 << 62):
        return low  # never: it keeps the reads
    for k in range(low, m):
        stripe, key, to = int(stripes[k]), keys[k], destinations[nodes[k]]
        if 4 * used[stripe] >= 3 * sizes[stripe] and not widen(records, base, sizes, meta, stripe):
            return k
        first, mask = base[stripe], int(sizes[stripe]) - 1
        at = place(key, mask + 1)
        while records[first + at, KEY] != key and records[first + at, KEY] >= 0:
            at = (at + 1) & mask
        at += first
        lengths[k] = int(records[at, KEY] >= 0)
        if lengths[k] == 0:
            records[at, KEY], records[at, _TO] = key, to
            records[at, _SINCE], records[at, _MORE] = np.int32(t), -1
            used[stripe] += 1
            continue
        state[FREE] -= 1
        row, tail = free[state[FREE]], records[at, _MORE]
        pool[row, DESTINATION], pool[row, ARRIVAL] = to, np.int32(t)
        if tail < 0:
            pool[row, NEXT] = row
        else:
            pool[row, NEXT] = pool[tail, NEXT]
            pool[tail, NEXT] = row
        records[at, _MORE] = row
    return m


@compiled
def _move_up(records: I32, at: I32, m: int, pool: I32, free: I32, state: I64) -> None:
    """Replace the first packets of queues by the second ones, of which there must be some.

    ``at`` has the records of the queues.
    """
    top = state[FREE]
    for k in range(m):
        record = at[k]
        tail = records[record, _MORE]
        row = pool[tail, NEXT]
        records[record, _TO], records[record, _SINCE] = pool[row, DESTINATION], pool[row, ARRIVAL]
        if row == tail:
            records[record, _MORE] = -1
        else:
            pool[tail, NEXT] = pool[row, NEXT]
        free[top] = row
        top += 1
    state[FREE] = top


@compiled
def _take_own(
    t: int, stripe: int, records: I32, base: I64, sizes: I32, used: I32, pool: I32, free: I32,
    state: I64, last: I64, events: I32, begin: int, spare: I32, longer_rows: I32,
) -> int:  # fmt: skip
    """Remove the first packet of every queue of a stripe, unless its source has sent in slot t.

    Writes packets to ``events`` from ``begin`` on, and returns their end.
    """
    first, size = base[stripe], int(sizes[stripe])
    if used[stripe] == 0:
        return begin
    m, left, longer = begin, 0, 0
    for at in range(first, first + size):
        key = records[at, KEY]
        if key < 0:
            continue
        records[at, KEY] = -1
        sends, more = int(last[key] != t), int(records[at, _MORE] >= 0)
        last[key] = t
        events[m, KEY], events[m, TO], events[m, FROM] = key, records[at, _TO], key
        events[m, SINCE] = records[at, _SINCE]
        m += sends
        spare[left, KEY], spare[left, _TO] = key, records[at, _TO]
        spare[left, _SINCE], spare[left, _MORE] = records[at, _SINCE], records[at, _MORE]
        longer_rows[longer] = left
        left += 1 - sends + sends * more
        longer += sends * more
    _move_up(spare, longer_rows, longer, pool, free, state)
    _put_back(records, first, size, spare, left)
    used[stripe] = left
    return m


@compiled
def _put_back(records: I32, first: int, size: int, spare: I32, m: int) -> None:
    """Enter queues into the table of a stripe, which must be empty."""
    for k in range(m):
        at = place(spare[k, KEY], size)
        while records[first + at, KEY] >= 0:
            at = (at + 1) & (size - 1)
        for column in range(4):
            records[first + at, column] = spare[k, column]


@compiled
def _note_surplus(
    keys: I32, stripes: I32, lengths: I32, m: int, rows: I32, head: I32, tail: I32, state: I64
) -> None:
    """Note arrivals at queues that were not empty."""
    for k in range(m):
        if lengths[k] == 0:
            continue
        p, row = keys[k], state[0]
        state[0] = int(rows[row, 1])
        state[1] += 1
        rows[row, 0], rows[row, 1] = stripes[k], -1
        if head[p] < 0:
            head[p] = row
        else:
            rows[tail[p], 1] = row
        tail[p] = row


@compiled
def _spread(
    t: int, t0: int, d: int, g: int, records: I32, base: I64, sizes: I32, pool: I32, free: I32,
    state: I64, rows: I32, head: I32, surplus: I64, last: I64, stripes: I32, senders: I32,
    events: I32, begin: int, found: I32,
) -> int:  # fmt: skip
    """Take a packet from each sender that is free and has a queue of two or more."""
    count = 0
    for a in range(g):
        for x in range(min(d, g)):
            p = a * d + (x if d <= g else reduced(t0 + x, d))
            if last[p] != t and head[p] >= 0:
                senders[count] = p
                count += 1
    for q in range(count):
        stripes[q] = rows[head[senders[q]], 0]
    if look_at(records, base, sizes, stripes, senders, 0, count) == -(1 << 62):
        return begin  # never: it keeps the reads
    m = _find_longer(records, base, sizes, rows, head, surplus, senders, count, found)
    for q in range(m):
        at, p = found[q], senders[q]
        events[begin + q, KEY], events[begin + q, FROM] = p, p
        events[begin + q, TO], events[begin + q, SINCE] = records[at, _TO], records[at, _SINCE]
    _move_up(records, found, m, pool, free, state)
    return begin + m


@compiled
def _find_longer(
    records: I32, base: I64, sizes: I32, rows: I32, head: I32, state: I64, senders: I32,
    count: int, found: I32,
) -> int:  # fmt: skip
    """Find the first queue of two or more packets in the surplus of each sender.

    Writes the senders that have one and the records of these queues, and returns how many.
    """
    m, free, used = 0, state[0], state[1]
    for q in range(count):
        p, record = senders[q], -1
        row = int(head[p])
        while row >= 0 and record < 0:
            stripe, following = rows[row, 0], int(rows[row, 1])
            rows[row, 1] = free
            free, row = row, following
            used -= 1
            first, mask = base[stripe], int(sizes[stripe]) - 1
            at = place(p, mask + 1)
            while records[first + at, KEY] != p and records[first + at, KEY] >= 0:
                at = (at + 1) & mask
            if records[first + at, KEY] == p and records[first + at, _MORE] >= 0:
                record = first + at
        head[p] = row
        senders[m], found[m] = p, record
        m += int(record >= 0)
    state[0], state[1] = free, used
    return m
