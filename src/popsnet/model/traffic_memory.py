"""The packets of all processors while packets come and go, kept and checked by the machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from popsnet.base.errors import InputError, Rule
from popsnet.model import loops
from popsnet.model.buffers import HashTable
from popsnet.model.loops import ARRIVAL, COPIES, DESTINATION, OWN, SOURCE, plain_each
from popsnet.model.memory import Memory, first_of_each, first_true, pairs
from popsnet.model.network import I32, I64, Bools, Ints, Network
from popsnet.model.slot import PACKET, Inbox, Kind, Slot


class NewPackets(NamedTuple):
    """Packets that arrive at the beginning of a slot. Each is known to its source alone."""

    processors: Ints
    """The source of each packet."""
    packets: Ints
    destinations: Ints


class TrafficMemory(Memory):
    """The packets that each processor holds while packets arrive and are delivered.

    A source holds its packets from their arrival on. Other packets are gone after the slot in which
    they are heard, unless they are stored. A delivered packet leaves the network. The scheduler
    says what processors store, drop and deliver, and the memory checks it.

    The methods take arrays of equal length: ``processors[k]`` acts on ``packets[k]``.

    Parameters
    ----------
    network : Network
        The network.
    buffer : int
        Packets of its own that a processor may hold, and as many of others; 0 for any number.

    Examples
    --------
    A scheduler uses the memory that it is given. Here is one on its own.

    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.traffic import TrafficMemory
    >>> memory = TrafficMemory(Network(2, 2))
    >>> arrived, refused = memory.admit(0, np.array([1, 2]), np.array([3, 2]))
    >>> arrived.packets
    array([0, 1])
    >>> memory.drop(np.array([2]), np.array([1]))
    >>> memory.own, memory.settle()  # the dropped packet is lost
    (1, [1])
    """

    keeps_delivered = False

    def __init__(self, network: Network, buffer: int = 0) -> None:
        nothing = np.empty(0, dtype=np.int32)
        super().__init__(network, nothing, 0, nothing)
        self.network = network
        self._most = buffer or np.iinfo(np.int64).max
        # copies that are not at the source of their packet
        self._buffers: HashTable = HashTable(network.n, self._most, valued=True)
        self._facts = np.zeros((5, 64), dtype=np.int32)
        self._flags = np.zeros(64, dtype=np.bool_)  # whether each packet was delivered
        self._hops = np.zeros(network.n, dtype=np.int32)  # of what was heard
        self.held_own = np.zeros(network.n, dtype=np.int32)
        self.own = 0
        """Packets held by their sources, all processors together."""
        self.inside = 0
        """Packets that have arrived and are neither delivered nor lost."""
        self._deliveries: list[tuple[I32, I32, I32]] = []
        self._dropped: list[I32] = []
        self._may_act = True

    @property
    def held_relayed(self) -> I32:
        """The packets of others that each processor holds."""
        return self._buffers.table.held

    @property
    def relayed(self) -> int:
        """Packets held by processors that are not their sources, all together."""
        return self._buffers.used

    @property
    def waiting(self) -> int:
        """The packets that are inside."""
        return self.inside

    def admit(self, slot: int, sources: Ints, destinations: Ints) -> tuple[NewPackets, I64]:
        """Let packets arrive, and return those that their sources hold, and the others' rows.

        Only the engine calls this. A packet is refused if its source holds as many packets of its
        own as it may.
        """
        first, offered = self._packets, len(sources)
        while first + offered > len(self._flags):  # make room
            self._facts = np.concatenate([self._facts, np.zeros_like(self._facts)], axis=1)
            self._flags = np.concatenate([self._flags, np.zeros_like(self._flags)])
        rows, (by, to) = np.empty(offered, dtype=np.int32), plain_each(sources, destinations)
        count = loops.admit(self._facts, first, slot, self._most, self.held_own, by, to, rows)
        self._packets = end = first + count
        self._destination, self._arrived = self._facts[DESTINATION, :end], self._flags[:end]
        self.own += count
        self.inside += count
        packets = np.arange(first, end)
        if count == offered:
            return NewPackets(sources, packets, destinations), np.empty(0, dtype=np.int64)
        admitted = rows[:count]
        refused = np.delete(np.arange(offered), admitted)
        return NewPackets(sources[admitted], packets, destinations[admitted]), refused

    def origins(self, packets: Ints) -> tuple[I32, I32]:
        """Return the source of each packet and the slot in which it arrived."""
        return self._facts[SOURCE, packets], self._facts[ARRIVAL, packets]

    def destinations(self, packets: Ints) -> Ints:
        """Return the destinations of packets, which every processor that holds them knows."""
        return self._destination[packets]

    def room(self, processors: Ints | int) -> Bools:
        """Return whether each processor has room for one more packet of others."""
        return self.held_relayed[processors] < self._most

    def store(self, processors: Ints, packets: Ints) -> None:
        """Store packets that were heard in the last slot.

        Raises
        ------
        RuleViolation
            If a processor did not hear the packet in the last slot, or has no room for it.
        """
        processors, packets = both = self._pairs(processors, packets)
        stored = self._buffers.find(*both)
        if not loops.take_heard(self._heard, self._slot, self._packets, *both):
            self._refuse_unheard(*both)
        again = int(stored.argmax()) if stored.any() else -1
        if again >= 0 and self.room(processors[again]):
            what = "stores packet {packet}, which it has stored before"
            self._refuse(again, *both, Rule.KEEPS_WHAT_IT_HEARD, what)
        full, _ = self._buffers.put_in(*both, self._hops[processors])
        if full >= 0:
            what = f"stores packet {{packet}} with all its buffers full ({self._most} claimed)"
            self._refuse(full, *both, Rule.BUFFERS, what)
        loops.count_copies(self._facts, packets)
        self._write_down(1, *both)

    def _refuse_unheard(self, processors: I32, packets: I32) -> None:
        """Blame the first processor that stores a packet that it has not just heard."""
        heard = self._exist(processors, packets)
        heard[heard] = self._hear_now(processors[heard], packets[heard])
        wrong = first_true(~(heard & first_of_each(processors)))
        what = "stores packet {packet}, which it has not just heard"
        self._refuse(wrong, processors, packets, Rule.KEEPS_WHAT_IT_HEARD, what)

    def drop(self, processors: Ints, packets: Ints) -> None:
        """Free the buffers of packets that are held.

        A source that has also stored a copy of its own packet drops that copy first.

        Raises
        ------
        RuleViolation
            If a processor does not hold the packet.
        """
        both = self._pairs(processors, packets)
        missing, stored = loops.drop_each(self._buffers.table, self._facts, self.held_own, *both)
        if missing >= 0:
            what = "drops packet {packet}, which it does not hold"
            self._refuse(missing, *both, Rule.DROPS_WHAT_IT_HOLDS, what)
        self._buffers.used -= stored
        self.own -= len(packets) - stored
        self._dropped.append(both[1])
        self._write_down(-1, *both)

    def deliver(self, processors: Ints, packets: Ints) -> None:
        """Deliver packets that their destinations heard in the last slot, or have stored.

        A delivered packet leaves the network. A processor that holds a copy of it drops it
        separately. A packet for its own source has to be sent, too: that the source holds it from
        its arrival on is not enough.

        Raises
        ------
        RuleViolation
            If a packet is not for the processor, was delivered before, or is not there.
        """
        both = self._pairs(processors, packets)
        wrong = loops.take_due(self._facts, self._arrived, *both)
        if wrong >= 0:
            what = "delivers packet {packet}, which is not for it or was delivered before"
            self._refuse(wrong, *both, Rule.DELIVERS_ONCE, what)
        hops = np.empty(len(packets), dtype=np.int32)
        heard = self._heard, self._hops, self._slot
        absent = loops.find_hops(self._buffers.table, *heard, *both, hops)
        if absent >= 0:
            what = "delivers packet {packet}, which it has not just heard"
            self._refuse(absent, *both, Rule.KEEPS_WHAT_IT_HEARD, what)
        if len(packets):
            self._deliveries.append((both[0].copy(), both[1].copy(), hops))
        self._count_delivered(len(packets))
        self.inside -= len(packets)

    def delivered_now(self) -> I32:
        """Return the destination, the packet and the hops of the deliveries of the slot, sorted."""
        if not self._deliveries:
            return np.empty((3, 0), dtype=np.int32)
        rows = np.concatenate(self._deliveries, axis=1)
        return rows[:, (rows[0].astype(np.int64) << 32 | rows[1]).argsort()]

    def taken(self, packets: Ints) -> Bools:
        """Return which packets were delivered before, as their destinations remember.

        A destination may ask for packets that it has just heard. A scheduler that sends packets
        again after a lost acknowledgement delivers only those that are new.
        """
        return self._arrived[packets]

    def holds(self, processors: Ints, packets: Ints) -> Bools:
        """Return whether each processor holds the packet."""
        held = np.empty(len(processors), dtype=np.bool_)
        loops.hold_each(self._buffers.table, self._facts, *pairs(processors, packets), held)
        return held

    def hold_all(self, processors: I32, packets: I32) -> bool:
        """Return whether every processor holds its packet."""
        held = np.empty(len(processors), dtype=np.bool_)
        return loops.hold_each(self._buffers.table, self._facts, processors, packets, held)

    def content(self) -> tuple[I32, I32]:
        """Return what all processors hold."""
        own = np.flatnonzero(self._facts[OWN, : self._packets]).astype(np.int32)
        held = np.concatenate([(self._facts[SOURCE, own], own), self._buffers.content()], axis=1)
        return held[0], held[1]

    def _may_store(self, processors: Ints, packets: Ints) -> Bools:
        stored = self._buffers.find(*plain_each(processors, packets))
        may = self._hear_now(processors, packets) & self.room(processors) & ~stored
        rows = np.flatnonzero(may)
        may[rows] = first_of_each(processors[rows])
        return may

    def _may_drop(self, processors: Ints, packets: Ints) -> Bools:
        # a source may also have stored its packet, and then it drops that copy first
        own = self._facts[OWN, packets] * (self._facts[SOURCE, packets] == processors)
        copies = own + self._buffers.find(*plain_each(processors, packets))
        names = processors.astype(np.int64) << 32 | packets
        order = names.argsort(kind="stable")
        before = np.empty(len(names), dtype=np.int64)  # drops of the same packet before this one
        before[order] = np.arange(len(names)) - np.searchsorted(names[order], names[order])
        may: Bools = before < copies
        return may

    def _may_deliver(self, processors: Ints, packets: Ints) -> Bools:
        holds = self._buffers.find(*plain_each(processors, packets))
        due: Bools = self._destination[packets] == processors
        return due & (holds | self._hear_now(processors, packets))

    def settle(self) -> list[int]:
        """End the slot, and return the packets that were lost in it. Only the engine calls this.

        What was heard cannot be used any more: no processor may act before the next slot.
        """
        self._may_act = False
        gone: set[int] = set()
        for packets in self._dropped:
            is_gone = (self._facts[COPIES, packets] == 0) & ~self._arrived[packets]
            gone.update(packets[is_gone].tolist())
        self._dropped.clear()
        self.inside -= len(gone)
        return sorted(gone)

    def read_journal(self) -> tuple[list[tuple[int, int]], ...]:
        """Return what was stored, dropped and delivered after the slot, as traces have it."""
        changes, self._changes = self._changes or [], []
        stored, dropped = (
            sorted(pair for sign, *both in changes if sign == change for pair in _listed(*both))
            for change in (1, -1)
        )
        return stored, dropped, _listed(*self.delivered_now()[:2])

    def _pairs(self, processors: Ints, packets: Ints) -> tuple[I32, I32]:
        """Return what processors act on as loops take it, if they may act now."""
        if not self._may_act:
            self._require_phase(packets)
        return pairs(processors, packets)

    def _require_phase(self, packets: Sequence[int] | Ints) -> None:
        if not self._may_act and len(packets):
            raise InputError(
                f"Packets are stored, dropped or delivered in slot {self._slot} before the slot is "
                "sent. What was heard can be used only until the next arrivals: act on it after "
                "inbox = yield Slot(…), and before the next arrived = yield."
            )

    def _hear(self, number: int, slot: Slot, messages: I32, inbox: Inbox) -> None:
        """Let receivers act on what they hear. Only the machine calls this."""
        self._slot, self._may_act = number, True
        self._deliveries.clear()
        if not isinstance(slot.kind, Kind):
            rows = inbox.kinds == PACKET
            inbox, messages = inbox.at(rows), messages[rows]
        elif slot.kind is not PACKET:
            return
        senders, *heard = plain_each(slot.senders, inbox.receivers, inbox.packets)
        before = self._buffers.table, self._heard, self._hops
        loops.note_hops(*before, number, senders, messages, *heard)


def _listed(processors: Ints, packets: Ints) -> list[tuple[int, int]]:
    return list(zip(processors.tolist(), packets.tolist(), strict=True))
