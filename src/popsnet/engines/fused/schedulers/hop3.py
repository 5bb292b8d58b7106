"""hop3, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import step_key
from popsnet.engines.fused.schedulers import lists, packets
from popsnet.engines.fused.schedulers.dead import DeadParts, can_pass_on, lose, meet, take_passed_on
from popsnet.engines.fused.schedulers.frame import draw_at, keeper_of, met, reduced, turn_of
from popsnet.engines.fused.schedulers.lists import CHUNK, FROM, KEY, SINCE, TO, Lists
from popsnet.engines.fused.schedulers.packets import KernelState, LogBuffers
from popsnet.engines.fused.schedulers.register import Opening
from popsnet.engines.fused.schedulers.session import SchedulerSession
from popsnet.engines.fused.schedulers.spread import take_oldest
from popsnet.model.network import I32
from popsnet.workloads.block import Block


class Draws(NamedTuple):
    """The public seed, and the numbers of purposes."""

    public: np.uint64
    keeper: np.uint64
    rotation: np.uint64


class Layout(NamedTuple):
    """The list of each packet, and where these lists begin.

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

    t: int
    phase: int
    cycle: int
    """The number of the cycle, mod d."""
    turn: int
    """When residues are met in this epoch, for d > g."""
    u: int
    """The slot of the frame."""


