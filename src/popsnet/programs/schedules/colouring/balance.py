"""Balance the classes of a proper edge colouring, with more classes if wanted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.loops import I32, I64
from popsnet.programs.schedules.colouring.multigraph import count, runs

_NONE = -1


def balance(left: I32, right: I32, colours: I32, wanted: int) -> I32:
    """Change a colouring in place to ``wanted`` classes whose sizes differ by at most one.

    A class that is too large gives edges to those that are too small, one after the other. The
    edges of two classes form alternating paths and cycles, since both are matchings, and exchanging
    a path that begins and ends in the larger class moves one edge. There are at least as many such
    paths as the difference of the sizes. Only paths from edges of the giver whose left end the
    taker does not use are followed, so the work is proportional to the taker's size and the edges
    moved: O(m + wanted) in all.
    """
    sizes = count(colours, wanted)
    if sizes.max() - sizes.min() <= 1:
        return colours
    least, more = divmod(len(colours), wanted)
    goals = np.full(wanted, least, dtype=np.int32)
    goals[np.argsort(-sizes, kind="stable")[:more]] += 1
    room = np.maximum(sizes, goals)
    begins = (np.cumsum(room) - room).astype(np.int64)
    members = np.empty(room.sum(), dtype=np.int32)
    members[runs(begins, sizes)] = np.argsort(colours, kind="stable")
    seats = np.full((4, 1 + max(left.max(), right.max())), _NONE, dtype=np.int32)
    edges = _Edges(left, right, np.empty(len(colours), dtype=np.int32), seats)
    _level(edges, colours, members, begins, sizes, goals)
    return colours


class _Edges(NamedTuple):
    """The ends of all edges, and where they are in two classes."""

    left: I32
    right: I32
    places: I32
    """The place of each edge among those of its class."""
    seats: I32
    """Rows with the giver's edge at every left and right vertex, then the taker's."""


@compiled
def _level(edges: _Edges, colours: I32, members: I32, begins: I64, sizes: I32, goals: I32) -> None:
    """Let every class that is too large give edges to those that are too small, in order."""
    taker = 0
    for giver in range(len(sizes)):
        if sizes[giver] <= goals[giver]:
            continue
        own = members[begins[giver] :]
        _seat(edges, own[: sizes[giver]], 0)
        while sizes[giver] > goals[giver]:
            while sizes[taker] >= goals[taker]:
                taker += 1
            moved = min(sizes[giver] - goals[giver], goals[taker] - sizes[taker])
            other = members[begins[taker] :]
            _seat(edges, other[: sizes[taker]], 2)
            _give(edges, own, other, sizes[giver], sizes[taker], moved)
            sizes[giver] -= moved
            sizes[taker] += moved
            colours[other[: sizes[taker]]] = taker
            _clear(edges, other[: sizes[taker]], 2)
        colours[own[: sizes[giver]]] = giver
        _clear(edges, own[: sizes[giver]], 0)


@compiled
def _seat(edges: _Edges, some: I32, row: int) -> None:
    left, right, places, seats = edges
    for k in range(len(some)):
        e = some[k]
        places[e] = k
        seats[row, left[e]] = seats[row + 1, right[e]] = e


@compiled
def _clear(edges: _Edges, some: I32, row: int) -> None:
    for e in some:
        edges.seats[row, edges.left[e]] = edges.seats[row + 1, edges.right[e]] = _NONE


@compiled
def _give(edges: _Edges, own: I32, other: I32, owned: int, others: int, moved: int) -> None:
    """Exchange one path for every edge to move from one class to the other."""
    k, most = 0, owned - moved
    while owned > most:
        e = own[k]
        if edges.seats[2, edges.left[e]] != _NONE or not _is_odd(edges, e):
            k += 1
            continue
        owned -= 1
        _exchange(edges, e, own, other, owned, others)
        others += 1


@compiled
def _is_odd(edges: _Edges, e: int) -> bool:
    """Return whether the path from an edge of the giver also ends with one."""
    left, right, _, seats = edges
    while True:
        f = seats[3, right[e]]
        if f == _NONE:
            return True
        e = seats[0, left[f]]
        if e == _NONE:
            return False


@compiled
def _exchange(edges: _Edges, e: int, own: I32, other: I32, owned: int, others: int) -> None:
    """Exchange the edges of an odd path; the giver keeps the first ``owned`` entries of ``own``."""
    left, right, places, seats = edges
    seats[0, left[e]] = _NONE
    while True:
        v = right[e]
        f = seats[3, v]
        seats[2, left[e]] = seats[3, v] = e
        seats[1, v] = f
        if f == _NONE:
            break
        following = seats[0, left[f]]
        seats[0, left[f]] = f
        own[places[e]], other[places[f]] = f, e
        places[e], places[f] = places[f], places[e]
        e = following
    last = own[owned]
    own[places[e]] = last
    places[last] = places[e]
    other[others] = e
    places[e] = others
