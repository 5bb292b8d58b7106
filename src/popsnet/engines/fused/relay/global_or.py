"""The global OR after a shower, for d ≥ g: the counts of its two slots."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.arrays import Records, record_type
from popsnet.engines.fused.bits import divide
from popsnet.engines.fused.relay.layout import RelayLayout, RelayPackets, RelayTally, RelayWorkspace
from popsnet.engines.fused.relay.pending import load


class GroupCounts(Protocol):
    """The members of a group that wait for their packets, and whether the first is one."""

    waiting: int
    first: int


GROUP = record_type(GroupCounts)


@compiled
def global_or(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, groups: Records,
    tally: RelayTally,
) -> None:  # fmt: skip
    """Count the slot in which groups object, and the slot in which they inform each other.

    In the first, the members of a group that wait for their packets send, and its first member if
    it has its own. A single message does not collide.
    """
    count_waiting(layout, packets, work, groups)
    g, missed = layout.g, 0
    for a in range(g):
        announce(g, 1, groups[a].waiting + 1 - groups[a].first, tally)
        missed += int(groups[a].waiting > 0)
    # in every group the members that heard an objection send, and the first: it listened to group 0
    announce(1, g, missed + int(groups[0].waiting == 0), tally)


@compiled
def announce(couplers: int, groups: int, senders: int, tally: RelayTally) -> None:
    """Count a slot with senders in each of some groups, on some couplers each."""
    tally.messages += groups * senders
    if senders > 1:
        tally.collisions += groups * couplers
        tally.destroyed += groups * couplers * senders


@compiled
def count_waiting(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, groups: Records
) -> None:
    """Count the members that wait for their packets, by destination."""
    for a in range(layout.g):
        groups[a].waiting, groups[a].first = 0, 0
    for block in range(layout.blocks):
        m = load(layout, packets, packets.undelivered, work, block)
        for k in range(m):
            at = np.int64(divide(np.uint64(work.targets[k]), layout.by_d))
            groups[at].waiting += 1
            groups[at].first += int(np.int64(work.targets[k]) == at * layout.d)
