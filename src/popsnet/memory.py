"""The packet buffers of all processors, kept and checked by the machine."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from popsnet.buffers import make_buffers
from popsnet.compiled import compiled
from popsnet.errors import Rule, RuleViolation
from popsnet.network import I32, I64, Network
from popsnet.slot import Inbox, Ints, Kind, Slot

Bools = npt.NDArray[np.bool_]

_NOTHING = -1
_PACKET = Kind.PACKET  # members of an Enum are slow to look up
_MOST_LOOPS = 2**31 - 1
_INT32 = np.dtype(np.int32)


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
        self._heard = np.full(network.n, _NOTHING, dtype=np.int64)  # when, and which packet
        self._arrived = np.zeros(self._packets, dtype=np.bool_)
        self._seen = Seen(network.n)
        if start is None:
            self._peak = self._buffers.put_in(network.processors, network.processors)[1]
        else:
            self._peak = self._begin(start)
        self._crowded: list[I32] = []  # processors that may hold more than the peak
        self._changes: list[tuple[int, I32, I32]] | None = None

    tolerant: ClassVar[bool] = False
    """Whether actions that need a packet that is not there are skipped, and not refused."""

    def possible(self, slot: Slot) -> Slot:
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
        return max([self._peak, *(self._buffers.most_held(one) for one in self._crowded)])

    @property
    def delivered(self) -> int:
        """The number of packets delivered so far."""
        return self._delivered

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
        pairs = _pairs(processors, packets)
        if not _take_heard(self._heard, self._slot, self._packets, *pairs):
            self._require_heard(processors, packets)
        processors, packets = pairs
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
        unheard = _first_unheard(self._heard, self._slot, processors, packets)
        what = "stores packet {packet}, which it has not just heard"
        self._refuse(unheard, processors, packets, rule, what)
        self._require_once(processors, rule, "stores what it heard twice")

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
        pairs = _pairs(processors, packets)
        if not _may_drop(self._arrived, self._destination, self._n, *pairs):
            self._require_undelivered(processors, packets)
        processors, packets = pairs
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
        delivered = _first_delivered(self._arrived, self._destination, processors, packets)
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
        pairs = _pairs(processors, packets)
        if not _may_deliver(self._arrived, self._destination, *self._seen.next(), *pairs):
            self._require_due(processors, packets)
        processors, packets = pairs
        absent = ~self.holds(processors, packets)
        if absent.all():
            self.store(processors, packets)
        else:
            self.store(processors[absent], packets[absent])
        _mark(packets, self._arrived)
        self._count_delivered(len(packets))

    def _require_due(self, processors: Ints, packets: Ints) -> None:
        processors, packets = self._numbers(processors, packets)
        rule = Rule.DELIVERS_HOME
        wrong = _first_not_due(self._arrived, self._destination, processors, packets)
        what = "delivers packet {packet}, which is not for it or was delivered before"
        self._refuse(wrong, processors, packets, rule, what)
        self._require_once(processors, rule, "delivers its packet twice")

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
        pairs = _pairs(processors, packets)
        wrong = first_outside(pairs[0], 0, self._n)
        if wrong >= 0:
            self._refuse(wrong, processors, packets, Rule.PROCESSOR_EXISTS, "is asked for {packet}")
        return self._buffers.find(*pairs)

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

    def read_journal(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
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

    def _count_delivered(self, packets: int) -> None:
        self._delivered += packets
        if packets:
            self._last_delivery = self._slot

    def _write_down(self, change: int, processors: I32, packets: I32) -> None:
        if self._changes is not None:
            self._changes.append((change, processors.copy(), packets.copy()))

    def _hear(self, slot: int, inbox: Inbox, only: Kind | None = None) -> None:
        """Let receivers store these packets until the next slot. Only the machine calls this.

        ``only`` is the kind of all messages, if they are of one kind.
        """
        self._slot = slot
        if self._crowded:
            self._peak, self._crowded = self.peak, []
        if only is None:
            inbox = inbox.at(inbox.kinds == _PACKET)
        elif only is not _PACKET:
            return
        _note(self._heard, slot, plain(inbox.receivers), plain(inbox.packets))

    def _numbers(self, processors: Ints, packets: Ints) -> tuple[I32, I32]:
        """Return the same numbers, checked, for the loops below."""
        for numbers, bound, rule in (
            (processors, self._n, Rule.PROCESSOR_EXISTS),
            (packets, self._packets, Rule.PACKET_EXISTS),
        ):
            wrong = first_outside(plain(numbers), 0, bound)
            self._refuse(wrong, processors, packets, rule, "names packet {packet}")
        return _pairs(processors, packets)

    def _require_once(self, processors: I32, rule: Rule, detail: str) -> None:
        twice = first_repeat(processors, self._n)
        if twice is not None:
            raise RuleViolation(self._slot, twice, rule, detail)

    def _refuse(self, at: int, processors: Ints, packets: Ints, rule: Rule, detail: str) -> None:
        """Blame the processor at a position, unless that is negative."""
        if at >= 0:
            text = detail.format(packet=int(packets[at]))
            raise RuleViolation(self._slot, int(processors[at]), rule, text)


class Seen:
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


def _pairs(processors: Ints, packets: Ints) -> tuple[I32, I32]:
    if len(processors) != len(packets):
        raise ValueError(f"{len(processors)} processors cannot act on {len(packets)} packets.")
    return plain(processors), plain(packets)


def plain(numbers: Ints) -> I32:
    """Return numbers of the type that loops are compiled for, clipped to its range."""
    if numbers.dtype is _INT32 and numbers.flags.c_contiguous:
        return numbers  # type: ignore[return-value]
    if numbers.dtype != np.int32:
        wide = numbers.astype(np.int64, casting="same_kind", copy=False)
        numbers = wide.clip(-(2**31), 2**31 - 1)
    return np.ascontiguousarray(numbers, dtype=np.int32)


@compiled
def _first_unheard(heard: I64, slot: int, processors: I32, packets: I32) -> int:
    """Return the first whose packet is not what it heard in the slot, or -1."""
    for k in range(len(processors)):
        if heard[processors[k]] != slot << 32 | packets[k]:
            return k
    return -1


@compiled
def _first_delivered(arrived: Bools, destination: I32, processors: I32, packets: I32) -> int:
    """Return the first whose packet was delivered to it, or -1."""
    for k in range(len(processors)):
        if arrived[packets[k]] and destination[packets[k]] == processors[k]:
            return k
    return -1


@compiled
def _first_not_due(arrived: Bools, destination: I32, processors: I32, packets: I32) -> int:
    """Return the first whose packet is not for it or was delivered before, or -1."""
    for k in range(len(processors)):
        if arrived[packets[k]] or destination[packets[k]] != processors[k]:
            return k
    return -1


def first_repeat(numbers: I32, bound: int) -> int | None:
    """Return the smallest number in [0, bound) that occurs twice, if any does."""
    if rises(numbers) or differ(np.zeros(bound, dtype=np.int32), 1, numbers):
        return None
    return int(np.argmax(np.bincount(numbers, minlength=bound) > 1))


@compiled
def inside(numbers: I32, low: int, bound: int) -> bool:
    """Return whether all numbers are in [low, bound), without a branch, so in vectors."""
    least, most, all_inside = np.int32(low), np.int32(bound - 1), True
    for k in range(len(numbers)):
        all_inside &= numbers[k] >= least
        all_inside &= numbers[k] <= most
    return all_inside


@compiled
def first_outside(numbers: I32, low: int, bound: int) -> int:
    """Return the position of the first number that is not in [low, bound), or -1."""
    if inside(numbers, low, bound):
        return -1
    k = 0
    while low <= numbers[k] < bound:
        k += 1
    return k


@compiled
def rises(numbers: I32) -> bool:
    """Return whether each number is larger than the one before."""
    larger = True
    for k in range(1, len(numbers)):
        larger &= numbers[k - 1] < numbers[k]
    return larger


@compiled
def differ(seen: I32, loop: int, processors: I32) -> bool:
    """Return whether processors are all different, as they are if in ascending order."""
    if rises(processors):
        return True
    for k in range(len(processors)):
        if seen[processors[k]] == loop:
            return False
        seen[processors[k]] = loop
    return True


@compiled
def _note(heard: I64, slot: int, receivers: I32, packets: I32) -> None:
    """Remember which packet each receiver hears in a slot."""
    for k in range(len(receivers)):
        heard[receivers[k]] = slot << 32 | packets[k]


@compiled
def _take_heard(heard: I64, slot: int, there: int, processors: I32, packets: I32) -> bool:
    """Return whether all exist, are different, and have just heard their packets.

    If so, what they heard is taken, so that no processor can store it twice.
    """
    for k in range(len(processors)):
        j, packet = processors[k], packets[k]
        fits = 0 <= j < len(heard) and 0 <= packet < there
        if not fits or heard[j] != slot << 32 | packet:
            for i in range(k):
                heard[processors[i]] = slot << 32 | packets[i]
            return False
        heard[j] = _NOTHING
    return True


@compiled
def _may_drop(arrived: Bools, destination: I32, n: int, processors: I32, packets: I32) -> bool:
    """Return whether all exist, and no packet was delivered to its processor."""
    for k in range(len(processors)):
        j, packet = processors[k], packets[k]
        if j < 0 or j >= n or packet < 0 or packet >= len(arrived):
            return False
        if arrived[packet] and destination[packet] == j:
            return False
    return True


@compiled
def _may_deliver(
    arrived: Bools, destination: I32, seen: I32, loop: int, processors: I32, packets: I32
) -> bool:
    """Return whether all exist, are different, and their packets are due to them."""
    for k in range(len(processors)):
        j, packet = processors[k], packets[k]
        if j < 0 or j >= len(seen) or packet < 0 or packet >= len(arrived):
            return False
        if arrived[packet] or destination[packet] != j or seen[j] == loop:
            return False
        seen[j] = loop
    return True


@compiled
def _mark(packets: I32, marks: Bools) -> None:
    """Mark all packets."""
    for packet in packets:
        marks[packet] = True