class Hop3(SchedulerSession):
    """The kernel of hop3."""

    def __init__(self, opening: Opening) -> None:
        super().__init__(opening)
        d, g = opening.network.d, opening.network.g
        turns = -(-d // g)
        self._layout = Layout(d, d + 1, turns, np.zeros(CHUNK, dtype=np.int32))
        self._draws = Draws(*opening.coins("public", "keeper", "rotation"))
        self._relayed = lists.new_lists(d + 1 + 2 * turns * g)

    def execute(self, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block, and write the log."""
        room = int(self.state.counters[packets.OWN]) + len(block.sources)
        self._relayed = lists.with_chunks(self._relayed, room)
        _advance(self.state, block, log, self._relayed, self._layout, self._draws, self.dead)


@compiled
def _advance(
    state: KernelState,
    block: Block,
    log: LogBuffers,
    relayed: Lists,
    layout: Layout,
    draws: Draws,
    dead: DeadParts | None,
) -> None:
    d, g, transit, counters, events = state.d, state.g, state.transit, state.counters, state.events
    turns, groups, width = layout.turns, layout.groups, max(state.d, state.g)
    for row in range(len(block.starts) - 1):
        t = block.begin + row
        m = packets.accept(row, block, state, log)
        packets.join(m, state)
        k, phase = t // 3, t % 3
        turn = 0 if d <= g else draw_at(draws.public, draws.rotation, k // d, g, 0)
        u, key = k % (d * g), step_key(draws.public, draws.keeper, t)
        if phase == 1 and d <= g:
            u = (k % d) * width + draw_at(draws.public, draws.rotation, k, g, 0)
        elif phase == 1:
            u = turn * width + k % d
        if dead is not None:
            if phase < 2:
                meet(t, u, state, dead)
            else:
                _meet_groups(k, state, dead)
        if phase == 0:
            if d > g and k % d == 0:
                _move(layout.waiting, turn, state, relayed, layout)
            if dead is None or not dead.is_known:
                out = take_oldest(u, state)
            else:
                out = take_passed_on(t, 3, state, dead)
            packets.gather(out, state)
            packets.release(out, state)
            counters[packets.OWN] -= out
        elif phase == 1:
            if dead is None or not dead.is_known:
                out = lists.take(relayed, k % d, t, state, 0)
            else:
                out = _take_passed_on(k % d, t, state, relayed, dead)
            if d > g:
                _move(k % d, -1, state, relayed, layout)
        else:
            e = k // g
            s = k % g
            out = lists.take(relayed, groups + (e % turns) * g + s, t, state, 0)
            if turns > 1:
                out = lists.take(relayed, groups + (turns + e % (turns - 1)) * g + s, t, state, out)
        delivered, stored = out, 0
        if phase > 0:
            for q in range(out):
                transit[events[q, KEY]] -= 1
            counters[packets.RELAYED] -= out
        if dead is not None:
            delivered = lose(t, key, (0, out), 0, state, log, dead)
        if phase < 2:
            slot = Slot3(t, phase, k % d, turn, u)
            delivered, stored = _hear(slot, key, delivered, state, relayed, layout, log, dead)
            state.hops[:delivered] = phase + 1
        else:
            _count_hops(delivered, state)
        packets.deliver(t, delivered, state, log)
        log.counts[packets.LOST, row] = out - delivered - stored
        log.counts[packets.MESSAGES, row] = out
        packets.note_slot(row, m, block, state, log)


@compiled(inline=True)
def _cycle_of(i: int, r: int, turn: int, d: int, g: int) -> int:
    """Return in which cycle of an epoch index i meets residue r, for d > g."""
    return reduced(i - reduced(r - turn, g), d)


@compiled
def _move(number: int, turn: int, state: KernelState, relayed: Lists, layout: Layout) -> None:
    """Move the packets of a list to those of the cycles of an epoch, or to wait for one.

    They wait if ``turn`` is -1.
    """
    d, g, numbers, rows = state.d, state.g, layout.numbers, relayed.rows
    chunk, stop = int(relayed.first[number]), int(relayed.end[number])
    relayed.first[number], relayed.end[number] = -1, 0
    numbers[:] = layout.waiting
    while chunk >= 0:
        following = int(relayed.after[chunk])
        low, high = chunk * CHUNK, stop if following < 0 else (chunk + 1) * CHUNK
        if turn >= 0:
            for at in range(low, high):
                i, r = int(state.indices[rows[at, KEY]]), int(state.residue[rows[at, TO]])
                numbers[at - low] = _cycle_of(i, r, turn, d, g)
        lists.append_all(relayed, numbers, rows, low, high)
        relayed.free[relayed.top[0]] = chunk
        relayed.top[0] += 1
        chunk = following


@compiled(inline=True)
def _hear(
    slot: Slot3,
    key: np.uint64,
    m: int,
    state: KernelState,
    relayed: Lists,
    layout: Layout,
    log: LogBuffers,
    dead: DeadParts | None,
) -> tuple[int, int]:
    """Let the classes that are met in a slot hear packets, and keep or deliver them.

    Those that are delivered stay in ``events``. Returns how many are delivered, and how many kept.
    The source of a packet that was sent in phase 1 is complemented until it is delivered.
    """
    d, g, buffer, transit, counters = state.d, state.g, state.buffer, state.transit, state.counters
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
        if buffer > 0 and transit[keeper] >= buffer:
            packets.note_lost(slot.t, source, to, since, log.lost, counters[packets.LOST_ROWS])
            counters[packets.LOST_ROWS] += 1
            continue
        transit[keeper] += 1
        counters[packets.MOST_RELAYED] = max(counters[packets.MOST_RELAYED], int(transit[keeper]))
        is_fixed = z == r
        if dead is not None:
            is_fixed = is_fixed and not (dead.is_known and dead.blocked[c, b])
        if is_fixed:
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
    lists.append_all(relayed, numbers, coming, 0, stored)
    counters[packets.RELAYED] += stored
    return delivered, stored


@compiled
def _meet_groups(k: int, state: KernelState, dead: DeadParts) -> None:
    """Write whom each processor meets if it sends to fix the group, in cycle k."""
    g, residues = state.g, min(state.d, state.g)
    for p in range(len(state.held)):
        a, r = int(state.group[p]), int(state.residue[p])
        dead.meets[p, 0], dead.meets[p, 1] = (a + r + k) % g * residues + r, 0


@compiled
def _take_passed_on(
    number: int, t: int, state: KernelState, relayed: Lists, dead: DeadParts
) -> int:
    """Remove the first packet of every queue of a list that the class it meets can pass on.

    As :func:`take`; the list keeps the others, in order, and queues of which a packet was sent
    before in the slot.
    """
    rows, last, events, numbers = relayed.rows, state.last, state.events, state.keys
    chunk, stop, m = int(relayed.first[number]), int(relayed.end[number]), 0
    relayed.first[number], relayed.end[number] = -1, 0
    numbers[0] = number
    residues = min(state.d, state.g)
    while chunk >= 0:
        following = int(relayed.after[chunk])
        high = stop if following < 0 else (chunk + 1) * CHUNK
        for row in range(chunk * CHUNK, high):
            p, to = rows[row, KEY], int(state.class_of[rows[row, TO]])
            by = int(dead.meets[p, 0])
            if last[p] != t and can_pass_on(by, to, residues, dead.blocked, dead.relays):
                last[p] = t
                for column in range(4):
                    events[m, column] = rows[row, column]
                m += 1
            else:
                lists.append_all(relayed, numbers, rows, row, row + 1)
        relayed.free[relayed.top[0]] = chunk
        relayed.top[0] += 1
        chunk = following
    return m


@compiled(inline=True)
def _count_hops(m: int, state: KernelState) -> None:
    events = state.events
    for q in range(m):
        source = events[q, FROM]
        state.hops[q] = 3 if source < 0 else 2
        events[q, FROM] = ~source if source < 0 else source
