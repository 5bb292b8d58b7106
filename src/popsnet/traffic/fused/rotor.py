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
from popsnet.traffic.fused.heads import (
    LOW,
    Heads,
    enlarge,
    home,
    look_at,
    new_heads,
    put_back,
    settled,
    widen,
)  # fmt: skip
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
from popsnet.traffic.fused.spread import hear

_TO, _SINCE = 0, 1
"""Columns of the records of own queues."""


class Surplus(NamedTuple):
    """For each processor, its queues to which packets came that were not empty.

    A row is (stripe, next row, class).
    """

    rows: I32
    head: I32
    tail: I32
    state: I64
    """The first free row, and the number of rows in use."""


class Left(NamedTuple):
    """Records of queues that have packets after a visit, and other places for a slot."""

    records: I32
    tails: I32
    longer: I32
    """Records of queues of two or more packets, of which the first leaves."""
    classes: I32
    """The class of each arrival, or that which each sender spreads."""


@dataclass
class Rotor:
    """The kernel of rotor: packets by the slot of the frame in which their class is met."""

    own: Heads
    relayed: Lists
    surplus: Surplus
    left: Left
    class_of: I32
    last: I64
    public: np.uint64
    keeper: np.uint64

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        self.surplus = _with_room(self.surplus, len(block.sources))
        self.relayed = with_chunks(self.relayed, int(parts.state[OWN]) + len(block.sources))
        if len(self.left.classes) < len(parts.nodes):
            longer, classes = np.empty_like(parts.nodes), np.empty_like(parts.nodes)
            self.left = self.left._replace(longer=longer, classes=classes)
        records, tails = _advance(
            parts, block, paper, self.own, self.relayed, self.surplus, self.left, self.class_of,
            self.last, self.public, self.keeper,
        )  # fmt: skip
        self.own = settled(self.own, records, tails)


def open_rotor(d: int, g: int, public: np.uint64, keeper: np.uint64) -> Rotor:
    """Return the kernel for a network, with the public seed and the number of a purpose."""
    n = d * g
    none = np.full(n, -1, dtype=np.int32)
    rows, state = np.empty((0, 3), dtype=np.int32), np.array([-1, 0])
    left = np.empty((n + 1, 2), dtype=np.int32), *(np.empty(n + 1, np.int32) for _ in range(3))
    number, m = np.arange(n, dtype=np.int32), min(d, g)
    return Rotor(
        new_heads(n), new_lists(n), Surplus(rows, none, none.copy(), state), Left(*left),
        number // np.int32(d) * np.int32(m) + number % np.int32(d) % np.int32(m),
        np.full(n, -1, dtype=np.int64), public, keeper,
    )  # fmt: skip


