"""hop3, compiled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32
from popsnet.splitmix import step_key
from popsnet.traffic.block import Block
from popsnet.traffic.fused.frame import draw_at, keeper_of, met, reduced, turn_of
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
)
from popsnet.traffic.fused.register import Opening, register_kernel
from popsnet.traffic.fused.session import FusedSession
from popsnet.traffic.fused.spread import take_oldest
from popsnet.traffic.fused.state import (
    LOST,
    MESSAGES,
    MOST_RELAYED,
    OWN,
    RELAYED,
    KernelState,
    LogBuffers,
    accept,
    deliver,
    gather,
    join,
    note_slot,
    release,
)


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


class Slot3(NamedTuple):
    """A slot: what is fixed in it, and what is met."""

    phase: int
    cycle: int
    """The number of the cycle, mod d."""
    turn: int
    """When residues are met in this epoch, for d > g."""
    u: int
    """The slot of the frame."""


@dataclass
class Hop3:
    """The kernel of hop3."""

    relayed: Lists
    layout: Layout
    draws: Draws

    def advance(self, state: KernelState, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block."""
        self.relayed = with_chunks(self.relayed, int(state.counters[OWN]) + len(block.sources))
        _advance(state, block, log, self.relayed, self.layout, self.draws)


@register_kernel("hop3")
def open_hop3(opening: Opening) -> FusedSession:
    """Open a session of hop3."""
    d, g = opening.network.d, opening.network.g
    turns = -(-d // g)
    layout = Layout(d, d + 1, turns, np.zeros(CHUNK, dtype=np.int32))
    draws = Draws(opening.public, opening.purpose("keeper"), opening.purpose("rotation"))
    return FusedSession(opening, Hop3(new_lists(d + 1 + 2 * turns * g), layout, draws))


@compiled
def _advance(
    state: KernelState, block: Block, log: LogBuffers, relayed: Lists, layout: Layout, draws: Draws
) -> None:
    d, g, kept, counters, events = state.d, state.g, state.kept, state.counters, state.events
    turns, groups, width = layout.turns, layout.groups, max(state.d, state.g)
    for row in range(len(block.starts) - 1):
        t = block.begin + row
        m = accept(row, block, state, log)
        join(m, state)
        k, phase = t // 3, t % 3
        turn = 0 if d <= g else draw_at(draws.public, draws.rotation, k // d, g, 0)
        u = k % (d * g)
        if phase == 0:
            if d > g and k % d == 0:
                _begin_epoch(turn, state, relayed, layout)
            out = take_oldest(u, state)
            gather(out, state)
            release(out, state)
            counters[OWN] -= out
        elif phase == 1:
            u = turn * width + k % d
            if d <= g:
                u = (k % d) * width + draw_at(draws.public, draws.rotation, k, g, 0)
            out = take(relayed, k % d, t, state, 0)
            if d > g:
                _put_off(k % d, relayed, layout)
        else:
            e = k // g
            s = k % g
            out = take(relayed, groups + (e % turns) * g + s, t, state, 0)
            if turns > 1:
                out = take(relayed, groups + (turns + e % (turns - 1)) * g + s, t, state, out)
        delivered, stored = out, 0
        if phase > 0:
            for q in range(out):
                kept[events[q, KEY]] -= 1
            counters[RELAYED] -= out
        if phase < 2:
            key, slot = step_key(draws.public, draws.keeper, t), Slot3(phase, k % d, turn, u)
            delivered, stored = _hear(slot, key, out, state, relayed, layout)
            state.hops[:delivered] = phase + 1
        else:
            _count_hops(out, state)
        deliver(t, delivered, state, log)
        log.counts[LOST, row] = out - delivered - stored
        log.counts[MESSAGES, row] = out
        note_slot(row, m, block, state, log)


@compiled(inline=True)
def _cycle_of(i: int, r: int, turn: int, d: int, g: int) -> int:
    """Return in which cycle of an epoch index i meets residue r, for d > g."""
    return reduced(i - reduced(r - turn, g), d)


@compiled
def _begin_epoch(turn: int, state: KernelState, lists: Lists, layout: Layout) -> None:
    """Move packets that wait for an epoch to the lists of its cycles."""
    d, g, numbers, waiting, rows = state.d, state.g, layout.numbers, layout.waiting, lists.rows
    chunk, stop = int(lists.first[waiting]), int(lists.end[waiting])
    lists.first[waiting], lists.end[waiting] = -1, 0
    while chunk >= 0:
        following = int(lists.after[chunk])
        high = stop if following < 0 else (chunk + 1) * CHUNK
        for at in range(chunk * CHUNK, high):
            i, r = int(state.indices[rows[at, KEY]]), int(state.residue[rows[at, TO]])
            numbers[at - chunk * CHUNK] = _cycle_of(i, r, turn, d, g)
        append_all(lists, numbers, rows, chunk * CHUNK, high)
        lists.free[lists.top[0]] = chunk
        lists.top[0] += 1
        chunk = following


@compiled
def _put_off(number: int, lists: Lists, layout: Layout) -> None:
    """Let the packets of a list wait for the next epoch."""
    chunk, stop = int(lists.first[number]), int(lists.end[number])
    lists.first[number], lists.end[number] = -1, 0
    layout.numbers[:] = layout.waiting
    while chunk >= 0:
        following = int(lists.after[chunk])
        high = stop if following < 0 else (chunk + 1) * CHUNK
        append_all(lists, layout.numbers, lists.rows, chunk * CHUNK, high)
        lists.free[lists.top[0]] = chunk
        lists.top[0] += 1
        chunk = following


@compiled
def _hear(
    slot: Slot3, key: np.uint64, m: int, state: KernelState, relayed: Lists, layout: Layout
) -> tuple[int, int]:
    """Let the classes that are met in a slot hear packets, and keep or deliver them.

    Those that are delivered stay in ``events``. Returns how many are delivered, and how many kept.
    The source of a packet that was sent in phase 1 is complemented until it is delivered.
    """
    d, g, buffer, kept, counters = state.d, state.g, state.buffer, state.kept, state.counters
    group, index, residue, events = state.group, state.indices, state.residue, state.events
    numbers, coming, turns = state.stripes, state.coming, layout.turns
    t0, t2 = turn_of(slot.u, d, g, g)
    delivered = stored = 0
    for q in range(m):
        p, to, source, since = events[q, KEY], events[q, TO], events[q, FROM], events[q, SINCE]
        a, c, z = int(group[p]), int(group[to]), residue[to]
        j, b, r = met(a, int(index[p]), t0, t2, d, g, g)
        if c == b and z == r:
            events[delivered, TO], events[delivered, FROM] = to, source
            events[delivered, SINCE] = since
            delivered += 1
            continue
        keeper = keeper_of(key, a, b, r, j, d, g, g)
        if buffer > 0 and kept[keeper] >= buffer:
            continue
        kept[keeper] += 1
        counters[MOST_RELAYED] = max(counters[MOST_RELAYED], int(kept[keeper]))
        if z == r:
            number = layout.groups + reduced(reduced(c - b, g) - r, g)
            if d > g:
                part = int(index[keeper]) // g
                number += (part if (d - 1 - r) // g + 1 == turns else turns + part) * g
            source = source if slot.phase == 0 else ~source
        elif d <= g:
            number = reduced(int(z) - r, d)
        else:
            number = _cycle_of(int(index[keeper]), int(z), slot.turn, d, g)
            number = number if number >= slot.cycle else layout.waiting
        numbers[stored] = number
        coming[stored, KEY], coming[stored, TO] = keeper, to
        coming[stored, FROM], coming[stored, SINCE] = source, since
        stored += 1
    append_all(relayed, numbers, coming, 0, stored)
    counters[RELAYED] += stored
    return delivered, stored


@compiled
def _count_hops(m: int, state: KernelState) -> None:
    events = state.events
    for q in range(m):
        source = events[q, FROM]
        state.hops[q] = 3 if source < 0 else 2
        events[q, FROM] = ~source if source < 0 else source
