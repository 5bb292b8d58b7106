"""Lists of packets that are read as a whole: those whose turn comes in the same slot.

A queue is visited in certain slots only, and all queues that are visited in one slot are one
list, in order of arrival. A visit reads the list from its beginning, takes the first packet of each
queue and keeps the others in order. So no queue needs memory of its own, and packets are written
and read one after another. A list consists of chunks of rows (key, destination, source, slot of
arrival), in which the key says to which queue of the list a packet belongs.

A visit takes time in proportion to the list, also where queues are long.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.arrays import with_more
from popsnet.engines.fused.schedulers.packets import KernelState
from popsnet.model.network import I32, I64

KEY, TO, FROM, SINCE = 0, 1, 2, 3
"""Columns of rows: the queue, the destination, the source, and the slot of arrival."""

CHUNK = 64
"""Rows of a chunk, a power of two."""


class Lists(NamedTuple):
    """Lists of packets by number."""

    rows: I32
    after: I32
    """The chunk after each chunk, or -1."""
    first: I32
    """The first chunk of each list, or -1."""
    end: I32
    """The row after the last one of each list."""
    free: I32
    """Chunks that are free, the first ``top[0]`` entries."""
    top: I64


def new_lists(number: int) -> Lists:
    """Return empty lists."""
    none = np.empty(0, dtype=np.int32)
    first, end = np.full(number, -1, dtype=np.int32), np.zeros(number, dtype=np.int32)
    return Lists(none.reshape(0, 4), none, first, end, none, np.zeros(1, dtype=np.int64))


def with_chunks(lists: Lists, packets: int) -> Lists:
    """Return lists with free chunks for this many more packets, in whichever lists.

    Only the last chunk of a list is not full. So there are enough chunks also if packets move from
    list to list.
    """
    needed, size = packets // CHUNK + len(lists.first) + 2, len(lists.after)
    top = int(lists.top[0])
    if top >= needed:
        return lists
    more = max(needed - top, size // 2)
    rows, after = with_more(lists.rows, more * CHUNK), with_more(lists.after, more)
    free = np.append(np.arange(size + more - 1, size - 1, -1, dtype=np.int32), lists.free)
    lists.top[0] = more + top
    return lists._replace(rows=rows, after=after, free=free)


@compiled(inline=True)
def append_all(lists: Lists, numbers: I32, packets: I32, low: int, high: int) -> None:
    """Append packets low … high - 1 to lists, of which ``numbers`` has those of the packets.

    A function per packet would be slower by an order of magnitude: a call counts references to
    every array.
    """
    rows, after, first, end = lists.rows, lists.after, lists.first, lists.end
    free, top = lists.free, lists.top
    for k in range(low, high):
        number = numbers[k - low]
        at = int(end[number])
        if at & (CHUNK - 1) == 0:
            top[0] -= 1
            chunk = free[top[0]]
            after[chunk] = -1
            if first[number] < 0:
                first[number] = chunk
            else:
                after[(at - 1) // CHUNK] = chunk
            at = int(chunk) * CHUNK
        for column in range(4):
            rows[at, column] = packets[k, column]
        end[number] = at + 1


@compiled(inline=True)
def take(lists: Lists, number: int, t: int, state: KernelState, begin: int) -> int:
    """Remove the first packet of every queue of a list, and write it to ``events``.

    ``last`` has the last slot in which each key sent, and gets t. Packets are written from
    ``begin`` on. Returns their end.
    """
    rows, after, last, events = lists.rows, lists.after, state.last, state.events
    chunk, stop = int(lists.first[number]), int(lists.end[number])
    if chunk < 0:
        return begin
    into, at, m, remainder = chunk, chunk * CHUNK, begin, 0
    final = (stop - 1) // CHUNK
    while chunk >= 0:
        high = stop if chunk == final else (chunk + 1) * CHUNK
        for row in range(chunk * CHUNK, high):
            key, to, source, since = rows[row, 0], rows[row, 1], rows[row, 2], rows[row, 3]
            stays = int(last[key] == t)
            last[key] = t
            events[m, 0], events[m, 1], events[m, 2], events[m, 3] = key, to, source, since
            m += 1 - stays
            if at == (into + 1) * CHUNK:
                into = int(after[into])
                at = into * CHUNK
            rows[at, 0], rows[at, 1], rows[at, 2], rows[at, 3] = key, to, source, since
            at += stays
            remainder += stays
        chunk = int(after[chunk])
    cut(lists, number, into, at, remainder)
    return m


@compiled(inline=True)
def cut(lists: Lists, number: int, into: int, at: int, remainder: int) -> None:
    """End a list at a row, and free the chunks that it does not need."""
    after, first, free, top = lists.after, lists.first, lists.free, lists.top
    if remainder == 0:
        chunk = int(first[number])
        first[number], lists.end[number] = -1, 0
    else:
        if at == into * CHUNK:  # a chunk that was begun and not used
            chunk, before = int(first[number]), int(first[number])
            while chunk != into:
                before, chunk = chunk, int(after[chunk])
            into = before
            at = (into + 1) * CHUNK
        chunk = int(after[into])
        after[into] = -1
        lists.end[number] = at
    while chunk >= 0:
        free[top[0]] = chunk
        top[0] += 1
        chunk = int(after[chunk])
