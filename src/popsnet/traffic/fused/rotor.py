"""rotor, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.splitmix import step_key
from popsnet.traffic.block import Block
from popsnet.traffic.fused.frame import frame_slot, reduced, turn_of, wrapped
from popsnet.traffic.fused.heads import (
    LOW,
    QueueHeads,
    enlarge,
    home,
    look_at,
    new_heads,
    put_back,
    settled,
    widen,
)
from popsnet.traffic.fused.lists import FROM, KEY, SINCE, TO, Lists, new_lists, take, with_chunks
from popsnet.traffic.fused.register import Opening, register_kernel
from popsnet.traffic.fused.session import FusedSession
from popsnet.traffic.fused.spread import hear
from popsnet.traffic.fused.state import (
    ARRIVAL,
    DESTINATION,
    FREE,
    LOST,
    MESSAGES,
    NEXT,
    OWN,
    REFUSED,
    RELAYED,
    KernelState,
    LogBuffers,
    deliver,
    note_slot,
)

_TO, _SINCE = 0, 1
"""Columns of the records of own queues."""


class NonEmptyQueues(NamedTuple):
    """For each processor, its queues to which packets came that were not empty.

    A row is (stripe, next row, class).
    """

    rows: I32
    head: I32
    tail: I32
    counts: I64
    """The first free row, and the number of rows in use."""


class ScratchRows(NamedTuple):
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

    own: QueueHeads
    relayed: Lists
    queues: NonEmptyQueues
    scratch: ScratchRows
    coins: tuple[np.uint64, np.uint64]
    """The public seed and the number of a purpose."""

    def advance(self, state: KernelState, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block."""
        self.queues = _with_room(self.queues, len(block.sources))
        self.relayed = with_chunks(self.relayed, int(state.counters[OWN]) + len(block.sources))
        if len(self.scratch.classes) < len(state.nodes):
            longer, classes = np.empty_like(state.nodes), np.empty_like(state.nodes)
            self.scratch = self.scratch._replace(longer=longer, classes=classes)
        grown = _advance(
            state, block, log, self.own, self.relayed, self.queues, self.scratch, self.coins
        )
        self.own = settled(self.own, grown)


@register_kernel("rotor", most_wavelengths=inf)
def open_rotor(opening: Opening) -> FusedSession:
    """Open a session of rotor."""
    n = opening.network.n
    none = np.full(n, -1, dtype=np.int32)
    rows, counts = np.empty((0, 3), dtype=np.int32), np.array([-1, 0])
    scratch = np.empty((n + 1, 2), dtype=np.int32), *(np.empty(n + 1, np.int32) for _ in range(3))
    queues = NonEmptyQueues(rows, none, none.copy(), counts)
    coins = opening.public, opening.purpose("keeper")
    own = new_heads(n), new_lists(n), queues, ScratchRows(*scratch), coins
    return FusedSession(opening, Rotor(*own))


