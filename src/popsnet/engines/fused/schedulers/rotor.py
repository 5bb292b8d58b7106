"""rotor, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import step_key
from popsnet.engines.fused.arrays import with_more
from popsnet.engines.fused.schedulers import lists, packets
from popsnet.engines.fused.schedulers.dead import DeadParts, can_pass_on, lose, meet
from popsnet.engines.fused.schedulers.frame import frame_slot, reduced, turn_of, wrapped
from popsnet.engines.fused.schedulers.heads import LOW, find, home, look_at, put_back, remove, widen
from popsnet.engines.fused.schedulers.lists import FROM, KEY, SINCE, TO, Lists
from popsnet.engines.fused.schedulers.packets import KernelState, LogBuffers
from popsnet.engines.fused.schedulers.register import Opening
from popsnet.engines.fused.schedulers.segments import Segments, enlarge, new_segments, settled
from popsnet.engines.fused.schedulers.session import SchedulerSession
from popsnet.engines.fused.schedulers.spread import hear
from popsnet.model.network import I32, I64
from popsnet.workloads.block import Block

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
    noted: I32
    """Arrivals whose queues may be spread, where the dead parts are known."""


class RotorQueues(NamedTuple):
    """All queues of rotor."""

    own: Segments
    relayed: Lists
    spread: NonEmptyQueues


class Rotor(SchedulerSession):
    """The kernel of rotor: packets by the slot of the frame in which their class is met."""

    wavelengths = True

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        n = opening.network.n
        rows, counts = np.empty((0, 3), dtype=np.int32), np.array([-1, 0])
        head, tail = np.full((2, n), -1, dtype=np.int32)
        records, others = np.empty((n + 1, 2), np.int32), np.empty((4, n + 1), np.int32)
        spread = NonEmptyQueues(rows, head, tail, counts)
        self._queues = RotorQueues(new_segments(n, 2), lists.new_lists(n), spread)
        self._scratch = ScratchRows(records, *others)
        self._coins = opening.coins("public", "keeper")

    def execute(self, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block, and write the log."""
        state, scratch, (own, relayed, spread) = self.state, self._scratch, self._queues
        spread = _with_room(spread, len(block.sources))
        room = int(state.counters[packets.OWN]) + len(block.sources)
        relayed = lists.with_chunks(relayed, room)
        if len(scratch.classes) < len(state.nodes):
            longer, classes, noted = (np.empty_like(state.nodes) for _ in range(3))
            self._scratch = scratch._replace(longer=longer, classes=classes, noted=noted)
        queues = RotorQueues(own, relayed, spread)
        grown = _advance(state, block, log, queues, self._scratch, self._coins, self.dead)
        self._queues = queues._replace(own=settled(own, grown))


