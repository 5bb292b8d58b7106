"""The global OR after a shower: what its two slots come to, from who is hungry; d ≥ g."""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.passes import I64
from popsnet.engines.fused.relay.ground import (
    COLLISIONS,
    DESTROYED,
    MESSAGES,
    Ground,
    Hands,
    Packets,
    divide,
)
from popsnet.engines.fused.relay.ways import load


@compiled
def alarm(ground: Ground, packets: Packets, hands: Hands, groups: I64, tally: I64) -> None:
    """Tally the slots in which groups object, and in which they tell each other.

    A row of ``groups`` has a group's hungry members, and whether the first is one. The first speaks
    for the group if it is content, and so do the hungry; one message alone does not collide.
    """
    count_hungry(ground, packets, hands, groups)
    g, missed = ground.g, 0
    for a in range(g):
        say(g, 1, groups[a, 0] + 1 - groups[a, 1], tally)
        missed += int(groups[a, 0] > 0)
    # in every group those who missed a good word speak, and the first: it listened to group 0
    say(1, g, missed + int(groups[0, 0] == 0), tally)


@compiled
def say(couplers: int, groups: int, speakers: int, tally: I64) -> None:
    """So many speakers in each of some groups, on so many couplers each."""
    tally[MESSAGES] += groups * speakers
    if speakers > 1:
        tally[COLLISIONS] += groups * couplers
        tally[DESTROYED] += groups * couplers * speakers


@compiled
def count_hungry(ground: Ground, packets: Packets, hands: Hands, groups: I64) -> None:
    """The hungry by their own group, which is that of the packet's destination."""
    groups[:] = 0
    for block in range(ground.blocks):
        m = load(ground, packets, packets.hungry, hands, block)
        for k in range(m):
            at = np.int64(divide(np.uint64(hands.targets[k]), ground.by_d))
            groups[at, 0] += 1
            groups[at, 1] += int(np.int64(hands.targets[k]) == at * ground.d)
