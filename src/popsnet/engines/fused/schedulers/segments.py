"""A hash table per stripe of queues, each a segment of one array of records.

Queues that are visited together have one stripe, so that a visit reads consecutive memory. A
segment has a power of two of records, and is replaced by one of twice the size when it is full. An
empty queue has no record, so memory goes with the packets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.network import I32, I64

FACTOR = 0x9E3779B1
"""Spreads the numbers of queues over a segment."""

_SIZES = 48


class Segments(NamedTuple):
    """Records of queues by stripe."""

    records: I32
    """A record is unused if its first column is negative."""
    tails: I32
    """Where the last packet of a queue is, for queues whose records do not have it."""
    base: I64
    sizes: I32
    """Of the segment of each stripe: its first record and the number of records."""
    used: I32
    """Records in use in each segment."""
    meta: I64
    """The first record that was never used, then the first free segment of each size."""


def new_segments(stripes: int, columns: int) -> Segments:
    """Return segments without queues."""
    records, tails = np.empty((64, columns), dtype=np.int32), np.empty(64, dtype=np.int32)
    base, meta = np.zeros(stripes, dtype=np.int64), np.full(1 + _SIZES, -1, dtype=np.int64)
    sizes, used = np.zeros((2, stripes), dtype=np.int32)
    meta[0] = 0
    return Segments(records, tails, base, sizes, used, meta)


def settled(segments: Segments, grown: Segments) -> Segments:
    """Return the segments that a kernel returned.

    If it made larger arrays, copies that NumPy allocates are on large pages, where there are any.
    """
    if len(grown.records) == len(segments.records):
        return segments
    return segments._replace(records=grown.records.copy(), tails=grown.tails.copy())


@compiled(inline=True)
def log2(size: int) -> int:
    """Return the exponent of a power of two."""
    exponent = 0
    while size >> exponent > 1:
        exponent += 1
    return exponent


@compiled
def double(segments: Segments, stripe: int) -> int:
    """Give a stripe an empty segment of twice the size; return where the old one is, -1 if full."""
    records, base, sizes, meta = segments.records, segments.base, segments.sizes, segments.meta
    old, larger = int(base[stripe]), max(2 * int(sizes[stripe]), 4)
    slot = 1 + log2(larger)
    at = meta[slot]
    if at >= 0:
        meta[slot] = int(records[at, 1])
    elif meta[0] + larger > len(records):
        return -1
    else:
        at = meta[0]
        meta[0] += larger
    base[stripe], sizes[stripe] = at, larger
    for row in range(at, at + larger):
        records[row, 0] = -1
    return old


@compiled(inline=True)
def free(segments: Segments, first: int, size: int) -> None:
    """Let a segment be used again; its second column leads to the next free one of its size."""
    if size > 0:
        slot = 1 + log2(size)
        segments.records[first, 1] = segments.meta[slot]
        segments.meta[slot] = first


@compiled
def enlarge(segments: Segments, stripe: int) -> Segments:
    """Return larger arrays with the same segments, one after another, and room for one more."""
    records, tails, base = segments.records, segments.tails, segments.base
    sizes, meta = segments.sizes, segments.meta
    total = 0
    for k in range(len(base)):
        total += int(sizes[k])
    room, columns = 2 * total + 2 * int(sizes[stripe]) + 64, records.shape[1]
    larger, larger_tails = np.empty((room, columns), np.int32), np.empty(room, np.int32)
    top = 0
    for k in range(len(base)):
        first, size = base[k], int(sizes[k])
        base[k] = top
        for row in range(size):
            for column in range(columns):
                larger[top + row, column] = records[first + row, column]
            larger_tails[top + row] = tails[first + row]
        top += size
    meta[:] = -1
    meta[0] = top
    return Segments(larger, larger_tails, base, sizes, segments.used, meta)
