"""The packet buffers of all processors, kept and checked by the machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import Rule, RuleViolation
from popsnet.model import loops
from popsnet.model.buffers import make_buffers
from popsnet.model.faults import ActiveFaults
from popsnet.model.loops import NOTHING, Bools, differ, first_outside, plain, plain_each, rises
from popsnet.model.network import I32, Network
from popsnet.model.slot import PACKET, Inbox, Ints, Kind, Slot

_MOST_LOOPS = 2**31 - 1


class Memory:
    """The packet buffers of all processors.

    A packet that a processor hears is gone after the slot unless it is stored. The router says
    what processors store, drop and deliver, and the memory checks it. A delivered packet stays in
    a buffer of its destination.

    The methods take arrays of equal length: ``processors[k]`` acts on ``packets[k]``.

    Parameters
    ----------
    network : Network
        The network.
    destination : array of int
        The destination of each packet.
    buffers : int
        The number of packets that a processor may hold.
    start : array of int, optional
        The processor at which each packet starts. By default packet i starts at processor i.

    Notes
    -----
    An action is checked in one compiled pass. Only if that finds a fault, the checks are made one
    by one, for an error that names the processor and the rule.

    Examples
    --------
    A router uses the memory that it is given. Here is one on its own.

    >>> import numpy as np
    >>> from popsnet import Memory, Network
    >>> memory = Memory(Network(2, 2), np.array([0, 3, 2, 1]), buffers=2)
    >>> memory.deliver(np.array([0, 2]), np.array([0, 2]))  # held by their destinations
    >>> memory.delivered, memory.awaiting()
    (2, array([1, 3]))
    >>> memory.drop(np.array([1]), np.array([1]))
    >>> memory.lost()
    array([1])
    """

    def __init__(
        self, network: Network, destination: Ints, buffers: int, start: Ints | None = None
    ) -> None:
        self._slot = 0
        self._delivered = 0
        self._last_delivery = 0
        self._n, self._packets = network.n, len(destination)
        self._destination = plain(destination)
        self._buffers = make_buffers(network.n, buffers)
        self._start = None if start is None else plain(start)
        self._heard = np.full(network.n, NOTHING, dtype=np.int64)  # when, and which packet
        self._arrived = np.zeros(self._packets, dtype=np.bool_)
        self._seen = VisitMarks(network.n)
        if start is None:
            self._peak = self._buffers.put_in(network.processors, network.processors)[1]
        else:
            self._peak = self._begin(start)
        self._crowded: list[I32] = []  # processors that may hold more than the peak
        self._changes: list[tuple[int, I32, I32]] | None = None

    keeps_delivered: ClassVar[bool] = True
    """Whether a delivered packet stays in a buffer of its destination."""
    tolerant: ClassVar[bool] = False
    """Whether actions that need a packet that is not there are skipped, and not refused."""
    skipped: int = 0
    """Actions that were skipped: they needed a packet, or a buffer, that was not there."""
    duplicated: int = 0
    """Deliveries of packets that had been delivered before, if these are skipped."""

    def without_missing_packets(self, slot: Slot) -> Slot:
        """Return the slot as processors can execute it: as it is, except after faults."""
        return slot

    def _begin(self, start: Ints) -> int:
        """Put every packet where it starts, and return the most that start at one processor."""
        processors, packets = self._numbers(start, np.arange(self._packets, dtype=np.int32))
        full, peak = self._buffers.put_in(processors, packets)
        what = f"starts with packet {{packet}} and more than the {self._buffers.buffers} claimed"
        self._refuse(full, processors, packets, Rule.BUFFERS, what)
        return peak

    @property
    def start(self) -> I32:
        """The processor at which each packet starts, which that processor alone knows."""
        return np.arange(self._n, dtype=np.int32) if self._start is None else self._start

    @property
    def peak(self) -> int:
        """The most packets that a processor has held after a slot, or at the start.

        A packet that is stored and another that is dropped after the same slot are not held at
        once, in whatever order the router says so.
        """
        return max([self._peak, *(self._buffers.most_held(holders) for holders in self._crowded)])

    @property
    def delivered(self) -> int:
        """The number of packets delivered so far."""
        return self._delivered

    @property
    def waiting(self) -> int:
        """The number of packets that are not delivered."""
        return self._packets - self._delivered

    @property
    def arrived(self) -> Bools:
        """Whether each packet was delivered. No router may use it: no processor knows it."""
        return self._arrived

    @property
    def last_delivery(self) -> int:
        """The slot of the last delivery, counting from 1, or 0 if there was none."""
        return self._last_delivery

    def store(self, processors: Ints, packets: Ints) -> None:
        """Store packets that were heard in the last slot, each in a free buffer.

        Parameters
        ----------
        processors, packets : array of int
            The processors that store, and the packet that each of them stores.

        Raises
        ------
        RuleViolation
            If a processor did not hear the packet in the last slot, or has no free buffer.
        """
        both = pairs(processors, packets)
        if not loops.take_heard(self._heard, self._slot, self._packets, *both):
            self._require_heard(processors, packets)
        processors, packets = both
        full, peak = self._buffers.put_in(processors, packets)
        if full >= 0:
            claimed = f"{self._buffers.buffers} claimed"
            what = f"stores packet {{packet}} with all its buffers full ({claimed})"
            self._refuse(full, processors, packets, Rule.BUFFERS, what)
        if peak > self._peak:
            self._crowded.append(processors.copy())
        self._write_down(1, processors, packets)

    def _require_heard(self, processors: Ints, packets: Ints) -> None:
        processors, packets = self._numbers(processors, packets)
        rule = Rule.KEEPS_WHAT_IT_HEARD
        unheard = first_true(~self._hear_now(processors, packets))
        what = "stores packet {packet}, which it has not just heard"
        self._refuse(unheard, processors, packets, rule, what)
        require_distinct(self._slot, processors, self._n, rule, "stores what it heard twice")

    def drop(self, processors: Ints, packets: Ints) -> None:
        """Free the buffers of packets that are held.

        Parameters
        ----------
        processors, packets : array of int
            The processors that drop a packet, and the packet of each.

        Raises
        ------
        RuleViolation
            If a processor does not hold the packet, or the packet was delivered to it.
        """
        both = pairs(processors, packets)
        if not loops.may_drop(self._arrived, self._destination, self._n, *both):
            self._require_undelivered(processors, packets)
        processors, packets = both
        missing = self._buffers.take_out(processors, packets)
        if missing >= 0:
            what = "drops packet {packet}, which it does not hold"
            self._refuse(missing, processors, packets, Rule.DROPS_WHAT_IT_HOLDS, what)
        self._write_down(-1, processors, packets)

    def drop_copies(self) -> None:
        """Free all buffers but those of delivered packets: for when every processor is done.

        Every processor knows what it holds, and which packet is the one for it.
        """
        processors, packets = self.content()
        copies = ~self._arrived[packets] | (self._destination[packets] != processors)
        self.drop(processors[copies], packets[copies])

    def _require_undelivered(self, processors: Ints, packets: Ints) -> None:
        processors, packets = self._numbers(processors, packets)
        delivered = first_true(self._arrived[packets] & (self._destination[packets] == processors))
        what = "drops packet {packet}, which was delivered to it"
        self._refuse(delivered, processors, packets, Rule.DROPS_WHAT_IT_HOLDS, what)

    def deliver(self, processors: Ints, packets: Ints) -> None:
        """Deliver packets that their destinations heard in the last slot, or hold.

        Parameters
        ----------
        processors, packets : array of int
            The destinations, and the packet of each.

        Raises
        ------
        RuleViolation
            If a packet is not for the processor, was delivered before, or is not there.
        """
        both = pairs(processors, packets)
        if not loops.may_deliver(self._arrived, self._destination, *self._seen.next(), *both):
            self._require_due(processors, packets)
        processors, packets = both
        absent = ~self.holds(processors, packets)
        if absent.all():
            self.store(processors, packets)
        else:
            self.store(processors[absent], packets[absent])
        loops.mark(packets, self._arrived)
        self._count_delivered(len(packets))

    def _require_due(self, processors: Ints, packets: Ints) -> None:
        processors, packets = self._numbers(processors, packets)
        rule = Rule.DELIVERS_ONCE
        wrong = first_true(self._arrived[packets] | (self._destination[packets] != processors))
        what = "delivers packet {packet}, which is not for it or was delivered before"
        self._refuse(wrong, processors, packets, rule, what)
        require_distinct(self._slot, processors, self._n, rule, "delivers its packet twice")

    def assume_delivered(self, packets: Ints) -> None:
        """Count packets as delivered that were not: for idealized variants.

        Parameters
        ----------
        packets : array of int
            The packets, each still held by its source.
        """
        self.drop(packets, packets)
        self._arrived[packets] = True
        self._count_delivered(len(packets))

    def holds(self, processors: Ints, packets: Ints) -> Bools:
        """Return whether each processor holds the packet.

        Parameters
        ----------
        processors, packets : array of int
            The processors, and the packet that each is asked for.

        Returns
        -------
        array of bool
            An entry per pair.
        """
        both = pairs(processors, packets)
        wrong = first_outside(both[0], 0, self._n)
        if wrong >= 0:
            self._refuse(wrong, processors, packets, Rule.PROCESSOR_EXISTS, "is asked for {packet}")
        return self._buffers.find(*both)

    def hold_all(self, processors: I32, packets: I32) -> bool:
        """Return whether every processor, all of which exist, holds its packet."""
        return self._buffers.hold_all(processors, packets)

    def content(self) -> tuple[I32, I32]:
        """Return what all processors hold.

        Returns
        -------
        tuple of two arrays of int
            Processors, and a packet that each holds.
        """
        return self._buffers.content()

    def awaiting(self) -> npt.NDArray[np.intp]:
        """Return the processors that wait for a packet.

        Every processor knows this of itself, so a router may use it.

        Returns
        -------
        array of int
            The processors, in ascending order.
        """
        return np.unique(self._destination[~self._arrived]).astype(np.intp)

    def lost(self) -> npt.NDArray[np.intp]:
        """Return the packets that no processor holds any more.

        Returns
        -------
        array of int
            The packets, in ascending order.
        """
        held = self._arrived.copy()
        held[self.content()[1]] = True
        return np.flatnonzero(~held)

    def keep_journal(self) -> None:
        """Record from now on what is stored and dropped."""
        self._changes = []

    def read_journal(self) -> tuple[list[tuple[int, int]], ...]:
        """Return what was stored and what was dropped since the journal was last read.

        A packet that was dropped and stored again by the same processor is in neither list.

        Returns
        -------
        tuple of two lists
            Pairs (processor, packet), in order: those stored, and those dropped.
        """
        holds: Counter[tuple[int, int]] = Counter()
        for change, processors, packets in self._changes or ():
            for hold in zip(processors.tolist(), packets.tolist(), strict=True):
                holds[hold] += change
        self._changes = []
        return sorted((+holds).elements()), sorted((-holds).elements())

    def _exist(self, processors: Ints, packets: Ints) -> Bools:
        is_processor: Bools = (processors >= 0) & (processors < self._n)
        return is_processor & (packets >= 0) & (packets < self._packets)

    def _hear_now(self, processors: Ints, packets: Ints) -> Bools:
        heard: Bools = self._heard[processors] == (self._slot << 32 | packets.astype(np.int64))
        return heard

    def _may_store(self, processors: Ints, packets: Ints) -> Bools:
        held = np.bincount(self.content()[0], minlength=self._n)
        free = held[processors] < self._buffers.buffers
        return self._hear_now(processors, packets) & free & first_of_each(processors)

    def _may_drop(self, processors: Ints, packets: Ints) -> Bools:
        taken: Bools = self._arrived[packets] & (self._destination[packets] == processors)
        return self.holds(processors, packets) & ~taken

    def _may_deliver(self, processors: Ints, packets: Ints) -> Bools:
        held = self.holds(processors, packets)
        stored = ~held & self._may_store(processors, packets)
        due: Bools = self._destination[packets] == processors
        return (held | stored) & due

    def _count_delivered(self, packets: int) -> None:
        self._delivered += packets
        if packets:
            self._last_delivery = self._slot

    def _require_phase(self, packets: Sequence[int] | Ints) -> None:
        """Require that processors may act now, as they always may in a run of a router."""

    def _write_down(self, change: int, processors: I32, packets: I32) -> None:
        if self._changes is not None:
            self._changes.append((change, processors.copy(), packets.copy()))

    def _hear(self, number: int, slot: Slot, messages: I32, inbox: Inbox) -> None:
        """Let receivers store these packets until the next slot. Only the machine calls this.

        ``messages`` has the position in the slot of the message in each row of the inbox.
        """
        self._slot = number
        if self._crowded:
            self._peak, self._crowded = self.peak, []
        if not isinstance(slot.kind, Kind):
            inbox = inbox.at(inbox.kinds == PACKET)
        elif slot.kind is not PACKET:
            return
        loops.note(self._heard, number, *plain_each(inbox.receivers, inbox.packets))

    def _numbers(self, processors: Ints, packets: Ints) -> tuple[I32, I32]:
        """Return the same numbers, checked, for the loops below."""
        for numbers, bound, rule in (
            (processors, self._n, Rule.PROCESSOR_EXISTS),
            (packets, self._packets, Rule.PACKET_EXISTS),
        ):
            wrong = first_outside(plain(numbers), 0, bound)
            self._refuse(wrong, processors, packets, rule, "names packet {packet}")
        return pairs(processors, packets)

    def _refuse(self, at: int, processors: Ints, packets: Ints, rule: Rule, detail: str) -> None:
        """Blame the processor at a position, unless that is negative."""
        if at >= 0:
            text = detail.format(packet=int(packets[at]))
            raise RuleViolation(self._slot, int(processors[at]), rule, text)


class FaultTolerance(Memory):
    """A mixin for memories in runs whose program does not expect the faults.

    Such a program may let a processor act on a packet that it missed. A processor without the
    packet cannot act, so nothing happens, and the action is counted. Everything else is checked as
    the memory does. On its own it is a :class:`Memory` that tolerates.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.model.memory import FaultTolerance
    >>> memory = FaultTolerance(Network(2, 2), np.array([0, 3, 2, 1]), buffers=2)
    >>> memory.store(np.array([3]), np.array([1]))  # it has heard nothing
    >>> memory.deliver(np.array([0, 0]), np.array([0, 0]))
    >>> memory.skipped, memory.duplicated, memory.delivered
    (1, 1, 1)
    """

    tolerant = True
    _faults: ActiveFaults | None = None  # a dead processor does nothing

    def without_missing_packets(self, slot: Slot) -> Slot:
        """Return the slot without messages for which the sender lacks the packet."""
        senders, packets = slot.senders, slot.packet_numbers
        # the machine refuses what does not exist
        rows = np.flatnonzero((slot.kinds == PACKET) & self._exist(senders, packets))
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
        if self.keeps_delivered:
            processors, packets = self._new(processors, packets)
        processors, packets = self._able(processors, packets, self._may_deliver)
        if not self.keeps_delivered:
            processors, packets = self._new(processors, packets)
        super().deliver(processors, packets)

    def _new(self, processors: Ints, packets: Ints) -> tuple[Ints, Ints]:
        """Return the deliveries of packets that have not been delivered before."""
        exist = self._exist(processors, packets)
        again = exist & ~first_of_each(packets)
        again[exist] |= self._arrived[packets[exist]]
        self.duplicated += int(again.sum())
        return processors[~again], packets[~again]

    def _able(
        self, processors: Ints, packets: Ints, may: Callable[[Ints, Ints], Bools]
    ) -> tuple[Ints, Ints]:
        """Return the actions that are possible, and those that name what does not exist."""
        self._require_phase(packets)
        processors, packets = np.asarray(processors), np.asarray(packets)
        exist = self._exist(processors, packets)
        able = ~exist
        able[exist] = may(processors[exist], packets[exist])
        if self._faults is not None:
            acts = self._faults.act(self._slot, processors[exist])
            able[exist] &= True if acts is None else acts
        self.skipped += int((~able).sum())
        return processors[able], packets[able]


class VisitMarks:
    """An array with an entry per processor, for loops that look for repeated processors.

    A loop writes its own number where it has been, so nothing has to be cleared for the next.
    """

    def __init__(self, n: int) -> None:
        self._by = np.zeros(n, dtype=np.int32)
        self._loops = 0

    def next(self) -> tuple[I32, int]:
        """Return the array, and the number of the loop that uses it now."""
        if self._loops == _MOST_LOOPS:
            self._by.fill(0)
            self._loops = 0
        self._loops += 1
        return self._by, self._loops


Kept = TypeVar("Kept", bound=Memory)


@cache
def mixed(mixin: type, memory: type[Kept]) -> type[Kept]:
    """Return a kind of memory with a mixin, such as :class:`FaultTolerance`."""
    return type(f"{mixin.__name__}{memory.__name__}", (mixin, memory), {})


def pairs(processors: Ints, packets: Ints) -> tuple[I32, I32]:
    """Return processors and packets of the type that loops are compiled for."""
    if len(processors) != len(packets):
        raise ValueError(f"{len(processors)} processors cannot act on {len(packets)} packets.")
    processors, packets = plain_each(processors, packets)
    return processors, packets


def first_true(wrong: Bools) -> int:
    """Return the position of the first that is true, or -1."""
    return int(np.argmax(wrong)) if wrong.any() else -1


def require_distinct(slot: int, processors: Ints, n: int, rule: Rule, detail: str) -> None:
    """Require processors to be different, or blame the smallest that occurs twice."""
    numbers = plain(processors)
    if not (rises(numbers) or differ(np.zeros(n, dtype=np.int32), 1, numbers)):
        twice = int(np.argmax(np.bincount(numbers, minlength=n) > 1))
        raise RuleViolation(slot, twice, rule, detail)


def first_of_each(numbers: Sequence[int] | Ints) -> Bools:
    """Return which entries are the first of their value."""
    first = np.zeros(len(numbers), dtype=np.bool_)
    first[np.unique(numbers, return_index=True)[1]] = True
    return first
