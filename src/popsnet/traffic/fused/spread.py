"""Packets that are sent to the class that is met, for whom they may or may not be."""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.traffic.fused.frame import keeper_of, reduced
from popsnet.traffic.fused.lists import append
from popsnet.traffic.fused.parts import (
    ARRIVAL,
    DESTINATION,
    FREE,
    MOST_RELAYED,
    NEXT,
    RELAYED,
    SOURCE,
)  # fmt: skip


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
    t0: int, t2: int, key: np.uint64, senders: I32, sent: I32, low: int, m: int, d: int, g: int,
    group: I32, index: I32, residue: I32, buffer: int, pool: I32, free: I32, kept: I32,
    state: I64, nodes: I32, keys: I32,
) -> tuple[int, int]:  # fmt: skip
    """Let the classes that are met in the slot (t0, t2) hear packets low … m - 1 of ``sent``.

    Those that are delivered stay in ``sent``. Others are put into ``nodes``, and their keepers into
    ``keys``, unless a keeper has no room. Returns the ends of both.
    """
    delivered, stored = low, 0
    for q in range(low, m):
        p, row = senders[q], sent[q]
        a, i, to = int(group[p]), int(index[p]), pool[row, DESTINATION]
        if d <= g:
            b, r = reduced(a + i - t0, g), reduced(i + t2, d)
        else:
            j = reduced(i - t0, d)
            b, r = reduced(a + j, g), reduced(j + t2, g)
        if group[to] == b and residue[to] == r:
            sent[delivered] = row
            delivered += 1
            continue
        keeper = keeper_of(key, a, b, r, d, g)
        if buffer > 0 and kept[keeper] >= buffer:
            free[state[FREE]] = row
            state[FREE] += 1
            continue
        kept[keeper] += 1
        state[MOST_RELAYED] = max(state[MOST_RELAYED], int(kept[keeper]))
        nodes[stored], keys[stored] = row, keeper
        stored += 1
    state[RELAYED] += stored
    return delivered, stored


@compiled
def keep(
    nodes: I32, keys: I32, stripes: I32, m: int, pool: I32, rows: I32, after: I32, first: I32,
    end: I32, free: I32, top: I64,
) -> None:  # fmt: skip
    """Move packets from the pool to the lists of their keepers."""
    for k in range(m):
        row = nodes[k]
        append(
            rows, after, first, end, free, top, int(stripes[k]), keys[k],
            pool[row, DESTINATION], pool[row, SOURCE], pool[row, ARRIVAL],
        )  # fmt: skip
