"""The number of slots of the constructed schedule, and lower bounds for any schedule."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.model.network import I64, Network
from popsnet.programs.schedules.demand import Demand


def offline_slots(demand: Demand) -> int:
    """Return the number of slots of the schedule that :func:`make_schedule` builds.

    Parameters
    ----------
    demand : Demand
        The packets to send.

    Returns
    -------
    int
        h for d = 1, else 2·max(h, ⌈Δ/gW⌉), which is 2⌈d/gW⌉ for a permutation, with W wavelengths.

    Notes
    -----
    Here h is the largest number of packets of a processor and Δ that of a group, sent or received.
    For the proof see ``popsnet.programs.schedules.construction``, and
    ``popsnet.programs.schedules.colouring`` for each round.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules import Demand, offline_slots
    >>> offline_slots(Demand.of_permutation(Network(5, 2), np.arange(10)[::-1]))
    6
    """
    return demand.h if demand.network.d == 1 else 2 * demand.rounds


def permutation_slots(network: Network) -> int:
    """Return the slots of any known permutation: 1 for d = 1, else 2⌈d/gW⌉."""
    return 1 if network.d == 1 else 2 * -(-network.d // network.channels)


def lower_bound(demand: Demand) -> int:
    """Return a number of slots below which no schedule of this demand exists, by any path.

    Parameters
    ----------
    demand : Demand
        The packets to send.

    Returns
    -------
    int
        The lower bound.

    Notes
    -----
    Packets that start at their destinations need no slot. Every processor sends and receives at
    most one packet per slot, so there are at least h slots for the others, and at least the
    :func:`matrix_bound` of their numbers between groups. O(m log m) time for m packets.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules import Demand, lower_bound
    >>> lower_bound(Demand(Network(4, 4), np.array([0, 0, 1]), np.array([5, 6, 5])))
    2
    """
    network = demand.network
    moved = demand.at(demand.moving)
    h = moved.h
    if network.d == 1:  # enough, by König's theorem
        return h
    used, packets = frequencies(moved.couplers, network.couplers)
    several = network.wavelengths
    low = max(h, min(-(-int(packets.max(initial=0)) // several), 2))
    if low == 2 * moved.rounds:  # a schedule, of most permutations
        return low
    to, by = np.divmod(used, network.g)
    return _least(_Loads(by, to, packets, network.g, several), network.d, low)


def matrix_bound(counts: npt.NDArray[Any], d: int, wavelengths: int = 1) -> int:
    """Return a number of slots below which no schedule of a traffic matrix exists, by any path.

    It holds for any choice of sources and destinations in the groups, of relays, and of the number
    of hops of each packet.

    Parameters
    ----------
    counts : array of int
        M, with M[a, b] packets from group a to group b.
    d : int
        Processors per group. For d = 1 the packets of a group for itself are where they go, and
        do not count.
    wavelengths : int
        Wavelengths per coupler, W.

    Returns
    -------
    int
        The lower bound.

    Notes
    -----
    Let a schedule have T slots, and m = min(d, g). Hops from a group to itself change no group.
    Leave them out, except that a packet from a group to itself that never leaves it keeps one.
    Every packet still has at least one hop, and only packets from a to a use coupler c(a, a). For
    every group a, with R packets to send in all, N of them for itself, and for s groups:

    1. R ≤ mT. In a slot d processors send, and g couplers lead out of the group.
    2. R ≤ (g - 1)T + min(N, T). The first hops use g - 1 couplers, and c(a, a) at most N times.
    3. R ≤ m(T - 1) + min(m, s), and R ≤ (g - 1)(T - 1) + min(N, T - 1) + min(m, s). A packet whose
       first hop is in the last slot goes straight, and each of the s couplers carries one.

    The same holds for the packets that a receives, with last hops and the first slot. Moreover:

    4. M[a, b] ≤ 1 for T = 1, and in general at most T of these packets go straight. The others have
       two hops or more, so the sum of all M[a, b] + max(M[a, b] - T, 0) is at most gmT, and at most
       g(g - 1)T plus the sum of all min(M[a, a], T).
    5. The packets from a set of k groups to the others are at most T·min(k(g - k), km, (g - k)m):
       each of them is sent at least once from the set to the others. There are 2^g sets; those
       that begin an order of the groups are tried, for three orders.

    The bound is the least T that satisfies all of this, found by bisection: every line holds for
    T + 1 if it holds for T. O(g² log T) time. :func:`linear_bound` also considers that what arrives
    at a relay group has to leave it; neither of the two bounds is always the larger one.

    With W wavelengths a coupler carries W packets per slot, and the lines hold with m = min(d, gW),
    WT in place of T wherever T counts the packets of one coupler, W(T - 1) likewise, W times the
    couplers in lines 2 to 5, and in line 3 the sum of min(M[a, b], W) in place of s.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.programs.schedules import matrix_bound
    >>> counts = np.array([[0, 9, 0], [0, 0, 9], [9, 0, 0]])
    >>> [matrix_bound(counts, d) for d in (1, 2, 3)]
    [9, 6, 6]
    """
    counts = np.asarray(counts)
    by, to = np.nonzero(counts)
    if d == 1:
        by, to = by[by != to], to[by != to]
    return _least(_Loads(by, to, counts[by, to].astype(np.int64), len(counts), wavelengths), d, 0)


class _Loads(NamedTuple):
    """The pairs of groups with packets, and how many packets they have."""

    by: I64
    to: I64
    packets: I64
    g: int
    wavelengths: int


def frequencies(numbers: I64, bound: int) -> tuple[I64, I64]:
    """Return the numbers that occur, all below ``bound``, and how often each does."""
    if bound > 4 * len(numbers):
        return np.unique(numbers, return_counts=True)
    counts = np.bincount(numbers, minlength=bound)
    used = np.flatnonzero(counts)
    return used, counts[used]


def _sums(places: I64, amounts: I64, size: int) -> I64:
    """Add up the amounts of every place, exactly for sums up to 2^53."""
    return np.bincount(places, amounts, minlength=size).astype(np.int64, copy=False)


def _least(loads: _Loads, d: int, low: int) -> int:
    """Return the least number of slots from ``low`` that satisfies every line."""
    by, to, packets, g, w = loads
    if not len(packets):
        return low
    m, total, most = min(d, g * w), int(packets.sum()), int(packets.max())
    sent, received = _sums(by, packets, g), _sums(to, packets, g)
    low = max(low, -(-int(max(sent.max(), received.max())) // m))
    if d == 1:  # enough, by König's theorem
        return low
    at_once = np.minimum(packets, w)  # these can go straight in one slot
    ends = [(sent, _sums(by, at_once, g)), (received, _sums(to, at_once, g))]
    own = _sums(by[by == to], packets[by == to], g)

    def is_possible(slots: int) -> bool:
        if slots == 1 and most > w:
            return False
        hops = total + int(np.maximum(packets - slots * w, 0).sum())
        room = g * (g - 1) * slots * w + int(np.minimum(own, slots * w).sum())
        if hops > min(g * m * slots, room):
            return False
        at_most, before = (np.minimum(own, t * w) + (g - 1) * w * t for t in (slots, slots - 1))
        before = np.minimum(before, m * (slots - 1))
        return all(
            bool((each <= np.minimum(at_most, before + np.minimum(straight, m))).all())
            for each, straight in ends
        )

    return _first(is_possible, max(low, _crossing(loads, sent, received, m)))


def _crossing(loads: _Loads, sent: I64, received: I64, m: int) -> int:
    """Return the slots that packets from some groups to all others need, for sets of groups."""
    g = loads.g
    if 2 * m <= g:  # then m ≤ max(k, g - k), and no set needs more than its busiest group
        return 0
    k = np.arange(1, g)
    room = np.minimum(k * (g - k) * loads.wavelengths, np.minimum(k, g - k) * m)
    least = 0
    for key in (received - sent, -sent, received):
        place = np.empty(g, dtype=np.int64)
        place[np.argsort(key, kind="stable")] = np.arange(g)
        first, last = place[loads.by], place[loads.to]
        out = first < last
        amounts = loads.packets[out]
        change = _sums(first[out], amounts, g) - _sums(last[out], amounts, g)
        least = max(least, int((-(-np.cumsum(change)[:-1] // room)).max(initial=0)))
    return least


def _first(is_possible: Callable[[int], bool], low: int) -> int:
    """Return the first number from ``low`` that is possible, where all above it are too."""
    if is_possible(low):
        return low
    step = 1
    while not is_possible(low + step):
        step *= 2
    begin, high = low + step // 2 + 1, low + step
    return begin + bisect_left(range(begin, high), True, key=is_possible)
