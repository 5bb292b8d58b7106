"""Marks the packets that block each other, from the last round down to the first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.two_hop.keeping import kept_before
from popsnet.adversaries.two_hop.rounds import Bools, Round, classes_of
from popsnet.network import Network
from popsnet.slot import Ints

__all__ = ["Marking", "mark"]

_STARTS, _FEW_STARTS = 16, 4
_SMALL = 2**14


class Marking:
    """The packets marked so far, and in every round what they can block.

    Nothing but the choice among possible partners goes beyond the proof in ``keeping``: it takes
    the partner that needs fewest new partners itself, the latest rounds first, because a packet
    marked for round r costs up to 2^r packets in the rounds before.
    """

    def __init__(self, network: Network, rounds: list[Round], classes: Ints) -> None:
        self.network, self.rounds, self.classes = network, rounds, classes
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
        for r, one in enumerate(self.rounds):
            self._crowds[r, one.coupler[i]] += 1
            if one.solo[i] and not one.mute[i]:
                self._solos[r, self._meeting(one, i)] += 1

    def is_blocked(self, r: int, i: int) -> bool:
        """Whether what is marked blocks the marked packet i in round r."""
        one = self.rounds[r]
        solos = self._solos[r, self._meeting(one, i)]
        if one.mute[i] or one.solo[i]:
            return bool(one.mute[i] or solos > 1)
        return bool(self._crowds[r, one.coupler[i]] > 1 or solos > 0)

    def partner(self, r: int, i: int, kept: Bools, solos: _Solos) -> int | None:
        """The best unmarked packet that blocks i in round r; None if all classes are full."""
        one, network = self.rounds[r], self.network
        group = network.processor(network.group(i), np.arange(network.d))
        mates = group[one.coupler[group] == one.coupler[i]]
        mates = mates[kept[mates] & (mates != i)]
        candidates = np.concatenate([mates, solos.at(int(self._meeting(one, i)))])
        candidates = candidates[~self._is_marked[candidates]]
        candidates = candidates[self._room[self.classes[candidates]] > 0]
        if not candidates.size:
            return None
        return int(candidates[np.argmax(self._score(r, candidates))])

    def _score(self, r: int, candidates: Ints) -> npt.NDArray[np.float64]:
        score = np.zeros(len(candidates))
        for earlier in range(r):
            one = self.rounds[earlier]
            solos = self._solos[earlier, self._meeting(one, candidates)] > 0
            crowds = self._crowds[earlier, one.coupler[candidates]] > 0
            blocked = one.mute[candidates] | solos | (crowds & ~one.solo[candidates])
            score += 2.0**earlier * blocked
        return score

    def _meeting(self, one: Round, i: int | Ints) -> Ints:
        return self.network.coupler(one.target[i], self.classes[i])


class _Solos:
    """Who could block at a meeting of target and class in a round: solos that are kept."""

    def __init__(self, network: Network, one: Round, classes: Ints, kept: Bools) -> None:
        solo = np.flatnonzero(one.solo & ~one.mute & kept)
        where = network.coupler(one.target[solo], classes[solo])
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
    starts = _STARTS if network.n <= _SMALL else _FEW_STARTS
    for first in can[:: -(-len(can) // starts)]:
        marking = Marking(network, rounds, classes)
        marking.add(int(first))
        if _complete(marking, kept):
            return marking
    return None


def _complete(marking: Marking, kept: list[Bools]) -> bool:
    for r in reversed(range(len(marking.rounds))):
        unblocked = [i for i in marking.marked if not marking.is_blocked(r, i)]
        if not unblocked:
            continue
        solos = _Solos(marking.network, marking.rounds[r], marking.classes, kept[r])
        for i in unblocked:
            if not marking.is_blocked(r, i):  # one marked just now may do it
                partner = marking.partner(r, i, kept[r], solos)
                if partner is None:
                    return False
                marking.add(partner)
    return True
