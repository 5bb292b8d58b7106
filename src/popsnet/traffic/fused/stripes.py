"""Many queues of packets, of which most are empty: a hash table per stripe of them.

A queue has a stripe and a key. Queues that are visited together have one stripe, so that a visit
reads consecutive memory: the classes that senders meet in a slot of the frame, or the packets of
one turn. The table of a stripe is a segment of one array of records (key, first packet, last
packet, length), has a power of two of records, of which at most three quarters are used, and is
doubled when it is full. An empty queue has no record, so memory goes with the packets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.traffic.fused.state import NEXT, KernelState

KEY, HEAD, TAIL, LENGTH = 0, 1, 2, 3
"""Columns of records."""

_SIZES = 48
_FACTOR = 0x9E3779B1


class QueuesByStripe(NamedTuple):
    """Queues by stripe and key."""

    records: I32
    base: I64
    sizes: I32
    """Of the segment of each stripe: its first record and the number of records."""
    used: I32
    """Records in use in each segment."""
    meta: I64
    """The first record that was never used, then the first free segment of each size."""


def new_queues(stripes: int) -> QueuesByStripe:
    """Return empty queues."""
    meta = np.full(1 + _SIZES, -1, dtype=np.int64)
    meta[0] = 0
    return QueuesByStripe(
        np.empty((64, 4), dtype=np.int32), np.zeros(stripes, dtype=np.int64),
        np.zeros(stripes, dtype=np.int32), np.zeros(stripes, dtype=np.int32), meta,
    )  # fmt: skip


def settled(queues: QueuesByStripe, grown: QueuesByStripe) -> QueuesByStripe:
    """Return the queues that a kernel returned.

    If it made a larger array, a copy that NumPy allocates is on large pages, where there are any.
    """
    if len(grown.records) == len(queues.records):
        return queues
    return queues._replace(records=grown.records.copy())


@compiled(inline=True)
def place(key: int, size: int) -> int:
    """Return the first place to look for a key in a segment."""
    return ((int(key) * _FACTOR) >> 12) & (int(size) - 1)


@compiled(inline=True)
def log2(size: int) -> int:
    """Return the exponent of a power of two."""
    exponent = 0
    while size >> exponent > 1:
        exponent += 1
    return exponent


@compiled
def find(queues: QueuesByStripe, stripe: int, key: int) -> int:
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
def widen(queues: QueuesByStripe, stripe: int) -> bool:
    """Double the segment of a stripe; return False if there is no room."""
    records, base, sizes, meta = queues.records, queues.base, queues.sizes, queues.meta
    old, size = base[stripe], int(sizes[stripe])
    larger = max(2 * size, 4)
    slot = 1 + log2(larger)
    at = meta[slot]
    if at >= 0:
        meta[slot] = int(records[at, HEAD])
    elif meta[0] + larger > len(records):
        return False
    else:
        at = meta[0]
        meta[0] += larger
    base[stripe], sizes[stripe] = at, larger
    for row in range(at, at + larger):
        records[row, KEY] = -1
    for row in range(old, old + size):
        key, head = records[row, KEY], records[row, HEAD]
        if key >= 0:
            enter(records, at, larger, key, head, records[row, TAIL], records[row, LENGTH])
    if size > 0:
        slot = 1 + log2(size)
        records[old, HEAD] = meta[slot]
        meta[slot] = old
    return True


@compiled
def enlarge(queues: QueuesByStripe, stripe: int) -> QueuesByStripe:
    """Return a larger array with the same segments, one after another."""
    records, base, sizes, meta = queues.records, queues.base, queues.sizes, queues.meta
    total = 0
    for one in range(len(base)):
        total += int(sizes[one])
    room = 2 * total + 2 * int(sizes[stripe]) + 64
    larger = np.empty((room, 4), dtype=np.int32)
    top = 0
    for one in range(len(base)):
        first, size = base[one], int(sizes[one])
        base[one] = top
        for row in range(size):
            for column in range(4):
                larger[top + row, column] = records[first + row, column]
        top += size
    meta[:] = -1
    meta[0] = top
    return QueuesByStripe(larger, base, sizes, queues.used, meta)


@compiled
def look_at(queues: QueuesByStripe, stripes: I32, keys: I32, low: int, m: int) -> int:
    """Read the records of queues, so that many of them are fetched from memory at the same time."""
    records, base, sizes = queues.records, queues.base, queues.sizes
    total = 0
    for k in range(low, m):
        stripe = stripes[k]
        size = int(sizes[stripe])
        at = base[stripe] + (place(keys[k], size) if size > 0 else 0)
        total += int(records[at, KEY])
    return total


@compiled
def enqueue(queues: QueuesByStripe, state: KernelState, low: int, m: int) -> int:
    """Append packets low … m - 1 to queues, and return the first for which there was no room.

    Writes the length that each queue had.
    """
    records, base, sizes, used = queues.records, queues.base, queues.sizes, queues.used
    pool, nodes, stripes = state.pool, state.nodes, state.stripes
    keys, lengths = state.keys, state.lengths
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
            lengths[k] = 0
        else:
            lengths[k] = records[at, LENGTH]
            pool[records[at, TAIL], NEXT] = row
            records[at, TAIL] = row
            records[at, LENGTH] += 1
    return m


@compiled
def remove(queues: QueuesByStripe, stripe: int, record: int) -> None:
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
