"""What is fixed before any packet has a destination: the rounds of a two-hop algorithm.

A round is an odd slot and the even slot after it. In round r let x be the group that processor i
sends to. Those of i's group that send to x in the same round are its *crowd*; i is *solo* if it
is alone. It is *mute* if not exactly one processor of x listens to i's group: no processor hears
the packet then, or two copies of it meet on their way from x.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.two_hop.algorithm import TwoHop
from popsnet.compiled import compiled
from popsnet.network import Network

Bools = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One round: arrays over all processors."""

    target: I32
    """The group that a processor sends to."""
    coupler: I32
    """Group times g plus target: equal for the members of a crowd."""
    solo: Bools
    mute: Bools


def round_of(algorithm: TwoHop, network: Network, number: int) -> Round:
    """Round 0, 1, … of an algorithm, in O(n + g²)."""
    target = algorithm.sent_to(network, 2 * number + 1)
    listened = algorithm.listened_to(network, 2 * number + 1)
    return Round(target, *_tables(network.d, network.g, target, listened))


def classes_of(network: Network, rounds: list[Round]) -> I32:
    """For each processor a group that it never sends to in these rounds; -1 if there is none.

    It is the first such group in the order of how often groups are sent to, the rarest first. A
    processor sends to at most R groups in R rounds, so at most R + 1 groups are given.
    """
    often = sum(
        (np.bincount(one.target, minlength=network.g) for one in rounds),
        start=np.zeros(network.g, dtype=np.int64),
    )
    order = np.append(np.argsort(often, kind="stable"), -1).astype(np.int32)
    chosen = np.zeros(network.n, dtype=np.int32)
    undecided = np.arange(network.n)
    while undecided.size:
        group = order[chosen[undecided]]
        sends = np.any([one.target[undecided] == group for one in rounds], axis=0)
        undecided = undecided[sends]
        chosen[undecided] += 1
    return order[chosen]


@compiled
def _tables(d: int, g: int, target: I32, listened: I32) -> tuple[I32, Bools, Bools]:
    """Coupler, solo and mute: g² fits 32 bits, for tables of g² are made."""
    n = len(target)
    crowd, listeners = np.zeros(g * g, dtype=np.int32), np.zeros(g * g, dtype=np.int32)
    coupler = np.empty(n, dtype=np.int32)
    solo, mute = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_)
    for i in range(n):
        group = i // d
        coupler[i] = group * g + target[i]
        crowd[coupler[i]] += 1
        if listened[i] >= 0:
            listeners[listened[i] * g + group] += 1
    for i in range(n):
        solo[i] = crowd[coupler[i]] == 1
        mute[i] = listeners[coupler[i]] != 1
    return coupler, solo, mute
