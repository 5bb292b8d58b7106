"""The packets of all processors while packets come and go, kept and checked by the machine."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, NoReturn

import numpy as np

from popsnet.errors import Rule, RuleViolation
from popsnet.loops import Bools
from popsnet.network import I32, I64, Network
from popsnet.slot import Inbox, Ints, Kind, Slot

PLACE = 2**32
"""More than any number of packets, so that processor · PLACE + packet is different for each."""


class Arrived(NamedTuple):
    """Packets that arrive at the beginning of a slot. Each is known to its source alone."""

    processors: Ints
    """The source of each packet."""
    packets: Ints
    destinations: Ints


class Delivery(NamedTuple):
    """A delivered packet."""

    destination: int
    packet: int
    hops: int


class TrafficMemory:
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

    tolerant: ClassVar[bool] = False
    """Whether actions that need a packet that is not there are skipped, and not refused."""
    skipped: int = 0
    """Actions that were skipped."""
    duplicated: int = 0
    """Deliveries of packets that had been delivered before."""

    def __init__(self, network: Network, buffer: int = 0) -> None:
        self.network = network
        self._most = buffer or np.iinfo(np.int64).max
        self._slot = 0
        self._facts = np.empty((3, 64), dtype=np.int32)  # source, destination, slot of arrival
        self._copies: list[int] = []
        self._arrived = 0
        self._delivered: set[int] = set()
        self._own: set[int] = set()  # processor and packet
        self._relayed: dict[int, int] = {}  # the hops of each stored copy
        self._heard: dict[int, tuple[int, int]] = {}
        self._sent: dict[tuple[int, int], int] = {}
        self.held_own, self.held_relayed = (np.zeros(network.n, dtype=np.int64) for _ in range(2))
        self.deliveries: list[Delivery] = []
        """The deliveries of the present slot."""
        self._dropped: set[int] = set()
        self._changes: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        self.inside = 0
        """Packets that have arrived and are neither delivered nor lost."""

    @property
    def _destination(self) -> I32:
        """The destinations of all packets so far, for the machine."""
        return self._facts[1, : self._arrived]

    @property
    def own(self) -> int:
        """Packets held by their sources, all processors together."""
        return int(self.held_own.sum())

    @property
    def relayed(self) -> int:
        """Packets held by processors that are not their sources, all together."""
        return int(self.held_relayed.sum())

    def admit(self, slot: int, sources: Ints, destinations: Ints) -> tuple[Arrived, I64]:
        """Let packets arrive, and return those that their sources hold, and the others' rows.

        Only the engine calls this. A packet is refused if its source holds as many packets of its
        own as it may.
        """
        self._slot = slot
        admitted: list[int] = []
        for row, source in enumerate(sources.tolist()):
            if self.held_own[source] < self._most:
                self.held_own[source] += 1
                admitted.append(row)
        first = self._arrived
        packets = np.arange(first, first + len(admitted))
        chosen = sources[admitted], destinations[admitted]
        self._write(*chosen, slot)
        for source, packet in zip(chosen[0].tolist(), packets.tolist(), strict=True):
            self._own.add(source * PLACE + packet)
        self._copies += [1] * len(admitted)
        self.inside += len(admitted)
        refused = np.setdiff1d(np.arange(len(sources)), admitted)
        return Arrived(chosen[0], packets, chosen[1]), refused

    def _write(self, sources: Ints, destinations: Ints, slot: int) -> None:
        end = self._arrived + len(sources)
        while end > self._facts.shape[1]:
            self._facts = np.concatenate([self._facts, np.empty_like(self._facts)], axis=1)
        self._facts[:, self._arrived : end] = sources, destinations, np.full(len(sources), slot)
        self._arrived = end

    def origin(self, packet: int) -> tuple[int, int]:
        """Return the source of a packet and the slot in which it arrived."""
        source, _, slot = self._facts[:, packet].tolist()
        return source, slot

    def ends(self, packet: int) -> tuple[int, int]:
        """Return the source and the destination of a packet."""
        source, destination, _ = self._facts[:, packet].tolist()
        return source, destination

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
        for processor, packet in _pairs(processors, packets):
            hops = self._hops_to(processor, packet, "stores")
            if self.held_relayed[processor] >= self._most:
                what = f"stores packet {packet} with all its buffers full ({self._most} claimed)"
                self._refuse(processor, Rule.BUFFERS, what)
            if processor * PLACE + packet in self._relayed:
                what = f"stores packet {packet}, which it has stored before"
                self._refuse(processor, Rule.KEEPS_WHAT_IT_HEARD, what)
            del self._heard[processor]
            self._relayed[processor * PLACE + packet] = hops
            self.held_relayed[processor] += 1
            self._copies[packet] += 1
            self._changes[0].append((processor, packet))

    def drop(self, processors: Ints, packets: Ints) -> None:
        """Free the buffers of packets that are held.

        A source that has also stored a copy of its own packet drops that copy first.

        Raises
        ------
        RuleViolation
            If a processor does not hold the packet.
        """
        for processor, packet in _pairs(processors, packets):
            copy = processor * PLACE + packet
            if self._relayed.pop(copy, None) is not None:
                self.held_relayed[processor] -= 1
            elif copy in self._own:
                self._own.remove(copy)
                self.held_own[processor] -= 1
            else:
                what = f"drops packet {packet}, which it does not hold"
                self._refuse(processor, Rule.DROPS_WHAT_IT_HOLDS, what)
            self._copies[packet] -= 1
            self._dropped.add(packet)
            self._changes[1].append((processor, packet))

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
        for processor, packet in _pairs(processors, packets):
            exists = 0 <= packet < self._arrived
            if not exists or self._facts[1, packet] != processor or packet in self._delivered:
                what = f"delivers packet {packet}, which is not for it or was delivered before"
                self._refuse(processor, Rule.DELIVERS_HOME, what)
            hops = self._relayed.get(processor * PLACE + packet)
            if hops is None or self._heard.get(processor, (-1, -1))[0] == packet:
                hops = self._hops_to(processor, packet, "delivers")
            self._delivered.add(packet)
            self.deliveries.append(Delivery(processor, packet, hops))
            self.inside -= 1

    def taken(self, packets: Ints) -> Bools:
        """Return which packets were delivered before, as their destinations remember.

        A destination may ask for packets that it has just heard. A scheduler that sends packets
        again after a lost acknowledgement delivers only those that are new.
        """
        before = [packet in self._delivered for packet in packets.tolist()]
        return np.array(before, dtype=np.bool_)

    def holds(self, processors: Ints, packets: Ints) -> Bools:
        """Return whether each processor holds the packet."""
        held = [self._hops_of(*pair) is not None for pair in _pairs(processors, packets)]
        return np.array(held, dtype=np.bool_)

    def hold_all(self, processors: I32, packets: I32) -> bool:
        """Return whether every processor holds its packet."""
        return bool(self.holds(processors, packets).all())

    def sending(self, slot: Slot) -> None:
        """Note how many hops every packet of a slot has made. Only the engine calls this."""
        groups = self.network.group(slot.senders).tolist()
        rows = zip(slot.senders.tolist(), groups, slot.packet_numbers.tolist(), strict=True)
        copies = ((group, packet, self._hops_of(p, packet)) for p, group, packet in rows)
        self._sent = {(group, packet): hops for group, packet, hops in copies if hops is not None}
        self.deliveries, self._changes = [], ([], [])
        self._dropped.clear()

    def settle(self) -> list[int]:
        """Return the packets that were lost in the present slot. Only the engine calls this."""
        lost = [
            packet
            for packet in sorted(self._dropped)
            if not self._copies[packet] and packet not in self._delivered
        ]
        self._delivered -= {packet for packet in self._dropped if not self._copies[packet]}
        self.inside -= len(lost)
        return lost

    @property
    def waiting(self) -> int:
        """Packets that have arrived and are neither delivered nor lost."""
        return self.inside

    def keep_journal(self) -> None:
        """Do nothing: what happens in a slot is always recorded."""

    def read_journal(self) -> tuple[list[tuple[int, int]], ...]:
        """Return what was stored, dropped and delivered after the slot, as traces have it."""
        stored, dropped = self._changes
        delivered = ((delivery.destination, delivery.packet) for delivery in self.deliveries)
        return sorted(stored), sorted(dropped), sorted(delivered)

    def _hops_of(self, processor: int, packet: int) -> int | None:
        """Return the hops of a packet that a processor holds, None if it does not."""
        copy = processor * PLACE + packet
        return self._relayed.get(copy, 0 if copy in self._own else None)

    def _hops_to(self, processor: int, packet: int, act: str) -> int:
        """Return the hops of a packet that a processor heard in the last slot."""
        heard, group = self._heard.get(processor, (-1, -1))
        if heard != packet or packet < 0:
            what = f"{act} packet {packet}, which it has not just heard"
            self._refuse(processor, Rule.KEEPS_WHAT_IT_HEARD, what)
        return self._sent[group, packet] + 1

    def possible(self, slot: Slot) -> Slot:
        """Return the slot as processors can execute it: as it is, except after faults."""
        return slot

    def _hear(self, number: int, slot: Slot, messages: I32, inbox: Inbox) -> None:
        """Let receivers store these packets until the next slot. Only the machine calls this."""
        inbox = inbox.at(inbox.kinds == Kind.PACKET)
        heard = zip(inbox.packets.tolist(), inbox.groups.tolist(), strict=True)
        self._heard = dict(zip(inbox.receivers.tolist(), heard, strict=True))

    def _refuse(self, processor: int, rule: Rule, what: str) -> NoReturn:
        raise RuleViolation(self._slot + 1, processor, rule, what)


def _pairs(processors: Ints, packets: Ints) -> list[tuple[int, int]]:
    return list(zip(processors.tolist(), packets.tolist(), strict=True))
