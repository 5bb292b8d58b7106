"""Plans in which some packets go straight and the others are relayed once.

For d ≥ g only couplers limit the slots of relayed packets, and they form a pipeline. Each coupler
can then order its packets by itself: first hops in its first slots, second hops in its last ones,
and straight packets in between. This loses nothing: first hops earlier and second hops later never
hurt. It is right if every packet reaches its relay before it must leave again. In every slot, each
group sends to a relay the packet that must leave there next. A packet that comes k-th for group b
leaves in the k-th slot of the second hops to b.
"""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.coins import Coins
from popsnet.model.network import I32, I64, Ints
from popsnet.programs.schedules.colouring.multigraph import runs
from popsnet.programs.schedules.groups import phases
from popsnet.programs.schedules.groups.plan import GroupPlan, join_packets
from popsnet.programs.schedules.groups.split import Split, split


def plan_mixed(counts: Ints, d: int, bound: int, most: int, *, seed: int) -> GroupPlan | None:
    """Plan few slots in which packets go straight or are relayed once.

    Parameters
    ----------
    counts : array of int, shape (g, g)
        The number of packets from each group (row) to each group (column).
    d : int
        The processors per group.
    bound : int
        A number of slots below which there is no plan; the search begins here.
    most : int
        The slots of a plan that is known; only shorter ones are looked for.
    seed : int
        The random seed; a seed always gives the same plan.

    Returns
    -------
    GroupPlan or None
        The shortest plan found, or None if none with fewer than ``most`` slots was found.

    Notes
    -----
    For a number of slots, relays are chosen such that couplers and groups are not overloaded
    (:mod:`~popsnet.programs.schedules.groups.split`), and then the slots of all hops: in a pipeline
    for d ≥ g, and else in :mod:`~popsnet.programs.schedules.groups.phases`. Both are heuristics,
    and end after a number of passes, whatever the time. Slots are tried from the bound upwards, in
    growing steps, and then halfway between those that failed and the shortest plan, to a precision
    of 1 %.

    Examples
    --------
    All packets go from group 0 to group 1. One hop takes 12 slots, and two hops take 6.

    >>> import numpy as np
    >>> from popsnet.programs.schedules.groups.mixed import plan_mixed
    >>> counts = np.zeros((4, 4), dtype=int)
    >>> counts[0, 1] = 12
    >>> plan = plan_mixed(counts, 4, 4, 12, seed=0)
    >>> plan.slots, int((plan.relay >= 0).sum())
    (5, 7)
    """
    matrix = np.ascontiguousarray(counts, dtype=np.int64)
    attempt = _attempt_wide if d >= len(matrix) else _attempt_narrow
    best: GroupPlan | None = None
    failed, slots, step = bound - 1, bound, 1
    while failed < slots < most:
        plan = attempt(matrix, d, slots, Coins(seed))
        if plan is None:
            failed = slots
        else:
            best, most = plan, slots
        precision = max(1, failed // 100)
        if best is not None:
            slots = failed + max(precision, (most - failed) // 2)
        else:
            slots = min(failed + step, most - 1)
            step = max(2 * step, precision) if step > 1 or failed > bound else 2
    return best


def _attempt_wide(counts: I64, d: int, slots: int, coins: Coins) -> GroupPlan | None:
    """Plan this many slots for d ≥ g, or return None.

    With first hops in one half of the slots and second hops in the other, all loads that fit have
    a plan. A heavy entry needs nearly all slots for either.
    """
    for early in dict.fromkeys((slots // 2, slots - 1, 3 * slots // 4)):
        late = slots - early if early == slots // 2 else early
        divided = split(counts, d, slots, early, late, coins)
        if divided is None and early == slots - 1:  # the widest limits
            return None
        if divided and (plan := _pipeline(divided, slots)):
            return plan
    return None


def _attempt_narrow(counts: I64, d: int, slots: int, coins: Coins) -> GroupPlan | None:
    """Plan this many slots for d < g, or return None."""
    early, late = slots // 2, slots - slots // 2
    divided = split(counts, d, slots, early, late, coins)
    if divided and (plan := phases.in_two_phases(divided, d, early, late)):
        return plan
    divided = split(counts, d, slots, slots - 1, slots - 1, coins) if slots > 2 else None
    for lengths in (phases.growing_phases, phases.equal_phases):
        if divided and (plan := phases.in_many_phases(divided, d, lengths, slots, coins)):
            return plan
    return None


def _pipeline(divided: Split, slots: int) -> GroupPlan | None:
    """Find slots for packets whose loads fit, or return None if some would leave too early."""
    g = len(divided.straight)
    source, relay, destination, packets = divided[1:]
    begins = np.searchsorted(relay * np.int64(g) + source, np.arange(g * g + 1))
    first, second = divided.hops
    firsts, finals = np.empty((2, packets.sum()), dtype=np.int32)
    if not _hurry(begins, destination, packets.copy(), second, slots, firsts, finals):
        return None
    straight = runs(first.ravel(), divided.straight.ravel()).astype(np.int32)
    return join_packets(divided, straight, firsts, finals, slots)


@compiled
def _hurry(
    begins: I64, destination: I32, left: I64, second: I64, slots: int, firsts: I32, finals: I32
) -> bool:
    """Write the slots of both hops; items are ordered by relay, then by source."""
    g = len(second)
    places = np.cumsum(left) - left
    arrived, ends = np.empty(g, dtype=np.int64), np.empty(g, dtype=np.int64)
    item = np.arange(len(left))
    for t in range(g):
        arrived[:] = 0
        for a in range(g):
            ends[a] = begins[t * g + a + 1]
        busy, slot = True, 0
        while busy:
            busy = False
            for a in range(g):
                begin = begins[t * g + a]
                if begin == ends[a]:
                    continue
                busy = True
                least, chosen = np.int64(slots), begin
                for k in range(begin, ends[a]):
                    b = destination[item[k]]
                    leaves = slots - second[t, b] + arrived[b]
                    if leaves < least:
                        least, chosen = leaves, k
                if slot >= least:
                    return False
                i = item[chosen]
                arrived[destination[i]] += 1
                firsts[places[i]] = slot
                finals[places[i]] = least
                places[i] += 1
                left[i] -= 1
                if left[i] == 0:
                    ends[a] -= 1
                    item[chosen], item[ends[a]] = item[ends[a]], i
            slot += 1
    return True
