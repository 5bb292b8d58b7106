"""Find and mark packets that an adversary can keep from arriving, round by round.

A round is an odd slot and the even slot after it. In round r let x be the group that processor i
sends to. The processors of i's group that send to x in the same round are its *crowd*; i is *solo*
if it is alone. It is *mute* if not exactly one processor of x listens to i's group: then no
processor hears the packet, or copies of it collide on their way from x.

**Theorem.** Let R rounds of a deterministic two-hop algorithm on POPS(d, g) be given, with
R + 1 ≤ g and (2^R - 1)(R + 1) < d. There is a permutation for which some packet has not arrived
after T = 2R slots: T ≥ 2 log₂ d - 2 log₂ log₂ d - O(1).

Proof. Give every processor i a group a(i), one of R + 1 groups, that it never sends to in these
rounds. A packet i for group a(i) cannot arrive in one hop. Let F_r hold the processors that we do
not promise to keep through the first r rounds: F_0 is empty, and F_{r+1} adds to F_r

- the *poor*: i is solo, not mute, and no other such processor h outside F_r has the same target
  and a(h) = a(i);
- the *orphans*: i is in a crowd, not mute, and all others of the crowd are in F_r.

For each target and class at most one processor is poor, and every orphan has a crowd of its own
that contains a member of F_r. So |F_{r+1}| ≤ 2 |F_r| + g(R + 1), and |F_R| ≤ (2^R - 1)(R + 1) g
is less than n. Mark one processor outside F_R. For r = R - 1 down to 0 every marked j, which
is outside F_{r+1}, is blocked in round r if it is mute, or by a partner outside F_r that is marked
(again or anew): another member of its crowd, or, for a solo, a solo with the same target and class.
At most 2^R ≤ d are marked in the end; give each a destination in its class. By induction over the
rounds, every marked packet that is outside F_r has not arrived before round r. In round r two
members of a crowd that both send collide. Two solos with one target x come from different groups,
so nothing can stop them on their way to x, different processors hear them, and these both send on
the coupler from x to the class. Other packets cannot prevent either. ∎

The published proof marks *any* h with the same target. If h's own crowd is still there, h never
reaches the target, and the packet it should have stopped gets through.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.network import F64, I32, I64, U16, Bools, Network
from popsnet.model.slot import Ints
from popsnet.studies.adversaries.two_hop.algorithm import TwoHop

_STARTS, _FEW_STARTS = 16, 4
_SMALL = 2**14


class Round(NamedTuple):
    """One round as arrays over all processors, or several rounds with a row for each."""

    target: I32
    """The group that a processor sends to."""
    solo: Bools
    mute: Bools


def round_of(algorithm: TwoHop, network: Network, number: int) -> Round:
    """Return round 0, 1, … of an algorithm, in O(n + g²) time."""
    target = algorithm.sent_to(network, 2 * number + 1)
    listened = algorithm.listened_to(network, 2 * number + 1)
    return Round(target, *_solo_and_mute(network.d, network.g, target, listened))


def classes_of(network: Network, rounds: list[Round]) -> I32:
    """Give each processor a group that it never sends to in these rounds; -1 if there is none.

    It is the first such group when groups are ordered by how often they are sent to, the rarest
    first. A processor sends to at most R groups in R rounds, so at most R + 1 groups are given.
    """
    often = sum(
        (np.bincount(round_.target, minlength=network.g) for round_ in rounds),
        start=np.zeros(network.g, dtype=np.int64),
    )
    order = np.append(np.argsort(often, kind="stable"), -1).astype(np.int32)
    chosen = np.zeros(network.n, dtype=np.int32)
    undecided = np.arange(network.n)
    while undecided.size:
        group = order[chosen[undecided]]
        sends = np.any([round_.target[undecided] == group for round_ in rounds], axis=0)
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
    """Return in entry r which packets can be kept through rounds 0 to r - 1, for r = 0 … R.

    These are the complements of the sets F_r, except that an orphan with a solo of its target and
    class is kept as well: whether its crowd is there or not, it does not get past both. O(nR) time.
    """
    alive = [classes >= 0]
    for round_ in rounds:
        alive.append(_still_kept(network.d, network.g, round_, classes, alive[-1]))
    return alive


@compiled
def _still_kept(d: int, g: int, round_: Round, classes: I32, alive: Bools) -> Bools:
    """Return the kept packets that are neither poor nor orphans in a round."""
    target, solo, mute = round_
    solos, crowd = np.zeros(g * g, dtype=np.int32), np.zeros(g * g, dtype=np.int32)
    for i in range(len(alive)):
        if alive[i]:
            crowd[i // d * g + target[i]] += 1
            if solo[i] and not mute[i]:
                solos[target[i] * g + classes[i]] += 1
    still = np.zeros(len(alive), dtype=np.bool_)
    for i in range(len(alive)):
        if alive[i]:
            met = solos[target[i] * g + classes[i]]
            crowded = crowd[i // d * g + target[i]] > 1
            still[i] = mute[i] or (met > 1 if solo[i] else crowded or met > 0)
    return still


class Marking:
    """The packets marked so far, and which packets they can block in every round.

    Only the choice among possible partners goes beyond the proof. It takes the partner that needs
    the fewest new partners itself, the latest rounds first, because a packet marked for round r
    costs up to 2^r packets in the rounds before.
    """

    def __init__(self, network: Network, rounds: list[Round], stack: Round, classes: I32) -> None:
        self.network, self.rounds, self.classes = network, rounds, classes
        self._stack = stack
        self.marked: list[int] = []
        self._is_marked = np.zeros(network.n, dtype=np.bool_)
        self._room = np.full(network.g, network.d)
        size = (len(rounds), network.g**2)
        self._crowds, self._solos = np.zeros(size, np.uint16), np.zeros(size, np.uint16)

    def add(self, i: int) -> None:
        """Mark packet i."""
        self.marked.append(i)
        self._is_marked[i] = True
        self._room[self.classes[i]] -= 1
        d, g = self.network.d, self.network.g
        _count(self._stack, self._crowds, self._solos, self.classes, d, g, i)

    def is_blocked(self, r: int, i: int) -> bool:
        """Return whether the marked packets block the marked packet i in round r."""
        round_ = self.rounds[r]
        solos = self._solos[r, self._meeting(round_, i)]
        if round_.mute[i] or round_.solo[i]:
            return bool(round_.mute[i] or solos > 1)
        coupler = i // self.network.d * self.network.g + round_.target[i]
        return bool(self._crowds[r, coupler] > 1 or solos > 0)

    def partner(self, r: int, i: int, alive: Bools, solos: _Solos) -> int | None:
        """Return the best unmarked packet that blocks i in round r; None if no class has room."""
        round_, network = self.rounds[r], self.network
        group = network.processor(network.group(i), np.arange(network.d))
        mates = group[round_.target[group] == round_.target[i]]
        mates = mates[alive[mates] & (mates != i)]
        candidates = np.concatenate([mates, solos.at(self._meeting(round_, i))])
        candidates = candidates[~self._is_marked[candidates]]
        candidates = candidates[self._room[self.classes[candidates]] > 0]
        if not candidates.size:
            return None
        counts = self._crowds[:r], self._solos[:r]
        score = _score(self._stack, *counts, self.classes, network.d, network.g, candidates)
        return int(candidates[np.argmax(score)])

    def _meeting(self, round_: Round, i: int) -> int:
        return int(round_.target[i]) * self.network.g + int(self.classes[i])


class _Solos:
    """The kept solos that can block some packets in a round.

    Packets meet at the same target and class. Only the meetings of these packets are examined.
    """

    def __init__(self, g: int, slot: Round, classes: I32, alive: Bools, packets: list[int]) -> None:
        asked = np.zeros(g * g, dtype=np.bool_)
        asked[slot.target[packets] * np.int64(g) + classes[packets]] = True
        solo = _solos_at(asked, slot, classes, alive, g)
        where = slot.target[solo] * np.int64(g) + classes[solo]
        order = np.argsort(where, kind="stable")
        self._solo, self._where = solo[order], where[order]

    def at(self, meeting: int) -> Ints:
        low, high = np.searchsorted(self._where, [meeting, meeting + 1])
        return self._solo[low:high]


def mark(network: Network, rounds: list[Round]) -> Marking | None:
    """Mark packets that keep the first of them from arriving in these rounds; None if impossible.

    A few first packets are tried, more on small networks. Marks are found whenever the theorem
    guarantees them, because then every packet that can be kept will do.
    """
    classes = classes_of(network, rounds)
    alive = kept_before(network, rounds, classes)
    can = np.flatnonzero(alive[-1])
    if not can.size:
        return None
    stack = Round(*map(np.stack, zip(*rounds, strict=True)))
    starts = _STARTS if network.n <= _SMALL else _FEW_STARTS
    for first in can[:: -(-len(can) // starts)]:
        marking = Marking(network, rounds, stack, classes)
        marking.add(int(first))
        if _complete(marking, alive):
            return marking
    return None


def _complete(marking: Marking, alive: list[Bools]) -> bool:
    for r in reversed(range(len(marking.rounds))):
        unblocked = [i for i in marking.marked if not marking.is_blocked(r, i)]
        if not unblocked:
            continue
        solos = _Solos(marking.network.g, marking.rounds[r], marking.classes, alive[r], unblocked)
        for i in unblocked:
            if not marking.is_blocked(r, i):  # one marked just now may do it
                partner = marking.partner(r, i, alive[r], solos)
                if partner is None:
                    return False
                marking.add(partner)
    return True


@compiled
def _count(stack: Round, crowds: U16, solos: U16, classes: I32, d: int, g: int, i: int) -> None:
    """Count packet i in its crowd of every round, and among the solos where it is solo."""
    target, solo, mute = stack
    for r in range(len(target)):
        crowds[r, i // d * g + target[r, i]] += 1
        if solo[r, i] and not mute[r, i]:
            solos[r, target[r, i] * g + classes[i]] += 1


@compiled
def _score(stack: Round, crowds: U16, solos: U16, classes: I32, d: int, g: int, some: I64) -> F64:
    """Score the rounds in which each candidate is already blocked, with 2^r for round r."""
    (target, solo, mute), score = stack, np.zeros(len(some))
    for k in range(len(some)):
        i = some[k]
        for r in range(len(crowds)):
            crowded = not solo[r, i] and crowds[r, i // d * g + target[r, i]] > 0
            if mute[r, i] or crowded or solos[r, target[r, i] * g + classes[i]] > 0:
                score[k] += 2.0**r
    return score


@compiled
def _solos_at(asked: Bools, round_: Round, classes: I32, alive: Bools, g: int) -> I64:
    """Return the kept solos that have one of the meetings asked for."""
    (target, solo, mute), count = round_, 0
    packets = np.empty(len(alive), dtype=np.int64)
    for i in range(len(alive)):
        if alive[i] and solo[i] and not mute[i] and asked[target[i] * g + classes[i]]:
            packets[count] = i
            count += 1
    return packets[:count].copy()
