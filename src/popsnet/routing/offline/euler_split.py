"""Euler splits: a regular bipartite multigraph of even degree into two of half the degree.

Edges are paired at every vertex. Whoever leaves a vertex by the partner of the edge it came by
walks in circles that meet every edge once. Edges are given to two halves by turns on the way: as
the sides of the graph take turns too, every circle closes well, and each pair has one in each half.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.routing.offline.multigraph import lay_out

__all__ = ["split_down", "split_once"]

I32 = npt.NDArray[np.int32]
Bytes = npt.NDArray[np.uint8]

_UNSEEN = 2


@compiled
def split_once(right: I32, edges: I32, degree: int) -> I32:
    """One half of the edges of a regular graph of even degree, in order. O(m)."""
    right_slot, left_slot = np.empty_like(edges), np.empty_like(edges)
    lay_out(right, edges, degree, right_slot, left_slot)
    half = len(edges) // 2
    first, turn = np.empty(half, dtype=np.uint8), np.empty(half, dtype=np.uint8)
    _walk(right_slot, left_slot, first, turn)
    chosen = np.empty(half, dtype=np.int32)
    for i in range(half):
        chosen[i] = edges[2 * i + first[i]]
    return chosen


@compiled
def split_down(right: I32, edges: I32, degree: int, base: int, colours: I32) -> None:
    """Colour a regular graph whose degree is a power of two with colours from ``base`` on.

    A half is split again before the other is looked at, so that small parts stay in the cache. Two
    sets of arrays take turns by depth. O(m log degree).
    """
    m, nodes = len(edges), len(edges) // degree
    slots, halves = np.empty((2, 2, m), dtype=np.int32), np.empty((2, m), dtype=np.int32)
    lay_out(right, edges, degree, slots[0, 0], slots[0, 1])
    halves[0] = edges
    first, turn = np.empty(m // 2, dtype=np.uint8), np.empty(m // 2, dtype=np.uint8)
    waiting = [(0, m, 0)]
    while len(waiting):
        begin, end, depth = waiting.pop()
        here, there = depth % 2, (depth + 1) % 2
        if end - begin == nodes:
            for e in range(begin, end):
                colours[halves[here, e]] = base + begin // nodes
            continue
        middle = (begin + end) // 2
        size = middle - begin
        part = slots[here, 0, begin:end], slots[here, 1, begin:end]
        _walk(part[0], part[1], first[:size], turn[:size])
        _divide(halves[here, begin:end], first[:size], 0, halves[there, begin:end])
        if size > nodes:
            _divide(part[0], first[:size], 1, slots[there, 0, begin:end])
            _divide(part[1], turn[:size], 1, slots[there, 1, begin:end])
        waiting.append((middle, end, depth + 1))
        waiting.append((begin, middle, depth + 1))


@compiled
def _walk(right_slot: I32, left_slot: I32, first: Bytes, turn: Bytes) -> None:
    """Which of each pair on the left, and on the right, belongs to the first half."""
    first[:] = _UNSEEN
    for pair in range(len(first)):
        e = np.int32(2 * pair)
        while first[e >> 1] == _UNSEEN:
            first[e >> 1] = e & 1
            s = right_slot[e]
            turn[s >> 1] = s & 1
            e = left_slot[s ^ 1] ^ 1


@compiled
def _divide(values: I32, first: Bytes, shift: int, out: I32) -> None:
    """One of each pair to the first half, the other to the second; a slot becomes its pair."""
    half = len(first)
    for i in range(half):
        out[i] = values[2 * i + first[i]] >> shift
        out[half + i] = values[2 * i + (first[i] ^ 1)] >> shift
