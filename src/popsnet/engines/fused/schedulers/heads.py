"""The first packets of many queues, of which most are empty, by stripe and class.

A stripe has at most one queue per class of destinations. A record has the destination and the slot
of arrival, and at most three quarters of a segment are used. In a segment with a record for every
class, each class has a place of its own, and all may be used.

The slot is complemented if the queue has more packets. These are a ring of rows elsewhere, and
``tails`` has the last of them. As few queues have two packets, a record is small.
"""

from __future__ import annotations

from popsnet.base.compiled import compiled
from popsnet.engines.fused.schedulers.segments import FACTOR, Segments, double, free
from popsnet.model.network import I32

TO, SINCE = 0, 1
"""Columns of records: the destination, -1 if there is none, and the slot of arrival."""

LOW = 0x7FFFFFFF
"""The bits of a slot of arrival that a record has."""


@compiled(inline=True)
def home(cls: int, size: int) -> int:
    """Return the first place to look for a class in a segment.

    Classes below the size have different places.
    """
    folded = int(cls) ^ (int(cls) >> 5)
    return ((folded ^ (folded >> 10)) * FACTOR) & (int(size) - 1)


@compiled(inline=True)
def look_at(heads: Segments, stripes: I32, classes: I32, m: int) -> int:
    """Read the records of queues, so that many of them are fetched from memory at the same time."""
    records, base, sizes = heads.records, heads.base, heads.sizes
    total = 0
    for k in range(m):
        stripe = stripes[k]
        size = int(sizes[stripe])
        at = base[stripe] + (home(classes[k], size) if size > 0 else 0)
        total += int(records[at, TO])
    return total


@compiled(inline=True)
def find(heads: Segments, stripe: int, cls: int, class_of: I32) -> int:
    """Return the record of a class in a segment that is not empty, or the one that it would get."""
    records, first, size = heads.records, heads.base[stripe], int(heads.sizes[stripe])
    at = home(cls, size)
    while records[first + at, TO] >= 0 and class_of[records[first + at, TO]] != cls:
        at = (at + 1) & (size - 1)
    return int(first + at)


@compiled(inline=True)
def remove(heads: Segments, stripe: int, record: int, class_of: I32) -> None:
    """Remove a record, and move up those that were placed after it."""
    records, first, size = heads.records, heads.base[stripe], int(heads.sizes[stripe])
    hole = record - first
    heads.used[stripe] -= 1
    records[record, TO] = -1
    if size >= len(heads.base):
        return  # each class has a place of its own
    at = (hole + 1) & (size - 1)
    while records[first + at, TO] >= 0:
        wanted = home(class_of[records[first + at, TO]], size)
        if ((at - wanted) & (size - 1)) >= ((at - hole) & (size - 1)):
            records[first + hole, TO] = records[first + at, TO]
            records[first + hole, SINCE] = records[first + at, SINCE]
            heads.tails[first + hole] = heads.tails[first + at]
            records[first + at, TO] = -1
            hole = at
        at = (at + 1) & (size - 1)


@compiled(inline=True)
def put_back(
    heads: Segments, stripe: int, some: I32, tails: I32, low: int, high: int, class_of: I32
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
def widen(heads: Segments, stripe: int, class_of: I32) -> bool:
    """Double the segment of a stripe; return False if there is no room."""
    size, old = int(heads.sizes[stripe]), double(heads, stripe)
    if old < 0:
        return False
    put_back(heads, stripe, heads.records, heads.tails, old, old + size, class_of)
    free(heads, old, size)
    return True
