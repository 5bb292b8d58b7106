"""Plans: the slots and the relay group of every packet of a traffic matrix; those of one hop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.model.network import I32, I64, Ints
from popsnet.programs.schedules.colouring.multigraph import runs
from popsnet.programs.schedules.groups.nested import NO_SET, deal_evenly
from popsnet.programs.schedules.groups.split import Split
from popsnet.programs.schedules.schedule import grouped


class GroupPlan(NamedTuple):
    """The slots of all packets of a traffic matrix, in row-major order of its entries.

    A coupler carries at most one packet in each slot, and a group sends and receives at most d.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.programs.schedules.groups.plan import plan_one_hop
    >>> plan = plan_one_hop(np.array([[0, 2], [1, 0]]), 1)
    >>> plan.slots, plan.first.tolist()
    (2, [0, 1, 0])
    """

    source: I32
    """The group that each packet starts in."""
    relay: I32
    """The group that passes it on, or -1 if it goes straight."""
    destination: I32
    """The group that it goes to."""
    first: I32
    """The slot of its first hop, counted from 0."""
    final: I32
    """The slot of its final hop; that of its first if it goes straight."""
    slots: int
    """The number of slots."""


def join_packets(divided: Split, straight: I32, firsts: I32, finals: I32, slots: int) -> GroupPlan:
    """Make a plan from the slots of straight packets, in row-major order, and of relayed ones.

    The relayed packets are in the order of the items of the split.
    """
    g, packets = len(divided.straight), divided.packets
    going = np.repeat(np.arange(g * g, dtype=np.int32), divided.straight.ravel())
    cells = np.concatenate((going, np.repeat(divided.source * g + divided.destination, packets)))
    order = grouped(cells, g * g).packets
    relays = np.concatenate((np.full_like(going, -1), np.repeat(divided.relay, packets)))
    first, final = (np.concatenate((straight, slot))[order] for slot in (firsts, finals))
    source, destination = np.divmod(cells[order], np.int32(g))
    return GroupPlan(source, relays[order], destination, first, final, slots)


def packet_groups(counts: I64) -> tuple[I32, I32]:
    """Return the source and destination group of every packet, in row-major order."""
    g = len(counts)
    return np.divmod(np.repeat(np.arange(g * g, dtype=np.int32), counts.ravel()), np.int32(g))


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
    >>> from popsnet.programs.schedules.groups.plan import one_hop_slots
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
    >>> from popsnet.programs.schedules.groups.plan import plan_one_hop
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
    left = packets - whole * slots
    dealt = deal_evenly(left, sets, slots)
    is_left = np.zeros(packets.sum(), dtype=np.bool_)
    is_left[runs(np.cumsum(packets) - left, left)] = True
    slot_of = np.empty(len(is_left), dtype=np.int32)
    slot_of[is_left] = dealt
    slot_of[~is_left] = np.tile(np.arange(slots, dtype=np.int32), int(whole.sum()))
    return slot_of
