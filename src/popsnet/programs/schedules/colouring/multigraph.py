"""Make bipartite multigraphs regular, and lay them out so that paired edges have paired slots.

In a graph of even degree D, edge slot e belongs to the left vertex e div D, and e and e ^ 1 are a
pair there. Every edge also has a slot on the right, and a pair there. Both sides are ordered by the
vertices at the other end, so a walk from pair to pair stays close in memory.
"""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.loops import I32, I64
from popsnet.model.slot import Ints

_MANY_NODES = 4


def make_regular(left: I32, right: I32, degree: int) -> tuple[I32, I32]:
    """Join vertices and add edges until the multigraph is regular.

    Return the right vertex of every edge, ordered by left vertex and then right, and the number
    that each edge had before; added edges have higher numbers. The left vertex of an edge is its
    position div ``degree``.

    Vertices that together have at most ``degree`` edges become one, so a proper colouring of the
    new graph is one of the old graph. Fewer than 2m/degree + 1 vertices are left on each side, so
    there are O(m) edges. O(m) time for m edges and as many vertices.
    """
    degrees = [count(ends, int(ends.max()) + 1) for ends in (left, right)]
    joined = [join(side, len(side), degree) for side in degrees]
    nodes = 1 + max(int(places[-1]) for places in joined)
    if nodes * degree > len(left) or any(len(side) > nodes for side in degrees):
        left = filled(joined[0][left], nodes, degree)
        right = filled(joined[1][right], nodes, degree)
    order = _sorted(left, right, nodes, degree)
    return right[order], order


def filled(ends: I32, nodes: int, degree: int) -> I32:
    """Return the ends of the edges, with as many more as every vertex lacks."""
    missing = degree - count(ends, nodes)
    return np.concatenate((ends, np.repeat(np.arange(nodes, dtype=np.int32), missing)))


def _sorted(left: I32, right: I32, nodes: int, degree: int) -> I32:
    """Order the edges of a regular graph by left vertex, then right."""
    every = np.arange(len(left), dtype=np.int32)
    if nodes > _MANY_NODES * degree:  # two passes over all; else rows one by one, in the cache
        return _by_key(left, _by_key(right, every, nodes), nodes)
    in_rows = bool((left[1:] >= left[:-1]).all())
    order = every if in_rows else _by_key(left, every, nodes)
    for_rows = np.empty_like(order)
    _sort_rows(right, order, nodes, degree, for_rows)
    return for_rows


def runs(begins: I64, lengths: Ints) -> I64:
    """Return the numbers of each run, which has some numbers from its first on."""
    ahead = np.cumsum(lengths) - lengths
    return np.repeat(begins - ahead, lengths) + np.arange(lengths.sum())


@compiled
def count(numbers: I32, bound: int) -> I32:
    """Count how often each of [0, bound) occurs, without the 64-bit copy of ``np.bincount``."""
    counts = np.zeros(bound, dtype=np.int32)
    for number in numbers:
        counts[number] += 1
    return counts


@compiled
def join(loads: I32, row: int, most: int) -> I32:
    """Give vertices of each row numbers, shared by neighbours with at most ``most`` edges."""
    places = np.empty_like(loads)
    for begin in range(0, len(loads), row):
        place, load = 0, 0
        for v in range(begin, begin + row):
            if load + loads[v] > most:
                place, load = place + 1, 0
            load += loads[v]
            places[v] = place
    return places


@compiled
def _by_key(keys: I32, edges: I32, bound: int) -> I32:
    """Sort edges by their keys in [0, bound), stably."""
    places, out = np.zeros(bound + 1, dtype=np.int32), np.empty_like(edges)
    for k in range(len(keys)):
        places[keys[k] + 1] += 1
    for v in range(bound):
        places[v + 1] += places[v]
    for k in range(len(edges)):
        key = keys[edges[k]]
        out[places[key]] = edges[k]
        places[key] += 1
    return out


@compiled
def _sort_rows(right: I32, edges: I32, nodes: int, degree: int, out: I32) -> None:
    """Sort the edges of each left vertex by their right vertices."""
    places = np.empty(nodes + 1, dtype=np.int32)
    for begin in range(0, len(edges), degree):
        places[:] = 0
        for k in range(begin, begin + degree):
            places[right[edges[k]] + 1] += 1
        for v in range(nodes):
            places[v + 1] += places[v]
        for k in range(begin, begin + degree):
            key = right[edges[k]]
            out[begin + places[key]] = edges[k]
            places[key] += 1


@compiled
def lay_out(right: I32, edges: I32, degree: int, right_slot: I32, left_slot: I32) -> None:
    """Fill in the right slots of ordered edges, and the edges in these slots.

    The edges are a subset of a regular graph's and form a regular graph of this degree.
    """
    places = np.arange(0, len(edges), degree).astype(np.int32)
    for e in range(len(edges)):
        v = right[edges[e]]
        s = places[v]
        places[v] = s + 1
        right_slot[e] = s
        left_slot[s] = e
