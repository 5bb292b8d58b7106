"""A perfect matching of a regular bipartite multigraph, by random walks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.splitmix import word

I32 = npt.NDArray[np.int32]

_32 = np.uint64(32)


@compiled
def perfect_matching(right: I32, edges: I32, degree: int, key: np.uint64) -> I32:
    """For every right vertex the position of its edge among ``edges``, which are in order.

    Goel, Kapralov and Khanna (2010): from a vertex without a partner walk along any edge to the
    right and along the matched edge back, until a vertex on the right is free. Each left vertex
    remembers the edge by which it was left last: that path has no loops, and its edges become
    matched. It takes O(N log N) steps on average for N vertices a side, whatever the degree.
    """
    nodes = len(edges) // degree
    taken = np.full(nodes, -1, dtype=np.int32)
    way = np.empty(nodes, dtype=np.int32)
    draws = np.uint64(0)
    for start in range(nodes):
        u = start
        while u >= 0:
            drawn = (word(key, draws) >> _32) * np.uint64(degree) >> _32
            draws += np.uint64(1)
            way[u] = u * degree + np.int64(drawn)
            matched = taken[right[edges[way[u]]]]
            u = matched // degree if matched >= 0 else -1
        u = start
        while u >= 0:
            v = right[edges[way[u]]]
            matched = taken[v]
            taken[v] = way[u]
            u = matched // degree if matched >= 0 else -1
    return taken
