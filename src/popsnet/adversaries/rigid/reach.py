"""The packets that a processor could hold, slot by slot, when the pattern is fixed.

P(i, t) is the set of packets that processor i can hold after slot t of a rigid algorithm. At first
it is {i}. In a slot i hears at most one processor j, the same one for every permutation, so P(i, t)
is P(i, t - 1) or its union with P(j, t - 1): it at most doubles, and |P(i, t)| ≤ 2^t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popsnet.network import Network
from popsnet.slot import Ints, Kind, Slot

Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class ReachGrowth:
    """How large the sets P(i, t) are after a slot."""

    slot: int
    least: int
    mean: float
    most: int


class Reach:
    """All the sets P(i, t), a bit for each pair: n²/8 bytes, O(n²/8) time per slot."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self._sets: Bits = np.packbits(np.eye(network.n, dtype=np.bool_), axis=1)

    def after(self, slot: Slot) -> None:
        """Let every processor hear what it hears in this slot."""
        listeners, senders = _heard(self.network, slot)
        self._sets[listeners] |= self._sets[senders]

    def sizes(self) -> Ints:
        """The size of every processor's set."""
        sizes: Ints = np.bitwise_count(self._sets).sum(axis=1, dtype=np.int64)
        return sizes

    def of(self, i: int) -> Ints:
        """The packets that processor i can hold."""
        return np.flatnonzero(self._holds(i))

    def missing(self) -> tuple[int, int] | None:
        """A processor with the smallest set, and a packet that it cannot hold; None if none."""
        i = int(np.argmin(self.sizes()))
        holds = self._holds(i)
        return None if holds.all() else (i, int(np.argmin(holds)))

    def _holds(self, i: int) -> Bits:
        return np.unpackbits(self._sets[i], count=self.network.n)


def _heard(network: Network, slot: Slot) -> tuple[Ints, Ints]:
    """Who hears a packet, and from whom."""
    by, to = slot.senders[slot.owners], slot.groups
    couplers = network.coupler(to, network.group(by))
    used, first, times = np.unique(couplers, return_index=True, return_counts=True)
    is_heard = (times == 1) & (slot.kinds[slot.owners][first] == Kind.PACKET)
    no_coupler = network.couplers  # the last entry: no listener is on it
    heard, sender = np.append(used[is_heard], no_coupler), by[first[is_heard]]
    listened = network.coupler(network.group(slot.listeners), slot.listened)
    at = np.searchsorted(heard, listened)
    hears = heard[at] == listened
    return slot.listeners[hears], sender[at[hears]]


def growth_of(network: Network, slots: tuple[Slot, ...]) -> tuple[list[ReachGrowth], Reach]:
    """The sizes of the sets after 0, 1, … slots, and the sets after the last."""
    reach, growth = Reach(network), list[ReachGrowth]()
    for number, slot in enumerate((None, *slots)):
        if slot is not None:
            reach.after(slot)
        sizes = reach.sizes()
        growth.append(ReachGrowth(number, int(sizes.min()), float(sizes.mean()), int(sizes.max())))
    return growth, reach
