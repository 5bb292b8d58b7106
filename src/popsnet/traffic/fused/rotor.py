"""rotor, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.splitmix import step_key
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.frame import reduced
from popsnet.traffic.fused.lists import Lists, new_lists, take, with_chunks
from popsnet.traffic.fused.parts import (
    LOST,
    MESSAGES,
    NEXT,
    OWN,
    RELAYED,
    Paper,
    Parts,
    accept,
    deliver,
    gather,
    note_slot,
    release,
)  # fmt: skip
from popsnet.traffic.fused.shelf import (
    HEAD,
    LENGTH,
    Shelf,
    enqueue,
    find,
    larger_records,
    look_at,
    new_shelf,
    pop_stripe,
    settled,
)  # fmt: skip
from popsnet.traffic.fused.spread import hear, keep
from popsnet.traffic.fused.tdm import by_meeting, by_source


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
    stripes, keys, lengths = parts.stripes, parts.keys, parts.lengths
    sent, hops, senders = parts.sent, parts.hops, parts.senders
    records, base, sizes, used, meta = own.records, own.base, own.sizes, own.used, own.meta
    events = parts.events
    group, index, residue, d, g = parts.group, parts.indices, parts.residue, parts.d, parts.g
    sources, destinations, starts = block.sources, block.destinations, block.starts
    for k in range(len(starts) - 1):
        t, low, high = block.begin + k, starts[k], starts[k + 1]
        m = accept(
            t, low, high, sources, destinations, parts.buffer, pool, parts.free, held, state,
            nodes, paper.refused_rows,
        )  # fmt: skip
        by_source(nodes, m, pool, keys)
        by_meeting(nodes, keys, m, pool, group, index, residue, d, g, stripes)
        done = 0
        while done < m:
            done = enqueue(
                records, base, sizes, used, meta, pool, nodes, stripes, keys, lengths, done, m
            )
            if done < m:
                records = larger_records(records, base, sizes, meta, stripes[done])
        _note_surplus(keys, stripes, lengths, m, surplus.rows, surplus.head, surplus.tail,
                      surplus.state)  # fmt: skip
        u = t % (d * g)
        t0, t2 = u % max(d, g), u // max(d, g)
        first = take(
            relayed.rows, relayed.after, relayed.first, relayed.end, relayed.free, relayed.top, u,
            last, t, events, 0,
        )  # fmt: skip
        for q in range(first):
            kept[events[q, 0]] -= 1
        second = pop_stripe(
            records, base, sizes, used, pool, u, last, t, senders, sent, first, spare
        )
        out = _spread(
            t, t0, d, g, records, base, sizes, pool, surplus.rows, surplus.head, surplus.state,
            last, stripes, senders, sent, second,
        )  # fmt: skip
        for q in range(first, out):
            held[senders[q]] -= 1
        state[OWN] -= out - first
        state[RELAYED] -= first
        delivered, stored = hear(
            t0, t2, step_key(public, keeper, t), senders, sent, second, out, d, g, group, index,
            residue, parts.buffer, pool, parts.free, kept, state, nodes, keys,
        )  # fmt: skip
        by_meeting(nodes, keys, stored, pool, group, index, residue, d, g, stripes)
        keep(
            nodes, keys, stripes, stored, pool, relayed.rows, relayed.after, relayed.first,
            relayed.end, relayed.free, relayed.top,
        )  # fmt: skip
        release(nodes, 0, stored, parts.free, state)
        gather(sent, first, delivered, pool, events)
        release(sent, first, delivered, parts.free, state)
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
    t: int, t0: int, d: int, g: int, records: I32, base: I64, sizes: I32, pool: I32, rows: I32,
    head: I32, state: I64, last: I64, stripes: I32, senders: I32, sent: I32, begin: int,
) -> int:  # fmt: skip
    """Take a packet from each sender that is free and has a queue of two or more."""
    free = begin
    if d <= g:
        for p in range(d * g):
            if last[p] != t and head[p] >= 0:
                senders[free] = p
                free += 1
    else:
        for a in range(g):
            for j in range(g):
                p = a * d + reduced(t0 + j, d)
                if last[p] != t and head[p] >= 0:
                    senders[free] = p
                    free += 1
    for q in range(begin, free):
        stripes[q] = rows[head[senders[q]], 0]
    if look_at(records, base, sizes, stripes, senders, begin, free) == -(1 << 62):
        return begin  # never: it keeps the reads
    m = begin
    for q in range(begin, free):
        p = senders[q]
        record = _long_queue(records, base, sizes, rows, head, state, p)
        if record >= 0:
            row = records[record, HEAD]
            records[record, HEAD] = pool[row, NEXT]
            records[record, LENGTH] -= 1
            senders[m], sent[m] = p, row
            m += 1
    return m


@compiled
def _long_queue(
    records: I32, base: I64, sizes: I32, rows: I32, head: I32, state: I64, p: int
) -> int:
    """Return the record of the first queue of the surplus with two packets or more, or -1."""
    while head[p] >= 0:
        row = head[p]
        head[p] = rows[row, 1]
        rows[row, 1] = state[0]
        state[0] = int(row)
        state[1] -= 1
        record = find(records, base, sizes, rows[row, 0], p)
        if record >= 0 and records[record, LENGTH] >= 2:
            return int(record)
    return -1
