"""hop3, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.splitmix import step_key
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.frame import draw_at, keeper_of, reduced
from popsnet.traffic.fused.lists import (
    CHUNK,
    FROM,
    KEY,
    SINCE,
    TO,
    Lists,
    append_all,
    new_lists,
    take,
    with_chunks,
)  # fmt: skip
from popsnet.traffic.fused.parts import (
    LOST,
    MESSAGES,
    MOST_RELAYED,
    OWN,
    RELAYED,
    Paper,
    Parts,
    accept,
    deliver,
    gather,
    join,
    note_slot,
    release,
)  # fmt: skip
from popsnet.traffic.fused.spread import take_oldest


class Draws(NamedTuple):
    """The public seed, and the numbers of purposes."""

    public: np.uint64
    keeper: np.uint64
    rotation: np.uint64


class Layout(NamedTuple):
    """Which list a packet is in, and where these lists begin.

    To fix the residue, processor (a, i) meets residue i + k in cycle k if d ≤ g, so the list of a
    packet for residue r is r - i. If d > g, an epoch is d cycles, and public coins decide anew in
    each of them when residues are met: lists are for the cycles of the present epoch, and one more
    is for packets that wait for the next one.

    To fix the group, (T, l) sends to group T + l mod M + s, so b - T - l mod M is the list of a
    packet for group b. If d > g, the members of a residue r take turns. There are ⌈d/g⌉ or one
    less, and each turn has lists of its own, for either number.
    """

    waiting: int
    """The list of packets that wait for the next epoch."""
    groups: int
    """The first list of packets for a group."""
    turns: int
    """⌈d/g⌉."""
    numbers: I32
    """Lists that the packets of a chunk go to."""


@dataclass
class Hop3:
    """The kernel of hop3."""

    relayed: Lists
    layout: Layout
    last: I64
    draws: Draws

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        self.relayed = with_chunks(self.relayed, int(parts.state[OWN]) + len(block.sources))
        _advance(parts, block, paper, self.relayed, self.layout, self.last, self.draws)


def open_hop3(d: int, g: int, draws: Draws) -> Hop3:
    """Return the kernel for a network."""
    turns = -(-d // g)
    layout = Layout(d, d + 1, turns, np.zeros(CHUNK, dtype=np.int32))
    lists = new_lists(d + 1 + 2 * turns * g)
    return Hop3(lists, layout, np.full(d * g, -1, dtype=np.int64), draws)


@compiled
def _advance(
    parts: Parts, block: Block, paper: Paper, relayed: Lists, layout: Layout, last: I64,
    draws: Draws,
) -> None:  # fmt: skip
    pool, held, kept, state, nodes = parts.pool, parts.held, parts.kept, parts.state, parts.nodes
    sent, hops, senders, events = parts.sent, parts.hops, parts.senders, parts.events
    d, g, turns, groups = parts.d, parts.g, layout.turns, layout.groups
    rows, after, first, end = relayed.rows, relayed.after, relayed.first, relayed.end
    free, top = relayed.free, relayed.top
    sources, destinations, starts = block.sources, block.destinations, block.starts
    for row in range(len(starts) - 1):
        t, low, high = block.begin + row, starts[row], starts[row + 1]
        m = accept(
            t, low, high, sources, destinations, parts.buffer, pool, parts.free, held, state,
            nodes, paper.refused_rows,
        )  # fmt: skip
        join(nodes, m, pool, parts.head, parts.tail)
        k, phase = t // 3, t % 3
        turn = 0 if d <= g else draw_at(draws.public, draws.rotation, k // d, g, 0)
        if phase == 0:
            u = k % (d * g)
            t0, t2 = u % max(d, g), u // max(d, g)
            if d > g and k % d == 0:
                _begin_epoch(
                    turn, d, g, parts.indices, parts.residue, layout.waiting, layout.numbers, rows,
                    after, first, end, free, top,
                )  # fmt: skip
            out = take_oldest(t0, d, g, parts.head, pool, held, senders, sent)
            gather(sent, 0, out, pool, events)
            for q in range(out):
                events[q, KEY] = senders[q]
            release(sent, 0, out, parts.free, state)
            state[OWN] -= out
        elif phase == 1:
            t0, t2 = k % d, turn
            if d <= g:
                t0, t2 = draw_at(draws.public, draws.rotation, k, g, 0), k % d
            out = take(rows, after, first, end, free, top, k % d, last, t, events, 0)
            if d > g:
                _put_off(k % d, layout.waiting, layout.numbers, rows, after, first, end, free, top)
        else:
            e = k // g
            s = k % g
            number = groups + (e % turns) * g + s
            out = take(rows, after, first, end, free, top, number, last, t, events, 0)
            if turns > 1:
                number = groups + (turns + e % (turns - 1)) * g + s
                out = take(rows, after, first, end, free, top, number, last, t, events, out)
        delivered, stored = out, 0
        if phase > 0:
            for q in range(out):
                kept[events[q, KEY]] -= 1
            state[RELAYED] -= out
        if phase < 2:
            delivered, stored = _hear(
                phase, k % d, turn, t0, t2, step_key(draws.public, draws.keeper, t), out, events,
                d, g, turns, layout.waiting, groups, parts.group, parts.indices, parts.residue,
                parts.buffer, kept, state, parts.stripes, parts.coming, rows, after, first, end,
                free, top,
            )  # fmt: skip
            hops[:delivered] = phase + 1
        else:
            _count_hops(events, hops, out)
        deliver(
            t, events, hops, delivered, state, parts.words, parts.places, paper.arrival,
            paper.source, paper.destination, paper.hops,
        )  # fmt: skip
        paper.counts[LOST, row] = out - delivered - stored
        paper.counts[MESSAGES, row] = out
        note_slot(row, low, high, m, sources, held, state, paper.counts, paper.ends)


@compiled(inline=True)
def _cycle_of(i: int, r: int, turn: int, d: int, g: int) -> int:
    """Return in which cycle of an epoch index i meets residue r, for d > g."""
    return reduced(i - reduced(r - turn, g), d)


@compiled
def _begin_epoch(
    turn: int, d: int, g: int, index: I32, residue: I32, waiting: int, numbers: I32, rows: I32,
    after: I32, first: I32, end: I32, free: I32, top: I64,
) -> None:  # fmt: skip
    """Move packets that wait for an epoch to the lists of its cycles."""
    chunk, stop = int(first[waiting]), int(end[waiting])
    first[waiting], end[waiting] = -1, 0
    while chunk >= 0:
        following = int(after[chunk])
        high = stop if following < 0 else (chunk + 1) * CHUNK
        for at in range(chunk * CHUNK, high):
            i, r = int(index[rows[at, KEY]]), int(residue[rows[at, TO]])
            numbers[at - chunk * CHUNK] = _cycle_of(i, r, turn, d, g)
        append_all(rows, after, first, end, free, top, numbers, rows, chunk * CHUNK, high)
        free[top[0]] = chunk
        top[0] += 1
        chunk = following


@compiled
def _put_off(
    number: int, waiting: int, numbers: I32, rows: I32, after: I32, first: I32, end: I32,
    free: I32, top: I64,
) -> None:  # fmt: skip
    """Let the packets of a list wait for the next epoch."""
    chunk, stop = int(first[number]), int(end[number])
    first[number], end[number] = -1, 0
    numbers[:] = waiting
    while chunk >= 0:
        following = int(after[chunk])
        high = stop if following < 0 else (chunk + 1) * CHUNK
        append_all(rows, after, first, end, free, top, numbers, rows, chunk * CHUNK, high)
        free[top[0]] = chunk
        top[0] += 1
        chunk = following


@compiled
def _hear(
    phase: int, cycle: int, turn: int, t0: int, t2: int, key: np.uint64, m: int, events: I32,
    d: int, g: int, turns: int, waiting: int, groups: int, group: I32, index: I32, residue: I32,
    buffer: int, kept: I32, state: I64, numbers: I32, coming: I32, rows: I32, after: I32,
    first: I32, end: I32, free: I32, top: I64,
) -> tuple[int, int]:  # fmt: skip
    """Let the classes that are met in the slot (t0, t2) hear packets, and keep or deliver them.

    Those that are delivered stay in ``events``. Returns how many are delivered, and how many kept.
    The source of a packet that was sent in phase 1 is complemented until it is delivered.
    """
    delivered = stored = 0
    for q in range(m):
        p, to, source, since = events[q, KEY], events[q, TO], events[q, FROM], events[q, SINCE]
        a, i, c, z = int(group[p]), int(index[p]), int(group[to]), residue[to]
        if d <= g:
            b, r = reduced(a + i - t0, g), reduced(i + t2, d)
        else:
            j = reduced(i - t0, d)
            b, r = reduced(a + j, g), reduced(j + t2, g)
        if c == b and z == r:
            events[delivered, TO], events[delivered, FROM] = to, source
            events[delivered, SINCE] = since
            delivered += 1
            continue
        keeper = keeper_of(key, a, b, r, d, g)
        if buffer > 0 and kept[keeper] >= buffer:
            continue
        kept[keeper] += 1
        state[MOST_RELAYED] = max(state[MOST_RELAYED], int(kept[keeper]))
        if z == r:
            number = groups + reduced(reduced(c - b, g) - r, g)
            if d > g:
                part = int(index[keeper]) // g
                number += (part if (d - 1 - r) // g + 1 == turns else turns + part) * g
            source = source if phase == 0 else ~source
        elif d <= g:
            number = reduced(int(z) - r, d)
        else:
            number = _cycle_of(int(index[keeper]), int(z), turn, d, g)
            number = number if number >= cycle else waiting
        numbers[stored] = number
        coming[stored, KEY], coming[stored, TO] = keeper, to
        coming[stored, FROM], coming[stored, SINCE] = source, since
        stored += 1
    append_all(rows, after, first, end, free, top, numbers, coming, 0, stored)
    state[RELAYED] += stored
    return delivered, stored


@compiled
def _count_hops(events: I32, hops: I32, m: int) -> None:
    for q in range(m):
        source = events[q, FROM]
        hops[q] = 3 if source < 0 else 2
        events[q, FROM] = ~source if source < 0 else source