def _with_room(queues: NonEmptyQueues, arrivals: int) -> NonEmptyQueues:
    size, used = len(queues.rows), int(queues.counts[1])
    if size - used >= arrivals:
        return queues
    rows = with_more(queues.rows, max(used + arrivals - size, size // 2, 64 - size))
    rows[size:, 1] = np.arange(size + 1, len(rows) + 1)
    rows[-1, 1] = queues.counts[0]
    queues.counts[0] = size
    return queues._replace(rows=rows)


@compiled
def _advance(
    state: KernelState,
    block: Block,
    log: LogBuffers,
    queues: RotorQueues,
    scratch: ScratchRows,
    coins: tuple[np.uint64, np.uint64],
    dead: DeadParts | None,
) -> Segments:
    held, transit, counters, events = state.held, state.transit, state.counters, state.events
    own, relayed, waiting = queues.own, queues.relayed, queues.spread
    public, keeper = coins
    for k in range(len(block.starts) - 1):
        t = block.begin + k
        m = _accept(k, block, state, scratch, log)
        done = 0
        while done < m:
            begun = done
            done, joins = _enqueue(t, done, m, block, own, state, scratch)
            _join(t, joins, block, own, state, scratch)
            if dead is None or not dead.is_known:
                _note_non_empty(joins, state.joining, state, scratch, waiting)
            else:
                joins = _add_blocked((begun, done), joins, state, scratch, dead)
                _note_non_empty(joins, scratch.noted, state, scratch, waiting)
            if done < m and not widen(own, state.stripes[done], state.class_of):
                own = enlarge(own, state.stripes[done])
        u, key = t % len(held), step_key(public, keeper, t)
        if dead is not None:
            meet(t, u, state, dead)
        first = lists.take(relayed, u, t, state, 0)
        for q in range(first):
            transit[events[q, KEY]] -= 1
        second, stay, two = _take_own(t, u, first, own, state, scratch)
        _move_up(two, scratch.longer, scratch.records, scratch.tails, state)
        put_back(own, u, scratch.records, scratch.tails, 0, stay, state.class_of)
        own.used[u] = stay
        spread = _find_senders(t, u, state, scratch, waiting)
        if dead is None or not dead.is_known:
            if look_at(own, state.stripes, scratch.classes, spread) == -(1 << 62):
                break  # never: it keeps the reads
            spread = _find_longer(spread, own, state, scratch, waiting)
            _note_spread(t, (0, spread), second, own, state, scratch)
            _move_up(spread, scratch.longer, own.records, own.tails, state)
        else:
            spread = _spread_around(t, spread, second, own, state, scratch, waiting, dead)
        out = second + spread
        for q in range(first, out):
            held[events[q, KEY]] -= 1
        counters[packets.OWN] -= out - first
        counters[packets.RELAYED] -= first
        hops, low, high = first, second, out
        if dead is not None:
            hops = lose(t, key, (0, first), 0, state, log, dead)
            low = lose(t, key, (first, second), hops, state, log, dead)
            high = lose(t, key, (second, out), low, state, log, dead)
        delivered, stored = hear(t, u, key, (low, high), state, relayed, log)
        state.hops[:hops] = 2
        state.hops[hops:delivered] = 1
        packets.deliver(t, delivered, state, log)
        log.counts[packets.LOST, k] = out - delivered - stored
        log.counts[packets.MESSAGES, k] = out
        packets.note_slot(k, m, block, state, log)
    return own


@compiled(inline=True)
def _accept(k: int, block: Block, state: KernelState, scratch: ScratchRows, log: LogBuffers) -> int:
    """Write the rows of arrivals that are not refused, and their queues; return how many."""
    buffer, held, group, index = state.buffer, state.held, state.group, state.indices
    residue, d, g, channels = state.residue, state.d, state.g, state.channels
    nodes, keys, stripes, classes = state.nodes, state.keys, state.stripes, scratch.classes
    class_of, m, refused = state.class_of, 0, state.counters[packets.REFUSED]
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
    state.counters[packets.REFUSED] = refused
    state.counters[packets.OWN] += m
    return m


@compiled(inline=True)
def _enqueue(
    t: int, low: int, m: int, block: Block, own: Segments, state: KernelState, scratch: ScratchRows
) -> tuple[int, int]:
    """Let arrivals low … m - 1 be first in their queues, if these are empty.

    Writes the others, and the records of their queues. Returns the first arrival for which there
    was no room, and how many others there are. Branches that depend on queues would cost more than
    all else.
    """
    records, base, sizes, used = own.records, own.base, own.sizes, own.used
    nodes, stripes, joining = state.nodes, state.stripes, state.joining
    classes, longer, class_of = scratch.classes, scratch.longer, state.class_of
    destinations = block.destinations
    n, now, done, joins = len(base), np.int32(t & LOW), m, 0
    if look_at(own, stripes, classes, m) == -(1 << 62):
        return low, 0  # never: it keeps the reads
    for k in range(low, m):
        stripe, cls, size = int(stripes[k]), classes[k], int(sizes[stripes[k]])
        first, at = base[stripe], home(cls, size)
        if size < n:
            if 4 * used[stripe] >= 3 * size:
                done = k
                break
            while records[first + at, _TO] >= 0 and class_of[records[first + at, _TO]] != cls:
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


@compiled(inline=True)
def _join(
    t: int, m: int, block: Block, own: Segments, state: KernelState, scratch: ScratchRows
) -> None:
    """Append arrivals to queues that have packets."""
    records, tails, pool, free = own.records, own.tails, state.pool, state.free
    joining, nodes, at = state.joining, state.nodes, scratch.longer
    top, since = state.counters[packets.FREE], np.int32(t & LOW)
    for q in range(m):
        record, to = at[q], block.destinations[nodes[joining[q]]]
        top -= 1
        row, before = free[top], records[record, _SINCE]
        pool[row, packets.DESTINATION], pool[row, packets.ARRIVAL] = to, since
        pool[row, packets.NEXT] = row
        if before >= 0:
            records[record, _SINCE] = ~before
        else:
            pool[row, packets.NEXT] = pool[tails[record], packets.NEXT]
            pool[tails[record], packets.NEXT] = row
        tails[record] = row
    state.counters[packets.FREE] = top


@compiled(inline=True)
def _move_up(m: int, at: I32, records: I32, tails: I32, state: KernelState) -> None:
    """Replace the first packets of queues by the second ones, of which there must be some.

    ``at`` has the records of the queues.
    """
    pool, free, top = state.pool, state.free, state.counters[packets.FREE]
    for k in range(m):
        record = at[k]
        tail = tails[record]
        row = pool[tail, packets.NEXT]
        pool[tail, packets.NEXT] = pool[row, packets.NEXT]
        since = pool[row, packets.ARRIVAL]
        records[record, _TO] = pool[row, packets.DESTINATION]
        records[record, _SINCE] = since if row == tail else ~since
        free[top] = row
        top += 1
    state.counters[packets.FREE] = top


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


@compiled(inline=True)
def _take_own(
    t: int, u: int, begin: int, own: Segments, state: KernelState, scratch: ScratchRows
) -> tuple[int, int, int]:
    """Remove the first packet of every queue of a segment, unless its source has sent in slot t.

    Writes packets to ``events`` from ``begin`` on. Returns their end, and how many queues have
    packets left, which are moved to ``scratch``. Of how many of these the first packet has left,
    too.
    """
    d, g, channels, group, residue = state.d, state.g, state.channels, state.group, state.residue
    last, events, full = state.last, state.events, state.sent
    records, tails = own.records, own.tails
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


@compiled(inline=True)
def _note_non_empty(
    m: int, noted: I32, state: KernelState, scratch: ScratchRows, queues: NonEmptyQueues
) -> None:
    """Note arrivals at queues that were not empty."""
    rows, head, tail, free = queues.rows, queues.head, queues.tail, queues.counts[0]
    keys, stripes, classes = state.keys, state.stripes, scratch.classes
    for q in range(m):
        k = noted[q]
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


@compiled(inline=True)
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
    count: int, own: Segments, state: KernelState, scratch: ScratchRows, queues: NonEmptyQueues
) -> int:
    """Find the first queue of two or more packets of each sender.

    Writes the senders that have one and the records of these queues, and returns how many.
    """
    records, base, sizes, class_of = own.records, own.base, own.sizes, state.class_of
    rows, head, senders, longer = queues.rows, queues.head, state.senders, scratch.longer
    m, free, used = 0, queues.counts[0], queues.counts[1]
    for q in range(count):
        p, record = senders[q], -1
        row = int(head[p])
        while row >= 0 and record < 0:
            stripe, following, cls = int(rows[row, 0]), int(rows[row, 1]), rows[row, 2]
            rows[row, 1] = free
            free, row = row, following
            used -= 1
            first, size = base[stripe], int(sizes[stripe])
            at = home(cls, size)
            while records[first + at, _TO] >= 0 and class_of[records[first + at, _TO]] != cls:
                at = (at + 1) & (size - 1)
            if records[first + at, _TO] >= 0 and records[first + at, _SINCE] < 0:
                record = first + at
        head[p] = row
        senders[m], longer[m] = p, record
        m += int(record >= 0)
    queues.counts[0], queues.counts[1] = free, used
    return m


@compiled(inline=True)
def _note_spread(
    t: int,
    rows: tuple[int, int],
    begin: int,
    own: Segments,
    state: KernelState,
    scratch: ScratchRows,
) -> None:
    """Write the first packets of the queues of some senders to ``events``, from ``begin`` on."""
    records, events, senders, at = own.records, state.events, state.senders, scratch.longer
    low, high = rows
    for q in range(low, high):
        p, record = senders[q], at[q]
        events[begin, KEY], events[begin, FROM] = p, p
        events[begin, TO] = records[record, _TO]
        events[begin, SINCE] = _slot_of(t, int(records[record, _SINCE]))
        begin += 1


@compiled
def _add_blocked(
    rows: tuple[int, int], joins: int, state: KernelState, scratch: ScratchRows, dead: DeadParts
) -> int:
    """Note also the arrivals at empty queues whose coupler is known to be dead, in order."""
    low, high = rows
    q = m = 0
    residues = min(state.d, state.channels)
    for k in range(low, high):
        is_joining = q < joins and state.joining[q] == k
        q += is_joining
        by = state.group[state.keys[k]]
        scratch.noted[m] = k
        m += is_joining or dead.blocked[scratch.classes[k] // residues, by]
    return m


@compiled
def _spread_around(
    t: int,
    count: int,
    begin: int,
    own: Segments,
    state: KernelState,
    scratch: ScratchRows,
    queues: NonEmptyQueues,
    dead: DeadParts,
) -> int:
    """Remove the first packet of the first queue of each sender that the class it meets passes on.

    A queue has at least two packets, or its coupler is known to be dead. Writes packets to
    ``events`` from ``begin`` on, and returns how many.
    """
    rows, head, tail, counts = queues
    senders, class_of, end = state.senders, state.class_of, begin
    residues, free = min(state.d, state.channels), counts[0]
    for q in range(count):
        p = senders[q]
        by, a = int(dead.meets[p, 0]), int(state.group[p])
        before, row = -1, int(head[p])
        while row >= 0:
            stripe, following, cls = int(rows[row, 0]), int(rows[row, 1]), int(rows[row, 2])
            record = find(own, stripe, cls, class_of)
            more = own.records[record, _SINCE] < 0
            is_blocked = dead.blocked[cls // residues, a]
            waits = own.records[record, _TO] >= 0 and (more or is_blocked)
            passes = waits and can_pass_on(by, cls, residues, dead.blocked, dead.relays)
            if waits and not passes:
                before, row = row, following
                continue
            if before < 0:
                head[p] = following
            else:
                rows[before, 1] = following
            if following < 0:
                tail[p] = before
            rows[row, 1], free = free, row
            counts[1] -= 1
            row = following
            if passes:
                scratch.longer[q] = record
                _note_spread(t, (q, q + 1), end, own, state, scratch)
                end += 1
                if more:
                    _move_up(1, scratch.longer[q:], own.records, own.tails, state)
                else:
                    remove(own, stripe, record, class_of)
                break
    counts[0] = free
    return end - begin
