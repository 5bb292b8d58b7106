"""Marks the packets that block each other, from the last round down to the first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.two_hop.keeping import I32, Bools, Round, classes_of, kept_before
from popsnet.compiled import compiled
from popsnet.network import Network
from popsnet.slot import Ints

I64 = npt.NDArray[np.int64]
U16 = npt.NDArray[np.uint16]
F64 = npt.NDArray[np.float64]

_STARTS, _FEW_STARTS = 16, 4
_SMALL = 2**14


class Marking:
    """The packets marked so far, and in every round what they can block.

    Nothing but the choice among possible partners goes beyond the proof in ``keeping``: it takes
    the partner that needs fewest new partners itself, the latest rounds first, because a packet
    marked for round r costs up to 2^r packets in the rounds before.
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
        _count(*self._stack, self._crowds, self._solos, self.classes, d, g, i)

    def is_blocked(self, r: int, i: int) -> bool:
        """Whether what is marked blocks the marked packet i in round r."""
        one = self.rounds[r]
        solos = self._solos[r, self._meeting(one, i)]
        if one.mute[i] or one.solo[i]:
            return bool(one.mute[i] or solos > 1)
        coupler = i // self.network.d * self.network.g + one.target[i]
        return bool(self._crowds[r, coupler] > 1 or solos > 0)

    def partner(self, r: int, i: int, kept: Bools, solos: _Solos) -> int | None:
        """The best unmarked packet that blocks i in round r; None if all classes are full."""
        one, network = self.rounds[r], self.network
        group = network.processor(network.group(i), np.arange(network.d))
        mates = group[one.target[group] == one.target[i]]
        mates = mates[kept[mates] & (mates != i)]
        candidates = np.concatenate([mates, solos.at(self._meeting(one, i))])
        candidates = candidates[~self._is_marked[candidates]]
        candidates = candidates[self._room[self.classes[candidates]] > 0]
        if not candidates.size:
            return None
        counts = self._crowds[:r], self._solos[:r]
        score = _score(*self._stack, *counts, self.classes, network.d, network.g, candidates)
        return int(candidates[np.argmax(score)])

    def _meeting(self, one: Round, i: int) -> int:
        return int(one.target[i]) * self.network.g + int(self.classes[i])


class _Solos:
    """Who could block some packets where they meet in a round: solos that are kept.

    They meet at the same target and class. Only the meetings of these packets are looked at.
    """

    def __init__(self, g: int, one: Round, classes: I32, kept: Bools, packets: list[int]) -> None:
        asked = np.zeros(g * g, dtype=np.bool_)
        asked[one.target[packets] * np.int64(g) + classes[packets]] = True
        solo = _solos_at(asked, one.target, one.solo, one.mute, classes, kept, g)
        where = one.target[solo] * np.int64(g) + classes[solo]
        order = np.argsort(where, kind="stable")
        self._solo, self._where = solo[order], where[order]

    def at(self, meeting: int) -> Ints:
        low, high = np.searchsorted(self._where, [meeting, meeting + 1])
        return self._solo[low:high]


def mark(network: Network, rounds: list[Round]) -> Marking | None:
    """Packets that keep the first of them from arriving in these rounds; None if none are found.

    Tries a few first packets, more on small networks. It finds some whenever the theorem says
    there are: then every packet that can be kept will do.
    """
    classes = classes_of(network, rounds)
    kept = kept_before(network, rounds, classes)
    can = np.flatnonzero(kept[-1])
    if not can.size:
        return None
    stack = Round(*map(np.stack, zip(*rounds, strict=True)))
    starts = _STARTS if network.n <= _SMALL else _FEW_STARTS
    for first in can[:: -(-len(can) // starts)]:
        marking = Marking(network, rounds, stack, classes)
        marking.add(int(first))
        if _complete(marking, kept):
            return marking
    return None


def _complete(marking: Marking, kept: list[Bools]) -> bool:
    for r in reversed(range(len(marking.rounds))):
        unblocked = [i for i in marking.marked if not marking.is_blocked(r, i)]
        if not unblocked:
            continue
        solos = _Solos(marking.network.g, marking.rounds[r], marking.classes, kept[r], unblocked)
        for i in unblocked:
            if not marking.is_blocked(r, i):  # one marked just now may do it
                partner = marking.partner(r, i, kept[r], solos)
                if partner is None:
                    return False
                marking.add(partner)
    return True


@compiled
def _count(
    target: I32, solo: Bools, mute: Bools, crowds: U16, solos: U16, classes: I32,
    d: int, g: int, i: int,
) -> None:  # fmt: skip
    """Put packet i in its crowd of every round, and with the solos where it is one."""
    for r in range(len(target)):
        crowds[r, i // d * g + target[r, i]] += 1
        if solo[r, i] and not mute[r, i]:
            solos[r, target[r, i] * g + classes[i]] += 1


@compiled
def _score(
    target: I32, solo: Bools, mute: Bools, crowds: U16, solos: U16, classes: I32,
    d: int, g: int, candidates: I64,
) -> F64:  # fmt: skip
    """The rounds in which each candidate is blocked already: 2^r for round r."""
    score = np.zeros(len(candidates))
    for k in range(len(candidates)):
        i = candidates[k]
        for r in range(len(crowds)):
            crowded = not solo[r, i] and crowds[r, i // d * g + target[r, i]] > 0
            if mute[r, i] or crowded or solos[r, target[r, i] * g + classes[i]] > 0:
                score[k] += 2.0**r
    return score


@compiled
def _solos_at(
    asked: Bools, target: I32, solo: Bools, mute: Bools, classes: I32, kept: Bools, g: int
) -> I64:
    """The solos that are kept and have a meeting that is asked for."""
    found = np.empty(len(kept), dtype=np.int64)
    count = 0
    for i in range(len(kept)):
        if kept[i] and solo[i] and not mute[i] and asked[target[i] * g + classes[i]]:
            found[count] = i
            count += 1
    return found[:count].copy()
