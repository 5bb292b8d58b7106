"""Euler splits: divide a regular bipartite multigraph of even degree into two of half the degree.

Edges are paired at every vertex. A walk that leaves every vertex by the partner of the edge it
came by closes to a cycle, and these cycles cover every edge once. The edges of a walk go to the two
halves alternately. As the walk also alternates between the sides of the graph, every cycle has even
length, and each pair has one edge in each half.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.base.compiled import compiled
from popsnet.model.loops import I32
from popsnet.programs.schedules.colouring.multigraph import lay_out

U8 = npt.NDArray[np.uint8]

_UNSEEN = 2
_DONE = -1
_AT_ONCE = 4
"""The number of walks at once, found by measurement."""
_MOST_WAITING = 64
"""At least one for every level of splitting, of which there are at most 31."""


@compiled
def split_once(right: I32, edges: I32, degree: int) -> I32:
    """Return one half of the edges of a regular graph of even degree, in order, in O(m) time."""
    right_slot, left_slot = np.empty_like(edges), np.empty_like(edges)
    lay_out(right, edges, degree, right_slot, left_slot)
    half = len(edges) // 2
    first, turn = np.empty(half, dtype=np.uint8), np.empty(half, dtype=np.uint8)
    _walk(right_slot, left_slot, 1, first, turn)
    chosen = np.empty(half, dtype=np.int32)
    for i in range(half):
        chosen[i] = edges[2 * i + first[i]]
    return chosen


@compiled
def split_down(right: I32, edges: I32, degree: int, base: int, colours: I32) -> None:
    """Colour a regular graph whose degree is a power of two with colours from ``base`` on.

    Walks in a few parts are interleaved: while one waits for memory, the others continue. Their
    parts are split before those of others, so that they stay in the cache. Two sets of arrays
    alternate by depth. O(m log degree) time.
    """
    m, nodes = len(edges), len(edges) // degree
    slots, halves = np.empty((2, 2, m), dtype=np.int32), np.empty((2, m), dtype=np.int32)
    lay_out(right, edges, degree, slots[0, 0], slots[0, 1])
    for e in range(m):
        halves[0, e] = edges[e]
    first, turn = np.empty(m // 2, dtype=np.uint8), np.empty(m // 2, dtype=np.uint8)
    begins, ends = np.zeros(_MOST_WAITING, dtype=np.int64), np.full(_MOST_WAITING, m)
    depths, top = np.zeros(_MOST_WAITING, dtype=np.int64), 0
    while top >= 0:
        begin, end, depth = begins[top], ends[top], depths[top]
        parts = min(1 << depth, _AT_ONCE)
        here = depth % 2
        size = (end - begin) // parts
        if size == nodes:
            for e in range(begin, end):
                colours[halves[here, e]] = base + e // nodes
            top -= 1
            continue
        _split(slots, halves, begin, end, depth, nodes, first, turn)
        depths[top] = depth + 1
        if parts == _AT_ONCE:  # the other half waits
            middle = (begin + end) // 2
            begins[top] = middle
            top += 1
            begins[top], ends[top], depths[top] = begin, middle, depth + 1


@compiled
def _split(
    slots: I32, halves: I32, begin: int, end: int, depth: int, nodes: int, first: U8, turn: U8
) -> None:
    """Split the graphs in these slots, from one set of arrays into the other."""
    parts, source, target = min(1 << depth, _AT_ONCE), depth % 2, 1 - depth % 2
    size = (end - begin) // parts
    _walk(slots[source, 0, begin:end], slots[source, 1, begin:end], parts, first, turn)
    for part in range(parts):
        at, of = begin + part * size, part * (size // 2)
        to = at + size
        ones, others = first[of : of + size // 2], turn[of : of + size // 2]
        _divide(halves[source, at:to], ones, 0, halves[target, at:to])
        if size > 2 * nodes:  # else every half is a matching, and needs no slots
            _divide(slots[source, 0, at:to], ones, 1, slots[target, 0, at:to])
            _divide(slots[source, 1, at:to], others, 1, slots[target, 1, at:to])


@compiled
def _walk(right_slot: I32, left_slot: I32, parts: int, first: U8, turn: U8) -> None:
    """Decide which edge of each pair, on the left and on the right, belongs to the first half.

    The slots hold several graphs of one size, one after the other; walks in them are interleaved.
    """
    size = len(right_slot) // parts
    half = size // 2
    first[: len(right_slot) // 2] = _UNSEEN
    here, begun = np.zeros(parts, dtype=np.int32), np.zeros(parts, dtype=np.int32)
    going = parts
    while going:
        for part in range(parts):
            e = here[part]
            if e == _DONE:
                continue
            of = part * half
            if first[of + (e >> 1)] != _UNSEEN:  # a cycle is closed: find the next
                pair = begun[part]
                while pair < half and first[of + pair] != _UNSEEN:
                    pair += 1
                begun[part] = pair
                if pair == half:
                    here[part] = _DONE
                    going -= 1
                    continue
                e = 2 * pair
            first[of + (e >> 1)] = e & 1
            s = right_slot[part * size + e]
            turn[of + (s >> 1)] = s & 1
            here[part] = left_slot[part * size + (s ^ 1)] ^ 1


@compiled
def _divide(values: I32, first: U8, shift: int, out: I32) -> None:
    """Put one of each pair in the first half, the other in the second; slots become pairs."""
    half = len(first)
    for i in range(half):
        out[i] = values[2 * i + first[i]] >> shift
        out[half + i] = values[2 * i + (first[i] ^ 1)] >> shift
