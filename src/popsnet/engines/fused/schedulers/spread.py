"""Packets that are sent to the class that is met, for whom they may or may not be."""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.schedulers import packets
from popsnet.engines.fused.schedulers.frame import frame_slot, keeper_of, met, reduced, turn_of
from popsnet.engines.fused.schedulers.lists import FROM, KEY, SINCE, TO, Lists, append_all
from popsnet.engines.fused.schedulers.packets import KernelState, LogBuffers


@compiled(inline=True)
def take_oldest(u: int, state: KernelState) -> int:
    """Remove the oldest packet of every source that may send in a slot of the frame."""
    d, g, channels, head = state.d, state.g, state.channels, state.head
    senders, sent, pool, held = state.senders, state.sent, state.pool, state.held
    m = 0
    if d <= channels:
        for p in range(d * g):
            row = head[p]
            if row >= 0:
                senders[m], sent[m] = p, row
                m += 1
    else:
        t0, _ = turn_of(u, d, g, channels)
        for a in range(g):
            for j in range(channels):
                p = a * d + reduced(t0 + j, d)
                row = head[p]
                senders[m], sent[m] = p, row
                m += int(row >= 0)
    for q in range(m):
        p = senders[q]
        head[p] = pool[sent[q], packets.NEXT]
        held[p] -= 1
    return m


@compiled(inline=True)
def hear(
    t: int,
    u: int,
    key: np.uint64,
    rows: tuple[int, int],
    state: KernelState,
    relayed: Lists,
    log: LogBuffers,
) -> tuple[int, int]:
    """Let the classes that are met in a slot of the frame hear rows low … m - 1 of ``events``.

    Those that are delivered stay there. Others go to the lists of their keepers, by the slots of
    the frame in which these meet the classes of the destinations, unless a keeper has no room.
    Returns the end of the packets that are delivered, and how many are kept.
    """
    d, g, channels, buffer, transit = state.d, state.g, state.channels, state.buffer, state.transit
    group, index, residue, events = state.group, state.indices, state.residue, state.events
    numbers, coming = state.stripes, state.coming
    low, m = rows
    t0, t2 = turn_of(u, d, g, channels)
    delivered, stored, most = low, 0, state.counters[packets.MOST_RELAYED]
    for q in range(low, m):
        p, to, source, since = events[q, KEY], events[q, TO], events[q, FROM], events[q, SINCE]
        a, c, z = int(group[p]), int(group[to]), int(residue[to])
        j, b, r = met(a, int(index[p]), t0, t2, d, g, channels)
        if c == b and z == r:
            events[delivered, TO], events[delivered, FROM] = to, source
            events[delivered, SINCE] = since
            delivered += 1
            continue
        keeper = keeper_of(key, a, b, r, j, d, g, channels)
        if buffer > 0 and transit[keeper] >= buffer:
            packets.note_lost(t, source, to, since, log.lost, state.counters[packets.LOST_ROWS])
            state.counters[packets.LOST_ROWS] += 1
            continue
        transit[keeper] += 1
        most = max(most, int(transit[keeper]))
        numbers[stored] = frame_slot(b, int(index[keeper]), c, z, d, g, channels)
        coming[stored, KEY], coming[stored, TO] = keeper, to
        coming[stored, FROM], coming[stored, SINCE] = source, since
        stored += 1
    append_all(relayed, numbers, coming, 0, stored)
    state.counters[packets.MOST_RELAYED] = most
    state.counters[packets.RELAYED] += stored
    return delivered, stored
