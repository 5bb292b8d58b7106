"""Which packets an adversary can keep from arriving, round by round.

A round is an odd slot and the even slot after it. In round r let x be the group that processor i
sends to. Those of i's group that send to x in the same round are its *crowd*; i is *solo* if it
is alone. It is *mute* if not exactly one processor of x listens to i's group: no processor hears
the packet then, or two copies of it meet on their way from x.

**Theorem.** Let R rounds of a deterministic two-hop algorithm on POPS(d, g) be given, with
R + 1 ≤ g and (2^R - 1)(R + 1) < d. There is a permutation for which some packet has not arrived
after T = 2R slots: T ≥ 2 log₂ d - 2 log₂ log₂ d - O(1).

Proof. Give every processor i a group a(i), one of R + 1 groups, that it never sends to in these
rounds. A packet i for group a(i) cannot arrive in one hop. Let F_r hold the processors that we do
not promise to keep through the first r rounds: F_0 is empty, and F_{r+1} adds to F_r

- the *poor*: i is solo, not mute, and no other such processor h outside F_r has the same target
  and a(h) = a(i);
- the *orphans*: i is in a crowd, not mute, and all others of the crowd are in F_r.

For each target and class there is at most one that is poor, and every orphan has a crowd, of its
own, with somebody of F_r in it. So |F_{r+1}| ≤ 2 |F_r| + g(R + 1), and |F_R| ≤ (2^R - 1)(R + 1) g
is less than n. Mark one processor outside F_R. For r = R - 1 down to 0 every marked j, which
is outside F_{r+1}, is blocked in round r if it is mute, or by a partner outside F_r that is marked
(again or anew): another one of its crowd, or, for a solo, a solo with the same target and class. At
most 2^R ≤ d are marked in the end; give each a destination in its class. By induction over the
rounds, each marked one that is outside F_r has not arrived before round r. In round r two of one
crowd that both send destroy each other. Two solos with one target x come from different groups, so
nothing can stop them on their way to x, different processors hear them, and these both send on
the coupler from x to the class. What other packets do cannot prevent either. ∎

The published proof marks *any* h with the same target. If h's own crowd is still there, h never
gets to the target, and the packet it should have stopped goes through.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.two_hop.algorithm import TwoHop
from popsnet.compiled import compiled
from popsnet.network import Network

Bools = npt.NDArray[np.bool_]
I32 = npt.NDArray[np.int32]


class Round(NamedTuple):
    """One round: arrays over all processors; or some rounds, with a row for each."""

    target: I32
    """The group that a processor sends to."""
    solo: Bools
    mute: Bools


def round_of(algorithm: TwoHop, network: Network, number: int) -> Round:
    """Round 0, 1, … of an algorithm, in O(n + g²)."""
    target = algorithm.sent_to(network, 2 * number + 1)
    listened = algorithm.listened_to(network, 2 * number + 1)
    return Round(target, *_solo_and_mute(network.d, network.g, target, listened))


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
def _solo_and_mute(d: int, g: int, target: I32, listened: I32) -> tuple[Bools, Bools]:
    n = len(target)
    crowd, listeners = np.zeros(g * g, dtype=np.int32), np.zeros(g * g, dtype=np.int32)
    solo, mute = np.empty(n, dtype=np.bool_), np.empty(n, dtype=np.bool_)
    for i in range(n):
        group = i // d
        crowd[group * g + target[i]] += 1
        if listened[i] >= 0:
            listeners[listened[i] * g + group] += 1
    for i in range(n):
        coupler = i // d * g + target[i]
        solo[i] = crowd[coupler] == 1
        mute[i] = listeners[coupler] != 1
    return solo, mute


def kept_before(network: Network, rounds: list[Round], classes: I32) -> list[Bools]:
    """Entry r: who can be kept through rounds 0 to r - 1; the last entry, through all of them.

    The complements of the sets F_r, except that an orphan with a solo of its target and class is
    kept as well: whether its crowd is there or not, it does not get past both. O(nR) time.
    """
    kept = [classes >= 0]
    for one in rounds:
        kept.append(_still_kept(network.d, network.g, *one, classes, kept[-1]))
    return kept


@compiled
def _still_kept(
    d: int, g: int, target: I32, solo: Bools, mute: Bools, classes: I32, kept: Bools
) -> Bools:
    """Those kept who are neither poor nor orphans in a round; who is kept has a class."""
    solos, crowd = np.zeros(g * g, dtype=np.int32), np.zeros(g * g, dtype=np.int32)
    for i in range(len(kept)):
        if kept[i]:
            crowd[i // d * g + target[i]] += 1
            if solo[i] and not mute[i]:
                solos[target[i] * g + classes[i]] += 1
    still = np.zeros(len(kept), dtype=np.bool_)
    for i in range(len(kept)):
        if kept[i]:
            met = solos[target[i] * g + classes[i]]
            still[i] = mute[i] or (
                met > 1 if solo[i] else crowd[i // d * g + target[i]] > 1 or met > 0
            )
    return still
