"""The first packets of many queues, of which most are empty: a hash table per stripe of queues.

Queues that are visited together have one stripe, so that a visit reads consecutive memory. A stripe
has at most one queue per class of destinations. The table of a stripe is a segment of one array of
records (destination, slot of arrival), has a power of two of records, of which at most three
quarters are used, and is doubled when it is full. In a table with a record for every class, each
class has a place of its own, and all may be used. An empty queue has no record, so memory goes with
the packets.

The slot is complemented if the queue has more packets. These are a ring of rows elsewhere, and
``tails`` has the last of them. As few queues have two packets, a record is small.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.traffic.fused.stripes import log2

TO, SINCE = 0, 1
"""Columns of records: the destination, -1 if there is none, and the slot of arrival."""

LOW = 0x7FFFFFFF
"""The bits of a slot of arrival that a record has."""

_SIZES = 48
_FACTOR = 0x9E3779B1


class QueueHeads(NamedTuple):
    """First packets by stripe and class."""

    records: I32
    tails: I32
    """Where the last packet of each queue of two or more is."""
    base: I64
    sizes: I32
    """Of the segment of each stripe: its first record and the number of records."""
    used: I32
    """Records in use in each segment."""
    meta: I64
    """The first record that was never used, then the first free segment of each size."""


def new_heads(stripes: int) -> QueueHeads:
    """Return the heads of queues that are all empty."""
    meta = np.full(1 + _SIZES, -1, dtype=np.int64)
    meta[0] = 0
    return QueueHeads(
        np.empty((64, 2), dtype=np.int32), np.empty(64, dtype=np.int32),
        np.zeros(stripes, dtype=np.int64), np.zeros(stripes, dtype=np.int32),
        np.zeros(stripes, dtype=np.int32), meta,
    )  # fmt: skip


def settled(heads: QueueHeads, grown: QueueHeads) -> QueueHeads:
    """Return the heads that a kernel returned.

    If it made larger arrays, copies that NumPy allocates are on large pages, where there are any.
    """
    if len(grown.records) == len(heads.records):
        return heads
    return heads._replace(records=grown.records.copy(), tails=grown.tails.copy())


@compiled(inline=True)
def home(one: int, size: int) -> int:
    """Return the first place to look for a class in a segment.

    Classes below the size have different places.
    """
    folded = int(one) ^ (int(one) >> 5)
    return ((folded ^ (folded >> 10)) * _FACTOR) & (int(size) - 1)


@compiled
def look_at(heads: QueueHeads, stripes: I32, classes: I32, m: int) -> int:
    """Read the records of queues, so that many of them are fetched from memory at the same time."""
    records, base, sizes = heads.records, heads.base, heads.sizes
    total = 0
    for k in range(m):
        stripe = stripes[k]
        size = int(sizes[stripe])
        at = base[stripe] + (home(classes[k], size) if size > 0 else 0)
        total += int(records[at, TO])
    return total


@compiled
def put_back(
    heads: QueueHeads, stripe: int, some: I32, tails: I32, low: int, high: int, class_of: I32
) -> None:
    """Enter records low … high - 1 of ``some`` into a segment that has none of their classes."""
    records, first, size = heads.records, heads.base[stripe], int(heads.sizes[stripe])
    for k in range(low, high):
        if some[k, TO] < 0:
            continue
        at = home(class_of[some[k, TO]], size)
        while records[first + at, TO] >= 0:
            at = (at + 1) & (size - 1)
        records[first + at, TO], records[first + at, SINCE] = some[k, TO], some[k, SINCE]
        if some[k, SINCE] < 0:
            heads.tails[first + at] = tails[k]


@compiled
def widen(heads: QueueHeads, stripe: int, class_of: I32) -> bool:
    """Double the segment of a stripe; return False if there is no room."""
    records, base, sizes, meta = heads.records, heads.base, heads.sizes, heads.meta
    old, size = base[stripe], int(sizes[stripe])
    larger = max(2 * size, 4)
    slot = 1 + log2(larger)
    at = meta[slot]
    if at >= 0:
        meta[slot] = int(records[at, SINCE])
    elif meta[0] + larger > len(records):
        return False
    else:
        at = meta[0]
        meta[0] += larger
    base[stripe], sizes[stripe] = at, larger
    for row in range(at, at + larger):
        records[row, TO] = -1
    put_back(heads, stripe, records, heads.tails, old, old + size, class_of)
    if size > 0:
        slot = 1 + log2(size)
        records[old, SINCE] = meta[slot]
        meta[slot] = old
    return True


@compiled
def enlarge(heads: QueueHeads, stripe: int) -> QueueHeads:
    """Return larger arrays with the same segments, one after another."""
    records, tails, base = heads.records, heads.tails, heads.base
    sizes, meta = heads.sizes, heads.meta
    total = 0
    for one in range(len(base)):
        total += int(sizes[one])
    room = 2 * total + 2 * int(sizes[stripe]) + 64
    larger, larger_tails = np.empty((room, 2), dtype=np.int32), np.empty(room, dtype=np.int32)
    top = 0
    for one in range(len(base)):
        first, size = base[one], int(sizes[one])
        base[one] = top
        for row in range(size):
            larger[top + row, TO] = records[first + row, TO]
            larger[top + row, SINCE] = records[first + row, SINCE]
            larger_tails[top + row] = tails[first + row]
        top += size
    meta[:] = -1
    meta[0] = top
    return QueueHeads(larger, larger_tails, base, sizes, heads.used, meta)
