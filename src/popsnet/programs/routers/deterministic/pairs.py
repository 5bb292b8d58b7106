"""Pairs of processors that exchange packets: a stage of a comparator network on POPS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.model.loops import plain
from popsnet.model.network import I32, Network
from popsnet.model.slot import Ints
from popsnet.programs.schedules.cache import kept_schedule
from popsnet.programs.schedules.construction import make_two_hops
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.schedule import Schedule
from popsnet.programs.schedules.slots_needed import offline_slots


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Processors ``low[i]`` and ``high[i]`` that exchange, and the schedule of ``ends``."""

    low: I32
    high: I32
    schedule: Schedule

    @property
    def ends(self) -> I32:
        """The sender of every packet of the schedule, first all of ``low``, then of ``high``."""
        return np.concatenate((self.low, self.high))


def pair_up(network: Network, low: Ints, high: Ints) -> Pairs:
    """Return the pairs and their schedule: one slot for d = 1, otherwise at most 2⌈d/g⌉.

    No processor is in two pairs, so this is an involution, and off-line routing applies: the pairs
    do not depend on the packets. The schedule depends on d, g and the pairs alone, and is kept. To
    make it takes O(n) time if indices serve as colours, and O(n log d) otherwise.
    """
    low, high = _in_order(network, low, high)
    name = f"pairs {network.d} {network.g}"
    return Pairs(low, high, kept_schedule(name, (low, high), lambda: _schedule(network, low, high)))


def _in_order(network: Network, low: Ints, high: Ints) -> tuple[I32, I32]:
    """Order pairs by processor, so that neighbours are near in memory: this halves the time."""
    partner = np.full(network.n, -1, dtype=np.int32)
    partner[low] = high
    paired: I32 = np.flatnonzero(partner >= 0).astype(np.int32)
    return paired, partner[paired]


def pair_slots(network: Network, low: Ints, high: Ints) -> int:
    """Return the slots of the schedule without making it: two per round, for Δ packets.

    If few take part, the largest number Δ of packets of a group is less than d, and ⌈Δ/g⌉ may be
    less than ⌈d/g⌉.
    """
    low, high = _in_order(network, low, high)
    colours = _indices(network, low, high)
    if colours is None:
        return offline_slots(_demand(network, low, high))
    return 2 * len(np.unique(colours // np.int32(network.g)))


def _schedule(network: Network, low: I32, high: I32) -> Schedule:
    """Return the schedule in which colour rg + c goes in round r by way of group c."""
    demand, colours = _demand(network, low, high), _indices(network, low, high)
    if colours is None:
        return make_two_hops(demand)
    rounds = colours // network.g
    used = np.bincount(rounds) > 0
    relays = network.processor(colours % network.g, network.group(plain(demand.source)))
    numbers = (np.cumsum(used) - 1)[rounds].astype(np.int32)  # without those that are empty
    return Schedule.of_rounds(demand, numbers, relays, int(numbers.max()) + 1)


def _demand(network: Network, low: I32, high: I32) -> Demand:
    return Demand(network, np.concatenate((low, high)), np.concatenate((high, low)))


def _indices(network: Network, low: I32, high: I32) -> I32 | None:
    """Return indices as colours if they are a proper colouring, by :func:`_by_index`."""
    if not 1 < network.d >= network.g or not len(low):
        return None
    colours = np.empty(2 * len(low), dtype=np.int32)
    first = int(min(np.min(network.index(low)), np.min(network.index(high))))
    return colours if _by_index(low, high, network.d, network.g, first, colours) else None


@compiled
def _by_index(low: I32, high: I32, d: int, g: int, first: int, colours: I32) -> bool:
    """Colour by the index of the lower end, or of the sender if both are in one group.

    If position q is in group q mod g, a stage of merge exchange with g a power of two either
    stays in the groups or pairs every group with one other, at a fixed distance of indices. Then
    no colour occurs twice at a group, sent or received. Other stages may have this property, too,
    so it is checked.
    """
    sent, received = np.zeros((g, d), dtype=np.bool_), np.zeros((g, d), dtype=np.bool_)
    m = len(low)
    for i in range(m):
        a, b = low[i] // d, high[i] // d
        c = low[i] - a * d - first
        back = high[i] - b * d - first if a == b else c
        if sent[a, c] or received[b, c]:
            return False
        sent[a, c] = received[b, c] = True
        if sent[b, back] or received[a, back]:
            return False
        sent[b, back] = received[a, back] = True
        colours[i], colours[m + i] = c, back
    return True
