"""The faults of one run of a scheduler: what the machine, the memory and the scheduler need.

A memory of traffic that skips what processors cannot do after faults.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from popsnet.coins import Coins
from popsnet.faults import ActiveFaults, Faults
from popsnet.loops import OWN, SOURCE, Bools, plain
from popsnet.memory import TolerantMemory, first_of_each
from popsnet.network import Network
from popsnet.slot import Ints
from popsnet.traffic.live_parts import LiveParts
from popsnet.traffic.memory import TrafficMemory
from popsnet.traffic.scheduler import Scheduler


class TolerantTrafficMemory(TolerantMemory, TrafficMemory):
    """The packets of all processors, in a run whose scheduler does not expect the faults.

    Such a scheduler may let a processor act on a packet that it missed. A processor without the
    packet cannot act, so nothing happens, and the action is counted. Everything else is checked as
    :class:`~popsnet.traffic.TrafficMemory` does.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.traffic.faulty import TolerantTrafficMemory
    >>> memory = TolerantTrafficMemory(Network(2, 2))
    >>> _ = memory.admit(0, np.array([1]), np.array([3]))
    >>> memory.store(np.array([3]), np.array([0]))  # it has heard nothing
    >>> memory.skipped
    1
    """

    def __init__(self, network: Network, buffer: int = 0) -> None:
        TrafficMemory.__init__(self, network, buffer)

    def deliver(self, processors: Ints, packets: Ints) -> None:
        """Deliver packets that their destinations heard in the last slot, or have stored."""
        processors, packets = self._able(processors, packets, self._may_deliver)
        exist = self._exist(processors, packets)
        again = exist & ~first_of_each(packets)
        again[exist] |= self.taken(packets[exist])
        self.duplicated += int(again.sum())
        TrafficMemory.deliver(self, processors[~again], packets[~again])

    def _may_store(self, processors: Ints, packets: Ints) -> Bools:
        stored = self._buffers.find(plain(processors), plain(packets))
        may = self._hear_now(processors, packets) & self.room(processors) & ~stored
        rows = np.flatnonzero(may)
        may[rows] = first_of_each(processors[rows])
        return may

    def _may_drop(self, processors: Ints, packets: Ints) -> Bools:
        # a source may also have stored its packet, and then it drops that copy first
        own = self._facts[OWN, packets] * (self._facts[SOURCE, packets] == processors)
        copies = own + self._buffers.find(plain(processors), plain(packets))
        names = processors.astype(np.int64) << 32 | packets
        order = names.argsort(kind="stable")
        before = np.empty(len(names), dtype=np.int64)  # drops of the same packet before this one
        before[order] = np.arange(len(names)) - np.searchsorted(names[order], names[order])
        may: Bools = before < copies
        return may

    def _may_deliver(self, processors: Ints, packets: Ints) -> Bools:
        there = self._buffers.find(plain(processors), plain(packets))
        due: Bools = self._destination[packets] == processors
        return due & (there | self._hear_now(processors, packets))


class TrafficFaults:
    """The faults of a run, with the random ones drawn.

    Parameters
    ----------
    network : Network
        The network.
    scheduler : Scheduler
        The scheduler, which says what it survives and which paths it can use.
    faults : Faults
        The dead parts and the loss.
    seed : int
        The seed of random faults and lost messages.
    known : bool
        Whether every processor knows the dead parts.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Faults, Network
    >>> from popsnet.traffic import find_scheduler
    >>> from popsnet.traffic.faulty import TrafficFaults
    >>> faults = TrafficFaults(Network(2, 2), find_scheduler("tdm"), Faults.parse("coupler:1,0"))
    >>> faults.unreachable(0, np.array([0, 0]), np.array([1, 2]))
    array([False,  True])
    """

    def __init__(
        self, network: Network, scheduler: Scheduler, faults: Faults, seed: int = 0,
        known: bool = False,
    ) -> None:  # fmt: skip
        self.network, self._scheduler, self.known = network, scheduler, known
        self.active = ActiveFaults(network, faults, Coins(seed).for_run(0))
        self.live = LiveParts(network, self.active.faults, known)
        self.has_dead_parts = bool(faults.kinds - {"loss"})
        self._slots = self.active.faults.slots
        self._begun, self._working = len(self._slots), self.live

    @property
    def survives(self) -> bool:
        """Whether the scheduler states that it survives these faults."""
        return self._scheduler.expects(self.active.faults.kinds, self.known)

    def memory(self, buffer: int = 0) -> TrafficMemory:
        """Return a memory for the run: a tolerant one if the scheduler does not survive."""
        kind = TrafficMemory if self.survives else TolerantTrafficMemory
        return kind(self.network, buffer)

    @property
    def paths(self) -> str:
        """The paths that the scheduler can use."""
        return self._scheduler.paths

    @property
    def told(self) -> dict[str, Any]:
        """The keywords for the scheduler's generator function."""
        return {"known": self.live} if self.known and self._scheduler.takes_map else {}

    def unreachable(self, slot: int, sources: Ints, destinations: Ints) -> Bools:
        """Return which packets that arrive in a slot have no path.

        What is dead in this slot counts, or all dead parts if they are known. Slots are counted
        from 0 here, and from 1 in faults.
        """
        if not self.has_dead_parts:
            return np.zeros(len(sources), dtype=np.bool_)
        working = self.live if self.known else self._working_in(slot + 1)
        return ~working.reach(self._scheduler.paths, sources, destinations)

    def hopeless(self, slots: Ints, sources: Ints, destinations: Ints) -> Bools:
        """Return which packets have no path when they arrive, each in a slot of its own."""
        begun = np.searchsorted(self._slots, slots + 1, side="right")
        found = np.empty(len(slots), dtype=np.bool_)
        for number in np.unique(begun):
            rows = np.flatnonzero(begun == number)
            ends = sources[rows], destinations[rows]
            found[rows] = self.unreachable(int(slots[rows[0]]), *ends)
        return found

    def _working_in(self, slot: int) -> LiveParts:
        begun = bisect_right(self._slots, slot)
        if begun != self._begun:
            dead = self.active.faults.begun(slot)
            self._begun, self._working = begun, LiveParts(self.network, dead, known=False)
        return self._working
