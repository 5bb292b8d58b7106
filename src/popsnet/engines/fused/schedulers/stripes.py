"""Many queues of packets, of which most are empty, by stripe and key.

Queues that are visited together have one stripe: the classes that senders meet in a slot of the
frame, or the packets of one turn. A record has the key, the first packet, the last packet and the
length. At most three quarters of a segment are used.
"""

from __future__ import annotations

from popsnet.base.compiled import compiled
from popsnet.engines.fused.schedulers.packets import NEXT, KernelState
from popsnet.engines.fused.schedulers.segments import FACTOR, Segments, double, free
from popsnet.model.network import I32

KEY, HEAD, TAIL, LENGTH = 0, 1, 2, 3
"""Columns of records."""


@compiled(inline=True)
def place(key: int, size: int) -> int:
    """Return the first place to look for a key in a segment."""
    return ((int(key) * FACTOR) >> 12) & (int(size) - 1)


@compiled(inline=True)
def find(queues: Segments, stripe: int, key: int) -> int:
    """Return the record of a queue, -1 if it is empty."""
    records, first, mask = queues.records, queues.base[stripe], int(queues.sizes[stripe]) - 1
    if mask < 0:
        return -1
    at = place(key, mask + 1)
    while records[first + at, KEY] != key:
        if records[first + at, KEY] < 0:
            return -1
        at = (at + 1) & mask
    return int(first + at)


@compiled
def enter(records: I32, first: int, size: int, key: int, head: int, tail: int, length: int) -> None:
    """Write the record of a queue that has none."""
    at = place(key, size)
    while records[first + at, KEY] >= 0:
        at = (at + 1) & (size - 1)
    at += first
    records[at, KEY], records[at, HEAD] = key, head
    records[at, TAIL], records[at, LENGTH] = tail, length


@compiled
def widen(queues: Segments, stripe: int) -> bool:
    """Double the segment of a stripe; return False if there is no room."""
    records, size = queues.records, int(queues.sizes[stripe])
    old = double(queues, stripe)
    if old < 0:
        return False
    at, larger = queues.base[stripe], int(queues.sizes[stripe])
    for row in range(old, old + size):
        key, head = records[row, KEY], records[row, HEAD]
        if key >= 0:
            enter(records, at, larger, key, head, records[row, TAIL], records[row, LENGTH])
    free(queues, old, size)
    return True


@compiled(inline=True)
def look_at(queues: Segments, stripes: I32, keys: I32, low: int, m: int) -> int:
    """Read the records of queues, so that many of them are fetched from memory at the same time."""
    records, base, sizes = queues.records, queues.base, queues.sizes
    total = 0
    for k in range(low, m):
        stripe = stripes[k]
        size = int(sizes[stripe])
        at = base[stripe] + (place(keys[k], size) if size > 0 else 0)
        total += int(records[at, KEY])
    return total


@compiled(inline=True)
def enqueue(queues: Segments, state: KernelState, low: int, m: int) -> int:
    """Append packets low … m - 1 to queues, and return the first for which there was no room.

    Writes the length that each queue had.
    """
    records, base, sizes, used = queues.records, queues.base, queues.sizes, queues.used
    pool, nodes, stripes, keys = state.pool, state.nodes, state.stripes, state.keys
    if look_at(queues, stripes, keys, low, m) == -(1 << 62):
        return low  # never: it keeps the reads
    for k in range(low, m):
        stripe, key, row = int(stripes[k]), keys[k], nodes[k]
        if 4 * used[stripe] >= 3 * sizes[stripe] and not widen(queues, stripe):
            return k
        first, mask = base[stripe], int(sizes[stripe]) - 1
        at = place(key, mask + 1)
        while records[first + at, KEY] != key and records[first + at, KEY] >= 0:
            at = (at + 1) & mask
        at += first
        pool[row, NEXT] = -1
        if records[at, KEY] < 0:
            records[at, KEY], records[at, HEAD] = key, row
            records[at, TAIL], records[at, LENGTH] = row, 1
            used[stripe] += 1
        else:
            pool[records[at, TAIL], NEXT] = row
            records[at, TAIL] = row
            records[at, LENGTH] += 1
    return m


@compiled(inline=True)
def remove(queues: Segments, stripe: int, record: int) -> None:
    """Remove a record, and move up those that were placed after it."""
    records, first, mask = queues.records, queues.base[stripe], int(queues.sizes[stripe]) - 1
    hole = record - first
    at = (hole + 1) & mask
    while records[first + at, KEY] >= 0:
        wanted = place(records[first + at, KEY], mask + 1)
        if ((at - wanted) & mask) >= ((at - hole) & mask):
            for column in range(4):
                records[first + hole, column] = records[first + at, column]
            hole = at
        at = (at + 1) & mask
    records[first + hole, KEY] = -1
    queues.used[stripe] -= 1
