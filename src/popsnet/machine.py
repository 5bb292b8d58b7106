"""The machine: it executes slots by the rules, and counts messages and collisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.couplers import Couplers, Transmitted
from popsnet.errors import Rule, RuleViolation
from popsnet.faults import ActiveFaults
from popsnet.memory import Memory, Seen, differ, first_outside, first_repeat, inside, plain
from popsnet.network import I32, Network
from popsnet.slot import NO_PACKET, Inbox, Ints, Kind, Slot
from popsnet.tolerance import TolerantMemory

Bools = npt.NDArray[np.bool_]

_PACKET = Kind.PACKET  # members of an Enum are slow to look up


@dataclass
class Counters:
    """What a machine has counted so far."""

    slots: int = 0
    messages: int = 0
    """Messages sent. A multicast is one message."""
    collisions: int = 0
    """Couplers with two or more messages on one wavelength, summed over slots and wavelengths."""
    destroyed: int = 0
    """Messages that arrived at such couplers."""
    control_bits: int = 0
    """The largest number of bits in a message, not counting the packet that it may carry."""
    unheard: int = 0
    """Messages that faults kept from a listener, counted once per listener."""


class Machine:
    """A POPS network with its packets, which executes slots.

    Every rule of the model is checked for every slot before anything moves.

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
    faults : ActiveFaults, optional
        What does not work. By default everything does.
    tolerant : bool
        Skip and count what a processor cannot do because it missed a message, instead of refusing
        it: packets that it does not hold are not sent, stored, dropped or delivered. A slot that
        is declared free of conflicts may then have conflicts.

    Attributes
    ----------
    network : Network
        The network.
    memory : Memory
        The packets that each processor holds.
    counters : Counters
        Slots, messages and collisions so far.
    executed : Slot
        The last slot as it was executed, without what a tolerant machine skipped.

    Notes
    -----
    Time and memory of a slot are linear in the messages sent and the processors that listen,
    after O(n + min(g², n)) once.

    Examples
    --------
    Processor 0 of POPS(2, 2) sends its packet to group 1, where processor 3 listens.

    >>> import numpy as np
    >>> from popsnet import Machine, Network, Slot
    >>> machine = Machine(Network(2, 2), np.array([3, 1, 2, 0]), buffers=2)
    >>> listening = np.array([3]), np.array([0])
    >>> inbox = machine.execute(Slot.send_packets(np.array([0]), np.array([1]), listening))
    >>> inbox.receivers, inbox.packets, inbox.destinations
    (array([3]), array([0]), array([3], dtype=int32))
    >>> machine.memory.deliver(inbox.receivers, inbox.packets)
    >>> machine.memory.delivered, machine.counters.messages
    (1, 1)
    """

    memory: Memory

    def __init__(
        self,
        network: Network,
        destination: Ints,
        buffers: int,
        start: Ints | None = None,
        *,
        faults: ActiveFaults | None = None,
        tolerant: bool = False,
    ) -> None:
        own = np.array(destination, dtype=np.int32)  # routers see another array
        memory = (TolerantMemory if tolerant else Memory)(network, own, buffers, start)
        if isinstance(memory, TolerantMemory):
            memory.faults = faults
        self._begin(network, memory, faults)

    @classmethod
    def of_memory(
        cls, network: Network, memory: Any, faults: ActiveFaults | None = None
    ) -> Machine:
        """Return a machine with a memory of another kind, in which packets come and go."""
        machine = object.__new__(cls)
        machine._begin(network, memory, faults)
        return machine

    def _begin(self, network: Network, memory: Memory, faults: ActiveFaults | None) -> None:
        self.network, self.memory, self.faults = network, memory, faults
        self.executed: Slot | None = None
        self.counters = Counters()
        self._couplers = Couplers(network)
        self._seen = Seen(network.n)

    def execute(self, slot: Slot) -> Inbox:
        """Execute one slot and return what was received.

        Parameters
        ----------
        slot : Slot
            What every processor sends and listens to.

        Returns
        -------
        Inbox
            One row for each processor that received a message.

        Raises
        ------
        RuleViolation
            If the slot breaks a rule of the model.
        """
        number = self.counters.slots + 1
        slot = self.executed = self.memory.possible(slot)
        owners = None if slot.fanout is None else slot.owners
        only = slot.kind if isinstance(slot.kind, Kind) else None
        if owners is not None or only is None or not self._obeys(slot, only):
            self._check_senders(number, slot, owners, slot.kinds == Kind.PACKET)
            self._check_listeners(number, slot)
        tuned = slot.send_wavelengths is not None or slot.listen_wavelengths is not None
        if tuned:
            self._check_wavelengths(number, slot)
        _require_bits(number, slot)
        sent = slot if self.faults is None else self._reaching(number, slot, self.faults)
        if sent is not slot:
            owners = None if sent.fanout is None else sent.owners
        by = sent.senders if owners is None else sent.senders[owners]
        carried = self._couplers.carry(
            plain(by), plain(sent.groups), plain(slot.listeners), plain(slot.listened),
            _wavelengths(sent, owners) if tuned else None,
        )  # fmt: skip
        if slot.conflict_free and carried.destroyed and not self.memory.tolerant:
            couplers = self.network.coupler(sent.groups, by // self.network.d)
            if tuned:
                couplers = couplers * self.network.wavelengths + _wavelengths(sent, owners)[0]
            victim = _first_met(couplers)
            detail = f"its message to group {sent.groups[victim]} met another"
            raise RuleViolation(number, int(by[victim]), Rule.CONFLICT_FREE, detail)
        self._count(slot, carried)
        at, messages = carried.listeners, carried.heard
        if self.faults is not None:
            wavelengths = slot.listen_wavelengths
            wavelengths = None if wavelengths is None else wavelengths[at]
            hears = self.faults.hear(number, slot.listeners[at], slot.listened[at], wavelengths)
            self.counters.unheard += int(len(at) - hears.sum())
            at, messages = at[hears], messages[hears]
        messages = messages if owners is None else plain(owners[messages])
        inbox = self._inbox(sent, at, messages)
        self.memory._hear(number, inbox, only)
        return inbox

    def _reaching(self, number: int, slot: Slot, faults: ActiveFaults) -> Slot:
        """Return the slot with the messages whose transmitters work."""
        works = faults.send(number, slot.senders)
        return slot if works is None or works.all() else slot.only(sending=works)

    def _count(self, slot: Slot, carried: Transmitted) -> None:
        self.counters.slots += 1
        self.counters.messages += len(slot.senders)
        self.counters.collisions += carried.collided
        self.counters.destroyed += carried.destroyed
        self.counters.control_bits = max(self.counters.control_bits, slot.control_bits)

    def _inbox(self, slot: Slot, at: I32, messages: I32) -> Inbox:
        listeners, listened, sent = map(plain, (slot.listeners, slot.listened, slot.packet_numbers))
        receivers, groups, packets, destinations = (np.empty(len(at), np.int32) for _ in range(4))
        heard = receivers, groups, packets, destinations
        _hear(listeners, listened, sent, self.memory._destination, at, messages, *heard)
        if isinstance(slot.kind, Kind):
            kinds: Ints = np.full(len(messages), slot.kind, dtype=np.int8)
            if slot.kind is not _PACKET:
                destinations.fill(NO_PACKET)
        else:
            kinds = slot.kind[messages]
            destinations[kinds != _PACKET] = NO_PACKET
        return Inbox(
            receivers=receivers.astype(slot.listeners.dtype, copy=False),
            groups=groups.astype(slot.listened.dtype, copy=False),
            kinds=kinds,
            packets=packets.astype(slot.packet_numbers.dtype, copy=False),
            destinations=destinations,
            contents=None if slot.contents is None else slot.contents[messages],
            wavelengths=None if slot.listen_wavelengths is None else slot.listen_wavelengths[at],
        )

    def _obeys(self, slot: Slot, only: Kind) -> bool:
        """Check messages of one kind in one pass, and return whether they break no rule."""
        g, there = self.network.g, len(self.memory._destination)
        senders, packets = plain(slot.senders), plain(slot.packet_numbers)
        sent = _may_send(
            *self._seen.next(), senders, plain(slot.groups), packets, g, NO_PACKET, there
        )
        if not sent or (only is _PACKET and not self.memory.hold_all(senders, packets)):
            return False
        return _may_listen(*self._seen.next(), plain(slot.listeners), plain(slot.listened), g)

    def _check_senders(
        self, number: int, slot: Slot, owners: Ints | None, is_packet: Bools
    ) -> None:
        n, g = self.network.n, self.network.g
        senders, groups, packets = slot.senders, slot.groups, slot.packet_numbers
        _require_range(number, senders, senders, n, Rule.PROCESSOR_EXISTS, "it sends")
        _require_distinct(number, senders, n, Rule.ONE_MESSAGE, "it sends twice")
        by = senders if owners is None else senders[owners]
        _require_range(number, groups, by, g, Rule.GROUP_EXISTS, "it sends to group")
        if owners is not None:
            _require_sets(number, slot, owners, g)
        what = "it sends packet"
        there = len(self.memory._destination)
        _require_range(number, packets, senders, there, Rule.PACKET_EXISTS, what, low=NO_PACKET)
        if not is_packet.all():
            senders, packets = senders[is_packet], packets[is_packet]
        missing = ~self.memory.holds(senders, packets)
        if not missing.any():
            return
        unnamed = packets == NO_PACKET
        if unnamed.any():
            sender = int(senders[np.argmax(unnamed)])
            detail = "it sends a packet message that names no packet"
            raise RuleViolation(number, sender, Rule.PACKET_EXISTS, detail)
        first = int(np.argmax(missing))
        detail = f"it sends packet {packets[first]}, which it does not hold"
        raise RuleViolation(number, int(senders[first]), Rule.SENDS_WHAT_IT_HOLDS, detail)

    def _check_listeners(self, number: int, slot: Slot) -> None:
        n, g = self.network.n, self.network.g
        listeners, listened = slot.listeners, slot.listened
        _require_range(number, listeners, listeners, n, Rule.PROCESSOR_EXISTS, "it listens")
        _require_distinct(number, listeners, n, Rule.ONE_LISTENED, "it listens twice")
        _require_range(number, listened, listeners, g, Rule.GROUP_EXISTS, "it listens to group")

    def _check_wavelengths(self, number: int, slot: Slot) -> None:
        for name, processors, what in (
            ("send_wavelengths", slot.senders, "it sends on wavelength"),
            ("listen_wavelengths", slot.listeners, "it listens to wavelength"),
        ):
            values, bound = getattr(slot, name), self.network.wavelengths
            if values is not None:
                _require_range(number, values, processors, bound, Rule.WAVELENGTH_EXISTS, what)


def machine_bytes(buffers: int) -> int:
    """Return the memory of a machine per processor, without a table of couplers.

    These are its destinations and the loops it was seen in (two numbers), and those of its couplers
    (two) and of its memory: buffers, what was heard and when (two), in which loop it was seen, and
    whether its packet has arrived (a byte).
    """
    return 4 * (2 + 2 + buffers + 2 + 1) + 1


def _require_range(
    slot: int, values: Ints, processors: Ints, bound: int, rule: Rule, what: str, low: int = 0
) -> None:
    """Require all values to lie in [low, bound), or blame the processor of the first outside."""
    first = first_outside(plain(values), low, bound)
    if first >= 0:
        detail = what if rule is Rule.PROCESSOR_EXISTS else f"{what} {values[first]}, of {bound}"
        raise RuleViolation(slot, int(processors[first]), rule, detail)


def _require_distinct(slot: int, processors: Ints, n: int, rule: Rule, detail: str) -> None:
    twice = first_repeat(plain(processors), n)
    if twice is not None:
        raise RuleViolation(slot, twice, rule, detail)


def _require_sets(slot: int, multicast: Slot, owners: Ints, g: int) -> None:
    """Require that every multicast names at least one group, and none twice."""
    assert multicast.fanout is not None
    if len(multicast.fanout) and multicast.fanout.min() < 1:
        sender = int(multicast.senders[np.argmin(multicast.fanout)])
        raise RuleViolation(slot, sender, Rule.COUPLER_SET, "it sends to no group at all")
    targets = np.sort(owners.astype(np.int64) * g + multicast.groups)
    repeated = targets[1:] == targets[:-1]
    if repeated.any():
        message, group = divmod(int(targets[np.argmax(repeated)]), g)
        sender = int(multicast.senders[message])
        raise RuleViolation(slot, sender, Rule.COUPLER_SET, f"it sends to group {group} twice")


def _require_bits(number: int, slot: Slot) -> None:
    """Require that the contents of every message fit in the bits that the slot gives it."""
    if slot.bits is None or slot.contents is None or not slot.contents.size:
        return
    share = slot.bits // slot.numbers_a_message
    numbers = slot.contents.reshape(len(slot.senders), -1)
    if int(numbers.min()) >= 0 and int(numbers.max()).bit_length() <= share:
        return
    unfit = numbers < 0
    if share < 8 * numbers.dtype.itemsize:  # a larger shift is undefined
        unfit |= numbers >> share != 0
    if unfit.any():
        message, column = np.argwhere(unfit)[0]
        detail = f"it sends {numbers[message, column]} where there are {share} bits for it"
        raise RuleViolation(number, int(slot.senders[message]), Rule.BITS, detail)


def _wavelengths(slot: Slot, owners: Ints | None) -> tuple[I32, I32]:
    """Return the wavelength of every transmission and of every listener."""
    sent, heard = slot.send_wavelengths, slot.listen_wavelengths
    if sent is None:
        sent = np.zeros(len(slot.senders), dtype=np.int32)
    if heard is None:
        heard = np.zeros(len(slot.listeners), dtype=np.int32)
    return plain(sent if owners is None else sent[owners]), plain(heard)


def _first_met(couplers: Ints) -> int:
    """Return the position of the first of two transmissions on one coupler and wavelength."""
    _, firsts, inverse = np.unique(couplers, return_index=True, return_inverse=True)
    before = firsts[inverse]
    return int(before[np.argmax(before < np.arange(len(before)))])


@compiled
def _may_send(
    seen: I32, loop: int, senders: I32, groups: I32, packets: I32, g: int, least: int, there: int
) -> bool:
    """Return whether senders exist and are different, and groups and packets, if any, exist."""
    exist = inside(senders, 0, len(seen)) and inside(groups, 0, g)
    return exist and inside(packets, least, there) and differ(seen, loop, senders)


@compiled
def _may_listen(seen: I32, loop: int, listeners: I32, listened: I32, g: int) -> bool:
    """Return whether listeners exist and are different, and groups exist."""
    exist = inside(listeners, 0, len(seen)) and inside(listened, 0, g)
    return exist and differ(seen, loop, listeners)


@compiled
def _hear(
    listeners: I32, listened: I32, sent: I32, destination: I32, at: I32, messages: I32,
    receivers: I32, groups: I32, packets: I32, destinations: I32,
) -> None:  # fmt: skip
    """Write down which group and packet each receiver hears, and the packet's destination.

    Positions are unsigned, because Numba checks an index that might be negative, and every loop
    gathers from one array.
    """
    for s in range(len(at)):
        receivers[s] = listeners[np.uint32(at[s])]
    for s in range(len(at)):
        groups[s] = listened[np.uint32(at[s])]
    for s in range(len(messages)):
        packets[s] = sent[np.uint32(messages[s])]
    for s in range(len(messages)):
        packet = packets[s]
        destinations[s] = destination[np.uint32(packet)] if packet >= 0 else packet
