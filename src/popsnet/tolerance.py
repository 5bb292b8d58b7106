"""A memory that skips what processors cannot do after faults, for routers not built for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from popsnet.faults import ActiveFaults
from popsnet.memory import Memory
from popsnet.slot import Ints, Kind, Slot

Bools = npt.NDArray[np.bool_]


class TolerantMemory(Memory):
    """The packet buffers of all processors, in a run whose router does not expect faults.

    Such a router may let a processor act on a packet that it missed. A processor without the packet
    cannot act, so nothing happens, and the action is counted. Everything else is checked as
    :class:`Memory` does.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.tolerance import TolerantMemory
    >>> memory = TolerantMemory(Network(2, 2), np.array([0, 3, 2, 1]), buffers=2)
    >>> memory.store(np.array([3]), np.array([1]))  # it has heard nothing
    >>> memory.deliver(np.array([0, 0]), np.array([0, 0]))
    >>> memory.skipped, memory.duplicated, memory.delivered
    (1, 1, 1)
    """

    tolerant = True
    faults: ActiveFaults | None = None
    """The faults, as a dead processor does nothing."""
    skipped: int = 0
    """Actions that needed a packet, or a buffer, that was not there."""
    duplicated: int = 0
    """Deliveries of packets that had been delivered before."""

    def possible(self, slot: Slot) -> Slot:
        """Return the slot without messages for which the sender lacks the packet."""
        senders, packets = slot.senders, slot.packet_numbers
        rows = np.flatnonzero(
            (slot.kinds == Kind.PACKET) & self._exist(senders, packets)
        )  # the machine refuses what does not exist
        missing = np.zeros(len(senders), dtype=np.bool_)
        missing[rows] = ~self.holds(senders[rows], packets[rows])
        if not missing.any():
            return slot
        self.skipped += int(missing.sum())
        return slot.only(sending=~missing)

    def store(self, processors: Ints, packets: Ints) -> None:
        """Store packets that were heard in the last slot, where there is a free buffer."""
        super().store(*self._able(processors, packets, self._may_store))

    def drop(self, processors: Ints, packets: Ints) -> None:
        """Free the buffers of packets that are held."""
        super().drop(*self._able(processors, packets, self._may_drop))

    def deliver(self, processors: Ints, packets: Ints) -> None:
        """Deliver packets that their destinations heard in the last slot, or hold."""
        exist = self._exist(processors, packets)
        before = np.zeros(len(packets), dtype=np.bool_)
        before[exist] = self._arrived[packets[exist]]
        first = _first_of_each(packets)
        again = exist & (before | ~first)
        self.duplicated += int(again.sum())
        super().deliver(*self._able(processors[~again], packets[~again], self._may_deliver))

    def _able(
        self, processors: Ints, packets: Ints, may: Callable[[Ints, Ints], Bools]
    ) -> tuple[Ints, Ints]:
        """Return the actions that are possible, and those that name what does not exist."""
        processors, packets = np.asarray(processors), np.asarray(packets)
        exist = self._exist(processors, packets)
        able = ~exist
        able[exist] = may(processors[exist], packets[exist])
        if self.faults is not None:
            acts = self.faults.act(self._slot, processors[exist])
            able[exist] &= True if acts is None else acts
        self.skipped += int((~able).sum())
        return processors[able], packets[able]

    def _exist(self, processors: Ints, packets: Ints) -> Bools:
        there: Bools = (processors >= 0) & (processors < self._n)
        return there & (packets >= 0) & (packets < self._packets)

    def _hear_now(self, processors: Ints, packets: Ints) -> Bools:
        heard: Bools = self._heard[processors] == (self._slot << 32 | packets.astype(np.int64))
        return heard

    def _may_store(self, processors: Ints, packets: Ints) -> Bools:
        held = np.bincount(self.content()[0], minlength=self._n)
        free = held[processors] < self._buffers.buffers
        return self._hear_now(processors, packets) & free & _first_of_each(processors)

    def _may_drop(self, processors: Ints, packets: Ints) -> Bools:
        taken: Bools = self._arrived[packets] & (self._destination[packets] == processors)
        able: Bools = self.holds(processors, packets) & ~taken
        return able

    def _may_deliver(self, processors: Ints, packets: Ints) -> Bools:
        held = self.holds(processors, packets)
        stored = ~held & self._may_store(processors, packets)
        due: Bools = self._destination[packets] == processors
        return (held | stored) & due


def _first_of_each(numbers: Sequence[int] | Ints) -> Bools:
    """Return which entries are the first of their value."""
    first = np.zeros(len(numbers), dtype=np.bool_)
    first[np.unique(numbers, return_index=True)[1]] = True
    return first