def _with_room(surplus: Surplus, arrivals: int) -> Surplus:
    size = len(surplus.rows)
    if size - int(surplus.state[1]) >= arrivals:
        return surplus
    rows = np.empty((max(int(surplus.state[1]) + arrivals, size + size // 2, 64), 3), np.int32)
    rows[:size] = surplus.rows
    rows[size:, 1] = np.arange(size + 1, len(rows) + 1)
    rows[-1, 1] = surplus.state[0]
    surplus.state[0] = size
    return surplus._replace(rows=rows)


@compiled
def _advance(
    parts: Parts, block: Block, paper: Paper, own: Heads, relayed: Lists, surplus: Surplus,
    left: Left, class_of: I32, last: I64, public: np.uint64, keeper: np.uint64,
) -> tuple[I32, I32]:  # fmt: skip
    pool, held, kept, state, nodes = parts.pool, parts.held, parts.kept, parts.state, parts.nodes
    stripes, keys, lengths, events = parts.stripes, parts.keys, parts.lengths, parts.events
    records, tails, base, sizes = own.records, own.tails, own.base, own.sizes
    used, meta, longer, classes = own.used, own.meta, left.longer, left.classes
    group, index, residue, d, g = parts.group, parts.indices, parts.residue, parts.d, parts.g
    sources, destinations, starts = block.sources, block.destinations, block.starts
    hops = parts.hops
    for k in range(len(starts) - 1):
        t, low, high = block.begin + k, starts[k], starts[k + 1]
        m = _accept(
            low, high, sources, destinations, parts.buffer, held, state, paper.refused_rows, group,
            index, residue, class_of, d, g, nodes, keys, stripes, classes,
        )  # fmt: skip
        done = 0
        while done < m:
            done, joins = _enqueue(
                t, records, base, sizes, used, destinations, nodes, stripes, classes, class_of,
                done, m, lengths, longer,
            )  # fmt: skip
            _join(
                t, records, tails, lengths, longer, joins, pool, parts.free, state, destinations,
                nodes,
            )  # fmt: skip
            _note_surplus(
                keys, stripes, classes, lengths, joins, surplus.rows, surplus.head, surplus.tail,
                surplus.state,
            )  # fmt: skip
            if done < m and not widen(records, tails, base, sizes, meta, class_of, stripes[done]):
                records, tails = enlarge(records, tails, base, sizes, meta, stripes[done])
        u = t % (d * g)
        t0, t2 = u % max(d, g), u // max(d, g)
        first = take(
            relayed.rows, relayed.after, relayed.first, relayed.end, relayed.free, relayed.top, u,
            last, t, events, 0,
        )  # fmt: skip
        for q in range(first):
            kept[events[q, KEY]] -= 1
        second, stay, two = _take_own(
            t, t0, t2, d, g, base[u], sizes[u], records, tails, group, residue, last, events,
            first, left.records, left.tails, longer, parts.sent,
        )  # fmt: skip
        _move_up(t, left.records, left.tails, longer, two, pool, parts.free, state)
        put_back(records, tails, base[u], sizes[u], left.records, left.tails, 0, stay, class_of)
        used[u] = stay
        spread = _find_senders(
            t, t0, d, g, surplus.rows, surplus.head, last, stripes, parts.senders, classes,
        )  # fmt: skip
        if look_at(records, base, sizes, stripes, classes, spread) == -(1 << 62):
            break  # never: it keeps the reads
        spread = _find_longer(
            records, base, sizes, surplus.rows, surplus.head, surplus.state, class_of,
            parts.senders, spread, longer,
        )  # fmt: skip
        out = second + spread
        _note_spread(t, records, longer, parts.senders, spread, events, second)
        _move_up(t, records, tails, longer, spread, pool, parts.free, state)
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
    return records, tails


@compiled
def _accept(
    low: int, high: int, sources: I32, destinations: I32, buffer: int, held: I32, state: I64,
    refused_rows: I64, group: I32, index: I32, residue: I32, class_of: I32, d: int, g: int,
    nodes: I32, keys: I32, stripes: I32, classes: I32,
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
        nodes[m], keys[m], classes[m] = k, source, class_of[to]
        m += 1
    state[REFUSED] = refused
    state[OWN] += m
    return m


@compiled
def _enqueue(
    t: int, records: I32, base: I64, sizes: I32, used: I32, destinations: I32, nodes: I32,
    stripes: I32, classes: I32, class_of: I32, low: int, m: int, joining: I32, longer: I32,
) -> tuple[int, int]:  # fmt: skip
    """Let arrivals low … m - 1 be first in their queues, if these are empty.

    Writes the others, and the records of their queues. Returns the first arrival for which there
    was no room, and how many others there are. Branches that depend on queues would cost more than
    all else.
    """
    n, now, done, joins = len(base), np.int32(t & LOW), m, 0
    if look_at(records, base, sizes, stripes, classes, m) == -(1 << 62):
        return low, 0  # never: it keeps the reads
    for k in range(low, m):
        stripe, one, size = int(stripes[k]), classes[k], int(sizes[stripes[k]])
        first, at = base[stripe], home(one, size)
        if size < n:
            if 4 * used[stripe] >= 3 * size:
                done = k
                break
            while records[first + at, _TO] >= 0 and class_of[records[first + at, _TO]] != one:
                at = (at + 1) & (size - 1)
        at += first
        to, since, new = records[at, _TO], records[at, _SINCE], destinations[nodes[k]]
        has = int(to >= 0)
        records[at, _TO] = to if has else new
        records[at, _SINCE] = since if has else now
        used[stripe] += 1 - has
        joining[joins], longer[joins] = k, at
        joins += has
    return done, joins


@compiled
def _join(
    t: int, records: I32, tails: I32, joining: I32, at: I32, m: int, pool: I32, free: I32,
    state: I64, destinations: I32, nodes: I32,
) -> None:  # fmt: skip
    """Append arrivals to queues that have packets."""
    top, since = state[FREE], np.int32(t & LOW)
    for q in range(m):
        record, to = at[q], destinations[nodes[joining[q]]]
        top -= 1
        row, before = free[top], records[record, _SINCE]
        pool[row, DESTINATION], pool[row, ARRIVAL], pool[row, NEXT] = to, since, row
        if before >= 0:
            records[record, _SINCE] = ~before
        else:
            pool[row, NEXT] = pool[tails[record], NEXT]
            pool[tails[record], NEXT] = row
        tails[record] = row
    state[FREE] = top


@compiled
def _move_up(
    t: int, records: I32, tails: I32, at: I32, m: int, pool: I32, free: I32, state: I64
) -> None:
    """Replace the first packets of queues by the second ones, of which there must be some.

    ``at`` has the records of the queues.
    """
    top = state[FREE]
    for k in range(m):
        record = at[k]
        tail = tails[record]
        row = pool[tail, NEXT]
        pool[tail, NEXT] = pool[row, NEXT]
        since = pool[row, ARRIVAL]
        records[record, _TO] = pool[row, DESTINATION]
        records[record, _SINCE] = since if row == tail else ~since
        free[top] = row
        top += 1
    state[FREE] = top


@compiled(inline=True)
def _slot_of(t: int, since: int) -> np.int32:
    """Return the low bits of the slot of arrival of a record, as the rows of packets have it."""
    since = ~since if since < 0 else since
    return np.int32(t - ((t - since) & LOW))


@compiled
def _find_used(records: I32, first: int, size: int, full: I32) -> int:
    """Write which records of a segment are in use, and return how many are."""
    m = 0
    for k in range(size):
        full[m] = k
        m += int(records[first + k, _TO] >= 0)
    return m


@compiled
def _take_own(
    t: int, t0: int, t2: int, d: int, g: int, first: int, size: int, records: I32, tails: I32,
    group: I32, residue: I32, last: I64, events: I32, begin: int, left: I32, left_tails: I32,
    longer: I32, full: I32,
) -> tuple[int, int, int]:  # fmt: skip
    """Remove the first packet of every queue of a segment, unless its source has sent in slot t.

    Writes packets to ``events`` from ``begin`` on. Returns their end, and how many queues have
    packets left, which are moved to ``left``. Of how many of these the first packet has left, too.
    """
    m, stay, two = begin, 0, 0
    for q in range(_find_used(records, first, size, full)):
        at = int(first) + full[q]
        to, since = records[at, _TO], records[at, _SINCE]
        records[at, _TO] = -1
        b, r = int(group[to]), int(residue[to])
        if d <= g:
            i = reduced(r - t2, d)
            a = reduced(reduced(b - i, g) + t0, g)
        else:
            j = reduced(r - t2, g)
            a, i = reduced(b - j, g), reduced(j + t0, d)
        p = a * d + i
        sends, more = int(last[p] != t), int(since < 0)
        last[p] = t
        events[m, KEY], events[m, TO], events[m, FROM] = p, to, p
        events[m, SINCE] = _slot_of(t, int(since))
        m += sends
        left[stay, _TO], left[stay, _SINCE] = to, since
        if more:
            left_tails[stay] = tails[at]
        longer[two] = stay
        two += sends & more
        stay += 1 - sends + (sends & more)
    return m, stay, two


@compiled
def _note_surplus(
    keys: I32, stripes: I32, classes: I32, joining: I32, m: int, rows: I32, head: I32, tail: I32,
    state: I64,
) -> None:  # fmt: skip
    """Note arrivals at queues that were not empty."""
    free = state[0]
    for q in range(m):
        k = joining[q]
        p, row = keys[k], free
        free = int(rows[row, 1])
        rows[row, 0], rows[row, 1], rows[row, 2] = stripes[k], -1, classes[k]
        if head[p] < 0:
            head[p] = row
        else:
            rows[tail[p], 1] = row
        tail[p] = row
    state[0] = free
    state[1] += m


@compiled
def _find_senders(
    t: int, t0: int, d: int, g: int, rows: I32, head: I32, last: I64, stripes: I32, senders: I32,
    classes: I32,
) -> int:  # fmt: skip
    """Write the senders that are free and have a surplus, and the first queues of these."""
    m = 0
    if d <= g:
        for p in range(d * g):
            senders[m] = p
            m += int(last[p] != t) & int(head[p] >= 0)
    else:
        for a in range(g):
            for j in range(g):
                p = a * d + reduced(t0 + j, d)
                senders[m] = p
                m += int(last[p] != t) & int(head[p] >= 0)
    for q in range(m):
        row = head[senders[q]]
        stripes[q], classes[q] = rows[row, 0], rows[row, 2]
    return m


@compiled
def _find_longer(
    records: I32, base: I64, sizes: I32, rows: I32, head: I32, state: I64, class_of: I32,
    senders: I32, count: int, found: I32,
) -> int:  # fmt: skip
    """Find the first queue of two or more packets in the surplus of each sender.

    Writes the senders that have one and the records of these queues, and returns how many.
    """
    m, free, used = 0, state[0], state[1]
    for q in range(count):
        p, record = senders[q], -1
        row = int(head[p])
        while row >= 0 and record < 0:
            stripe, following, one = int(rows[row, 0]), int(rows[row, 1]), rows[row, 2]
            rows[row, 1] = free
            free, row = row, following
            used -= 1
            first, size = base[stripe], int(sizes[stripe])
            at = home(one, size)
            while records[first + at, _TO] >= 0 and class_of[records[first + at, _TO]] != one:
                at = (at + 1) & (size - 1)
            if records[first + at, _TO] >= 0 and records[first + at, _SINCE] < 0:
                record = first + at
        head[p] = row
        senders[m], found[m] = p, record
        m += int(record >= 0)
    state[0], state[1] = free, used
    return m


@compiled
def _note_spread(
    t: int, records: I32, at: I32, senders: I32, m: int, events: I32, begin: int
) -> None:
    """Write the first packets of queues to ``events``, from ``begin`` on."""
    for q in range(m):
        p, record = senders[q], at[q]
        events[begin + q, KEY], events[begin + q, FROM] = p, p
        events[begin + q, TO] = records[record, _TO]
        events[begin + q, SINCE] = _slot_of(t, int(records[record, _SINCE]))
