"""Proper edge colourings of bipartite multigraphs, every colour used equally often."""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.errors import InputError, wrong
from popsnet.base.splitmix import word
from popsnet.model.coins import Coins
from popsnet.model.loops import I32
from popsnet.model.slot import Ints
from popsnet.programs.schedules.colouring.balance import balance
from popsnet.programs.schedules.colouring.euler_split import split_down, split_once
from popsnet.programs.schedules.colouring.multigraph import count, make_regular

_LARGEST = 2**30
_MATCHING = "matching"
_32 = np.uint64(32)


def colour_edges(left: Ints, right: Ints, colours: int | None = None, *, seed: int = 0) -> I32:
    """Colour the edges of a bipartite multigraph properly, with all colours used equally often.

    Edge i joins the vertices ``left[i]`` and ``right[i]``. Two edges with a common vertex get
    different colours.

    Parameters
    ----------
    left, right : array of int
        The ends of the edges. Vertices are numbered from 0 on each side.
    colours : int, optional
        The number of colours, at least the largest degree Δ (default: Δ).
    seed : int
        The random seed; a seed always gives the same colouring.

    Returns
    -------
    array of int
        The colour of every edge. Every colour has ⌊m/colours⌋ or ⌈m/colours⌉ of the m edges.

    Notes
    -----
    Δ colours are the fewest possible (König, 1916); that they can be balanced is due to de Werra
    (1971). Degrees are halved by Euler splits. An odd degree first gives up a perfect matching. Of
    two halves only one is coloured by recursion, and the other borrows classes from it until its
    degree is a power of two (Gabow, 1976), so that O(log Δ) matchings are enough. The mean time is
    O(m log Δ + N log N log Δ) for N ≤ 2m/Δ + 1 vertices, which is O(m log Δ) for Δ ≥ log N. O(m)
    memory.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.programs.schedules.colouring import colour_edges
    >>> left, right = np.array([0, 0, 0, 1, 1, 2]), np.array([0, 0, 1, 1, 2, 2])
    >>> np.bincount(colour_edges(left, right)).tolist()
    [2, 2, 2]
    """
    left, right = _ends("left", left), _ends("right", right)
    if len(left) != len(right):
        raise InputError(
            f"There are {len(left)} left ends and {len(right)} right ends; every edge must have "
            "one of each."
        )
    degrees = (count(ends, 1 + int(ends.max(initial=-1))) for ends in (left, right))
    degree = max(int(each.max(initial=0)) for each in degrees)
    wanted = degree if colours is None else colours
    if wanted < degree:
        raise wrong("colours", wanted)(
            f"a vertex has {degree} edges, which need as many colours; give {degree} or more."
        )
    if degree == 0:
        return np.empty(0, dtype=np.int32)
    to, order = make_regular(left, right, degree)
    by_place = np.full(len(order), -1, dtype=np.int32)
    _colour(to, np.arange(len(by_place), dtype=np.int32), degree, 0, Coins(seed), by_place)
    by_edge = np.empty_like(by_place)
    by_edge[order] = by_place
    return balance(left, right, by_edge[: len(left)], wanted)


def _ends(name: str, ends: Ints) -> I32:
    if ends.ndim != 1 or ends.dtype.kind not in "iu":
        raise InputError(
            f"{name} has dtype {ends.dtype} and shape {ends.shape}; give a one-dimensional array "
            "of integers, a vertex for each edge."
        )
    bound = min(2 * len(ends) + 2**20, _LARGEST)  # vertices without edges cost memory too
    outside = (ends < 0) | (ends >= bound)
    if outside.any():
        i = int(np.argmax(outside))
        raise InputError(f"{name}[{i}] is {ends[i]}; number the vertices from 0 to {bound - 1}.")
    return np.ascontiguousarray(ends, dtype=np.int32)


def _colour(right: I32, edges: I32, degree: int, base: int, coins: Coins, colours: I32) -> None:
    """Colour the edges of a regular graph, given in order, with colours from ``base`` on."""
    if degree & (degree - 1) == 0:
        split_down(right, edges, degree, base, colours)
        return
    if degree % 2:
        key = np.uint64(coins.key(_MATCHING, degree))
        matched = perfect_matching(right, edges, degree, key)
        colours[edges[matched]] = base
        _colour(right, np.delete(edges, matched), degree - 1, base + 1, coins, colours)
        return
    half = degree // 2
    _colour(right, split_once(right, edges, degree), half, base, coins, colours)
    power = 1 << (half - 1).bit_length()
    base += 2 * half - power
    now = colours[edges]
    split_down(right, edges[(now < 0) | (now >= base)], power, base, colours)


@compiled
def perfect_matching(right: I32, edges: I32, degree: int, key: np.uint64) -> I32:
    """Find a perfect matching: for every right vertex the position of its edge in ``edges``.

    Goel, Kapralov and Khanna (2010): from a vertex without a partner walk along a random edge to
    the right and along the matched edge back, until a vertex on the right is free. Each left vertex
    remembers the edge by which it was last left: that path has no loops, and its edges become
    matched. This takes O(N log N) steps on average for N vertices per side, whatever the degree.
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
