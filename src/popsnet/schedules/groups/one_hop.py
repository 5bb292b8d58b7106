"""The shortest plans in which every packet goes straight to its group."""

from __future__ import annotations

import numpy as np

from popsnet.network import I32, I64
from popsnet.schedules.groups.nested import NO_SET, deal_evenly
from popsnet.schedules.groups.plan import GroupPlan, packet_groups
from popsnet.slot import Ints


def one_hop_slots(counts: Ints, d: int, wavelengths: int = 1) -> int:
    """Return the slots of a traffic matrix if every packet takes one hop.

    Parameters
    ----------
    counts : array of int, shape (g, g)
        The number of packets from each group (row) to each group (column).
    d : int
        The processors per group.
    wavelengths : int
        Wavelengths per coupler, W.

    Returns
    -------
    int
        The largest of all ⌈entry/W⌉, ⌈row sum/d⌉ and ⌈column sum/d⌉.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.schedules.groups import one_hop_slots
    >>> one_hop_slots(np.array([[0, 2], [1, 2]]), 1)
    4
    """
    groups = max(counts.sum(axis=0).max(initial=0), counts.sum(axis=1).max(initial=0))
    return max(-(-int(counts.max(initial=0)) // wavelengths), -(-int(groups) // int(d)))


def plan_one_hop(counts: Ints, d: int, wavelengths: int = 1) -> GroupPlan:
    """Plan the fewest slots in which every packet takes one hop.

    Parameters
    ----------
    counts : array of int, shape (g, g)
        The number of packets from each group (row) to each group (column).
    d : int
        The processors per group.
    wavelengths : int
        Wavelengths per coupler, W.

    Returns
    -------
    GroupPlan
        A plan of :func:`one_hop_slots` slots. In every slot each group sends and receives its
        packets divided by the slots, rounded up or down.

    Notes
    -----
    No plan with one hop is shorter: a coupler carries W packets in a slot, and a group sends and
    receives at most d. That this many slots are enough is due to de Werra (1971): all entries, rows
    and columns can be dealt evenly to the slots, so that a coupler has at most ⌈entry/slots⌉ ≤ W.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.schedules.groups import plan_one_hop
    >>> plan = plan_one_hop(np.array([[0, 2], [1, 2]]), 2)
    >>> plan.slots, plan.first.tolist()
    (2, [0, 1, 0, 0, 1])
    """
    matrix = np.ascontiguousarray(counts, dtype=np.int64)
    slots = one_hop_slots(matrix, d, wavelengths)
    first = deal_matrix(matrix, slots)
    source, destination = packet_groups(matrix)
    relay = np.full(len(first), -1, dtype=np.int32)
    return GroupPlan(source, relay, destination, first, first, slots)


def deal_matrix(counts: I64, slots: int) -> I32:
    """Return the slots of packets in row-major order, with entries, rows and columns dealt evenly.

    Of x packets ⌊x/slots⌋ or ⌈x/slots⌉ are in each slot. Of an entry above ``slots``, as several
    wavelengths allow, the same number is in every slot, and at most ``slots`` packets are left to
    deal; the sums of rows and columns are as even as those of what is left.
    """
    row, column = np.nonzero(counts)
    none = np.full(len(row), NO_SET)
    sets = np.array((none, row, none, column), dtype=np.int32)
    packets = counts[row, column]
    whole = (packets - 1) // max(slots, 1)
    dealt = deal_evenly(packets - whole * slots, sets, slots)
    if not whole.any():
        return dealt
    ends = np.cumsum(packets)
    is_left = np.zeros(ends[-1], dtype=np.bool_)
    left = packets - whole * slots
    is_left[np.repeat(ends - np.cumsum(left), left) + np.arange(len(dealt))] = True
    found = np.empty(ends[-1], dtype=np.int32)
    found[is_left] = dealt
    found[~is_left] = np.tile(np.arange(slots, dtype=np.int32), int(whole.sum()))
    return found
