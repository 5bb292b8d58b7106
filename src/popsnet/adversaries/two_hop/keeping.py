"""Which packets an adversary can keep from arriving, round by round.

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

import numpy as np

from popsnet.adversaries.two_hop.rounds import Bools, Round
from popsnet.network import Network
from popsnet.slot import Ints

__all__ = ["kept_before"]


def kept_before(network: Network, rounds: list[Round], classes: Ints) -> list[Bools]:
    """Entry r: who can be kept through rounds 0 to r - 1; the last entry, through all of them.

    The complements of the sets F_r, except that an orphan with a solo of its target and class is
    kept as well: whether its crowd is there or not, it does not get past both. O(nR) time.
    """
    kept = [classes >= 0]
    for one in rounds:
        kept.append(kept[-1] & ~_let_go(network, one, classes, kept[-1]))
    return kept


def _let_go(network: Network, one: Round, classes: Ints, kept: Bools) -> Bools:
    solo = one.solo & ~one.mute & kept
    meeting = network.coupler(one.target, classes)
    solos = np.bincount(meeting[solo], minlength=network.couplers)
    crowd = np.bincount(one.coupler[kept], minlength=network.couplers)
    meeting[classes < 0] = 0
    poor = solo & (solos[meeting] < 2)
    orphan = ~one.solo & ~one.mute & (crowd[one.coupler] < 2) & (solos[meeting] < 1)
    let_go: Bools = poor | orphan
    return let_go
