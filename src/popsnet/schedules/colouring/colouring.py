"""Proper edge colourings of bipartite multigraphs, every colour used equally often."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.schedules.colouring.balance import balance
from popsnet.schedules.colouring.euler_split import split_down, split_once
from popsnet.schedules.colouring.matching import perfect_matching
from popsnet.schedules.colouring.multigraph import Regular, count, make_regular
from popsnet.slot import Ints

I32 = npt.NDArray[np.int32]

_LARGEST = 2**30
_MATCHING = "matching"


def colour_edges(left: Ints, right: Ints, colours: int | None = None, *, seed: int = 0) -> I32:
    """Colour the edges (left[i], right[i]) of a bipartite multigraph: no two that meet are alike.

    There are as many colours as the largest degree Δ, which is the least possible (König, 1916),
    or ``colours`` of them, Δ or more. Every colour has ⌊m/colours⌋ or ⌈m/colours⌉ of the m edges
    (de Werra, 1971). Vertices are numbered from 0 on each side. A seed always gives the same.

    Degrees are halved by Euler splits. An odd degree first gives up a perfect matching; of two
    halves only one is coloured by recursion, and the other borrows classes from it until its
    degree is a power of two, as Gabow (1976) does, so that O(log Δ) matchings are enough:
    O(m log Δ + N log N log Δ) time on average for N ≤ 2m/Δ + 1 vertices, which is O(m log Δ) for
    Δ ≥ log N, and O(m) memory.
    """
    left, right = _ends("left", left), _ends("right", right)
    if len(left) != len(right):
        raise InputError(f"{len(left)} left ends and {len(right)} right ends; an edge has both.")
    degree = _largest_degree(left, right)
    wanted = degree if colours is None else colours
    if wanted < degree:
        raise InputError(f"colours = {wanted}: a vertex has {degree} edges; give {degree} or more.")
    if degree == 0:
        return np.empty(0, dtype=np.int32)
    graph = make_regular(left, right, degree)
    found = np.full(len(graph.order), -1, dtype=np.int32)
    _colour(graph, np.arange(len(found), dtype=np.int32), degree, 0, Coins(seed), found)
    given = np.empty_like(found)
    given[graph.order] = found
    return balance(left, right, given[: graph.edges], wanted)


def _ends(name: str, ends: Ints) -> I32:
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise InputError(f"{name} is not a row of whole numbers, the vertex of every edge.")
    bound = min(2 * len(ends) + 2**20, _LARGEST)  # vertices without edges cost memory too
    outside = (ends < 0) | (ends >= bound)
    if outside.any():
        i = int(np.argmax(outside))
        raise InputError(f"{name}[{i}] is {ends[i]}; number the vertices from 0 to {bound - 1}.")
    return np.ascontiguousarray(ends, dtype=np.int32)


def _largest_degree(left: I32, right: I32) -> int:
    if not len(left):
        return 0
    return max(int(count(ends, int(ends.max()) + 1).max()) for ends in (left, right))


def _colour(graph: Regular, edges: I32, degree: int, base: int, coins: Coins, colours: I32) -> None:
    """Colour edges of the graph, in order and regular of that degree, from ``base`` on."""
    if degree & (degree - 1) == 0:
        split_down(graph.right, edges, degree, base, colours)
        return
    if degree % 2:
        key = np.uint64(coins.key(_MATCHING, degree))
        matched = perfect_matching(graph.right, edges, degree, key)
        colours[edges[matched]] = base
        _colour(graph, np.delete(edges, matched), degree - 1, base + 1, coins, colours)
        return
    half = degree // 2
    _colour(graph, split_once(graph.right, edges, degree), half, base, coins, colours)
    power = 1 << (half - 1).bit_length()
    base += 2 * half - power
    now = colours[edges]
    split_down(graph.right, edges[(now < 0) | (now >= base)], power, base, colours)
