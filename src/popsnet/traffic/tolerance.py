"""A memory of traffic that skips what processors cannot do after faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from popsnet.machine import Bools
from popsnet.slot import Ints, Kind, Slot
from popsnet.traffic.memory import PLACE, TrafficMemory


class TolerantTrafficMemory(TrafficMemory):
    """The packets of all processors, in a run whose scheduler does not expect the faults.

    Such a scheduler may let a processor act on a packet that it missed. A processor without the
    packet cannot act, so nothing happens, and the action is counted. Everything else is checked as
    :class:`~popsnet.traffic.TrafficMemory` does.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.traffic.tolerance import TolerantTrafficMemory
    >>> memory = TolerantTrafficMemory(Network(2, 2))
    >>> _ = memory.admit(0, np.array([1]), np.array([3]))
    >>> memory.store(np.array([3]), np.array([0]))  # it has heard nothing
    >>> memory.skipped
    1
    """

    tolerant = True

    def possible(self, slot: Slot) -> Slot:
        """Return the slot without messages for which the sender lacks the packet."""
        senders, packets = slot.senders, slot.packet_numbers
        rows = np.flatnonzero((slot.kinds == Kind.PACKET) & self._exist(senders, packets))
        missing = np.zeros(len(senders), dtype=np.bool_)
        missing[rows] = ~self.holds(senders[rows], packets[rows])
        if not missing.any():
            return slot
        self.skipped += int(missing.sum())
        return slot.only(sending=~missing)

    def store(self, processors: Ints, packets: Ints) -> None:
        """Store packets that were heard in the last slot, where there is room."""
        for one in self._each(processors, packets, self._may_store):
            super().store(*one)

    def drop(self, processors: Ints, packets: Ints) -> None:
        """Free the buffers of packets that are held."""
        for one in self._each(processors, packets, self._may_drop):
            super().drop(*one)

    def deliver(self, processors: Ints, packets: Ints) -> None:
        """Deliver packets that their destinations heard in the last slot, or have stored."""
        for one in self._each(processors, packets, self._may_deliver):
            if self.taken(one[1])[0]:
                self.duplicated += 1
            else:
                super().deliver(*one)

    def _each(
        self, processors: Ints, packets: Ints, may: Callable[[int, int], bool]
    ) -> Iterator[tuple[Ints, Ints]]:
        """Yield the actions that are possible, and those that name what does not exist."""
        exist = self._exist(processors, packets)
        for k in range(len(processors)):
            if exist[k] and not may(int(processors[k]), int(packets[k])):
                self.skipped += 1
            else:
                yield processors[k : k + 1], packets[k : k + 1]

    def _may_store(self, processor: int, packet: int) -> bool:
        known = processor * PLACE + packet in self._relayed
        return self._hears(processor, packet) and bool(self.room(processor)) and not known

    def _may_drop(self, processor: int, packet: int) -> bool:
        return self._hops_of(processor, packet) is not None

    def _may_deliver(self, processor: int, packet: int) -> bool:
        if self._facts[1, packet] != processor:
            return False
        return self._hears(processor, packet) or processor * PLACE + packet in self._relayed

    def _hears(self, processor: int, packet: int) -> bool:
        return self._heard.get(processor, (-1, -1))[0] == packet

    def _exist(self, processors: Ints, packets: Ints) -> Bools:
        there: Bools = (processors >= 0) & (processors < self.network.n)
        return there & (packets >= 0) & (packets < self._arrived)
