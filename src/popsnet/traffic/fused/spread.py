"""Packets that are sent to the class that is met, for whom they may or may not be."""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.traffic.fused.frame import frame_slot, keeper_of, reduced
from popsnet.traffic.fused.lists import FROM, KEY, SINCE, TO, append_all
from popsnet.traffic.fused.parts import MOST_RELAYED, NEXT, RELAYED


@compiled
def take_oldest(
    t0: int, d: int, g: int, head: I32, pool: I32, held: I32, senders: I32, sent: I32
) -> int:
    """Remove the oldest packet of every source that may send in a slot of the frame."""
    m = 0
    if d <= g:
        for p in range(d * g):
            row = head[p]
            if row >= 0:
                senders[m], sent[m] = p, row
                m += 1
    else:
        for a in range(g):
            for j in range(g):
                p = a * d + reduced(t0 + j, d)
                row = head[p]
                senders[m], sent[m] = p, row
                m += int(row >= 0)
    for q in range(m):
        p = senders[q]
        head[p] = pool[sent[q], NEXT]
        held[p] -= 1
    return m


@compiled
def hear(
    t0: int, t2: int, key: np.uint64, events: I32, low: int, m: int, d: int, g: int, group: I32,
    index: I32, residue: I32, buffer: int, kept: I32, state: I64, numbers: I32, coming: I32,
    rows: I32, after: I32, first: I32, end: I32, free: I32, top: I64,
) -> tuple[int, int]:  # fmt: skip
    """Let the classes that are met in the slot (t0, t2) hear packets low … m - 1 of ``events``.

    Those that are delivered stay there. Others go to the lists of their keepers, by the slots of
    the frame in which these meet the classes of the destinations, unless a keeper has no room.
    Returns the end of the packets that are delivered, and how many are kept.
    """
    delivered, stored, most = low, 0, state[MOST_RELAYED]
    for q in range(low, m):
        p, to, source, since = events[q, KEY], events[q, TO], events[q, FROM], events[q, SINCE]
        a, i, c, z = int(group[p]), int(index[p]), int(group[to]), int(residue[to])
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
        most = max(most, int(kept[keeper]))
        numbers[stored] = frame_slot(b, int(index[keeper]), c, z, d, g)
        coming[stored, KEY], coming[stored, TO] = keeper, to
        coming[stored, FROM], coming[stored, SINCE] = source, since
        stored += 1
    append_all(rows, after, first, end, free, top, numbers, coming, 0, stored)
    state[MOST_RELAYED] = most
    state[RELAYED] += stored
    return delivered, stored
