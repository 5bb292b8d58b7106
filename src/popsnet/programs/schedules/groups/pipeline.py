"""The slots of relayed packets where only couplers limit them: d ≥ g.

Each coupler can then order its packets by itself: first hops in its first slots, second hops in
its last ones, and straight packets in between. This loses nothing: first hops earlier and second
hops later never hurt. It is right if every packet reaches its relay before it must leave again.
In every slot, each group sends to a relay the packet that must leave there next. A packet that
comes k-th for group b leaves in the k-th slot of the second hops to b.
"""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.network import I32, I64
from popsnet.programs.schedules.colouring.multigraph import runs
from popsnet.programs.schedules.groups.plan import GroupPlan, join_packets
from popsnet.programs.schedules.groups.split import Split


def pipeline(divided: Split, slots: int) -> GroupPlan | None:
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