def _with_room(queues: NonEmptyQueues, arrivals: int) -> NonEmptyQueues:
    size, used = len(queues.rows), int(queues.counts[1])
    if size - used >= arrivals:
        return queues
    rows = np.empty((max(used + arrivals, size + size // 2, 64), 3), np.int32)
    rows[:size] = queues.rows
    rows[size:, 1] = np.arange(size + 1, len(rows) + 1)
    rows[-1, 1] = queues.counts[0]
    queues.counts[0] = size
    return queues._replace(rows=rows)


@compiled
def _advance(
    state: KernelState,
    block: Block,
    log: LogBuffers,
    own: QueueHeads,
    relayed: Lists,
    queues: NonEmptyQueues,
    scratch: ScratchRows,
    coins: tuple[np.uint64, np.uint64],
) -> QueueHeads:
    held, kept, counters, events = state.held, state.kept, state.counters, state.events
    public, keeper = coins
    for k in range(len(block.starts) - 1):
        t = block.begin + k
        m = _accept(k, block, state, scratch, log)
        done = 0
        while done < m:
            done, joins = _enqueue(t, done, m, block, own, state, scratch)
            _join(t, joins, block, own, state, scratch)
            _note_non_empty(joins, state, scratch, queues)
            if done < m and not widen(own, state.stripes[done], state.class_of):
                own = enlarge(own, state.stripes[done])
        u = t % len(held)
        first = take(relayed, u, t, state, 0)
        for q in range(first):
            kept[events[q, KEY]] -= 1
        second, stay, two = _take_own(t, u, first, own, state, scratch)
        _move_up(two, scratch.longer, scratch.records, scratch.tails, state)
        put_back(own, u, scratch.records, scratch.tails, 0, stay, state.class_of)
        own.used[u] = stay
        spread = _find_senders(t, u, state, scratch, queues)
        if look_at(own, state.stripes, scratch.classes, spread) == -(1 << 62):
            break  # never: it keeps the reads
        spread = _find_longer(spread, own, state, scratch, queues)
        out = second + spread
        _note_spread(t, spread, second, own, state, scratch)
        _move_up(spread, scratch.longer, own.records, own.tails, state)
        for q in range(first, out):
            held[events[q, KEY]] -= 1
        counters[OWN] -= out - first
        counters[RELAYED] -= first
        key = step_key(public, keeper, t)
        delivered, stored = hear(u, key, second, out, state, relayed)
        state.hops[:first] = 2
        state.hops[first:delivered] = 1
        deliver(t, delivered, state, log)
        log.counts[LOST, k] = out - delivered - stored
        log.counts[MESSAGES, k] = out
        note_slot(k, m, block, state, log)
    return own


@compiled
def _accept(k: int, block: Block, state: KernelState, scratch: ScratchRows, log: LogBuffers) -> int:
    """Write the rows of arrivals that are not refused, and their queues; return how many."""
    buffer, held, group, index = state.buffer, state.held, state.group, state.indices
    residue, d, g, channels = state.residue, state.d, state.g, state.channels
    nodes, keys, stripes, classes = state.nodes, state.keys, state.stripes, scratch.classes
    class_of, m, refused = state.class_of, 0, state.counters[REFUSED]
    for row in range(block.starts[k], block.starts[k + 1]):
        source, to = block.sources[row], block.destinations[row]
        if buffer > 0 and held[source] >= buffer:
            log.refused_rows[refused] = row
            refused += 1
            continue
        held[source] += 1
        a, i = int(group[source]), int(index[source])
        stripes[m] = frame_slot(a, i, int(group[to]), int(residue[to]), d, g, channels)
        nodes[m], keys[m], classes[m] = row, source, class_of[to]
        m += 1
    state.counters[REFUSED] = refused
    state.counters[OWN] += m
    return m


@compiled
def _enqueue(
    t: int,
    low: int,
    m: int,
    block: Block,
    own: QueueHeads,
    state: KernelState,
    scratch: ScratchRows,
) -> tuple[int, int]:
    """Let arrivals low … m - 1 be first in their queues, if these are empty.

    Writes the others, and the records of their queues. Returns the first arrival for which there
    was no room, and how many others there are. Branches that depend on queues would cost more than
    all else.
    """
    records, base, sizes, used = own.records, own.base, own.sizes, own.used
    nodes, stripes, joining = state.nodes, state.stripes, state.lengths
    classes, longer, class_of = scratch.classes, scratch.longer, state.class_of
    destinations = block.destinations
    n, now, done, joins = len(base), np.int32(t & LOW), m, 0
    if look_at(own, stripes, classes, m) == -(1 << 62):
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
    t: int, m: int, block: Block, own: QueueHeads, state: KernelState, scratch: ScratchRows
) -> None:
    """Append arrivals to queues that have packets."""
    records, tails, pool, free = own.records, own.tails, state.pool, state.free
    joining, nodes, at = state.lengths, state.nodes, scratch.longer
    top, since = state.counters[FREE], np.int32(t & LOW)
    for q in range(m):
        record, to = at[q], block.destinations[nodes[joining[q]]]
        top -= 1
        row, before = free[top], records[record, _SINCE]
        pool[row, DESTINATION], pool[row, ARRIVAL], pool[row, NEXT] = to, since, row
        if before >= 0:
            records[record, _SINCE] = ~before
        else:
            pool[row, NEXT] = pool[tails[record], NEXT]
            pool[tails[record], NEXT] = row
        tails[record] = row
    state.counters[FREE] = top


@compiled
def _move_up(m: int, at: I32, records: I32, tails: I32, state: KernelState) -> None:
    """Replace the first packets of queues by the second ones, of which there must be some.

    ``at`` has the records of the queues.
    """
    pool, free, top = state.pool, state.free, state.counters[FREE]
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
    state.counters[FREE] = top


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
    t: int, u: int, begin: int, own: QueueHeads, state: KernelState, scratch: ScratchRows
) -> tuple[int, int, int]:
    """Remove the first packet of every queue of a segment, unless its source has sent in slot t.

    Writes packets to ``events`` from ``begin`` on. Returns their end, and how many queues have
    packets left, which are moved to ``scratch``. Of how many of these the first packet has left,
    too.
    """
    d, g, channels, group, residue = state.d, state.g, state.channels, state.group, state.residue
    last, events, full, records, tails = (
        state.last,
        state.events,
        state.sent,
        own.records,
        own.tails,
    )
    left, left_tails, longer = scratch.records, scratch.tails, scratch.longer
    first, (t0, t2) = int(own.base[u]), turn_of(u, d, g, channels)
    m, stay, two = begin, 0, 0
    for q in range(_find_used(records, first, int(own.sizes[u]), full)):
        at = first + full[q]
        to, since = records[at, _TO], records[at, _SINCE]
        records[at, _TO] = -1
        b, r = int(group[to]), int(residue[to])
        if d <= channels:
            i = reduced(r - t2, d)
            a = wrapped(wrapped(b - i, g) + t0, g)
        else:
            j = reduced(r - t2, channels)
            a, i = wrapped(b - j, g), reduced(j + t0, d)
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
def _note_non_empty(
    m: int, state: KernelState, scratch: ScratchRows, queues: NonEmptyQueues
) -> None:
    """Note arrivals at queues that were not empty."""
    rows, head, tail, free = queues.rows, queues.head, queues.tail, queues.counts[0]
    keys, stripes, classes, joining = state.keys, state.stripes, scratch.classes, state.lengths
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
    queues.counts[0] = free
    queues.counts[1] += m


@compiled
def _find_senders(
    t: int, u: int, state: KernelState, scratch: ScratchRows, queues: NonEmptyQueues
) -> int:
    """Write the senders that are free and have a queue to spread, and the first such queues."""
    d, g, channels, last, senders = state.d, state.g, state.channels, state.last, state.senders
    rows, head, stripes, classes = queues.rows, queues.head, state.stripes, scratch.classes
    m = 0
    if d <= channels:
        for p in range(d * g):
            senders[m] = p
            m += int(last[p] != t) & int(head[p] >= 0)
    else:
        t0, _ = turn_of(u, d, g, channels)
        for a in range(g):
            for j in range(channels):
                p = a * d + reduced(t0 + j, d)
                senders[m] = p
                m += int(last[p] != t) & int(head[p] >= 0)
    for q in range(m):
        row = head[senders[q]]
        stripes[q], classes[q] = rows[row, 0], rows[row, 2]
    return m


@compiled
def _find_longer(
    count: int, own: QueueHeads, state: KernelState, scratch: ScratchRows, queues: NonEmptyQueues
) -> int:
    """Find the first queue of two or more packets of each sender.

    Writes the senders that have one and the records of these queues, and returns how many.
    """
    records, base, sizes, class_of = own.records, own.base, own.sizes, state.class_of
    rows, head, senders, found = queues.rows, queues.head, state.senders, scratch.longer
    m, free, used = 0, queues.counts[0], queues.counts[1]
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
    queues.counts[0], queues.counts[1] = free, used
    return m


@compiled
def _note_spread(
    t: int, m: int, begin: int, own: QueueHeads, state: KernelState, scratch: ScratchRows
) -> None:
    """Write the first packets of queues to ``events``, from ``begin`` on."""
    records, events, senders, at = own.records, state.events, state.senders, scratch.longer
    for q in range(m):
        p, record = senders[q], at[q]
        events[begin + q, KEY], events[begin + q, FROM] = p, p
        events[begin + q, TO] = records[record, _TO]
        events[begin + q, SINCE] = _slot_of(t, int(records[record, _SINCE]))
