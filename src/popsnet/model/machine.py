"""The machine: it executes slots by the rules, and counts messages and collisions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from popsnet.base.errors import Rule, RuleViolation
from popsnet.model import loops
from popsnet.model.contents import RaggedArray
from popsnet.model.faults import ActiveFaults
from popsnet.model.loops import I32, Bools, first_outside, plain
from popsnet.model.medium import Medium, SlotArrays, SlotOutcome, make_medium
from popsnet.model.memory import FaultTolerance, Memory, VisitMarks, require_distinct
from popsnet.model.network import Network
from popsnet.model.slot import NO_PACKET, PACKET, Inbox, Ints, Kind, Slot


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
        memory = (FaultTolerance if tolerant else Memory)(network, own, buffers, start)
        if isinstance(memory, FaultTolerance):
            memory._faults = faults
        self._begin(make_medium(network, faults), memory)

    @classmethod
    def of(cls, medium: Medium, memory: Any) -> Machine:
        """Return a machine with a medium and a memory of any kind."""
        machine = object.__new__(cls)
        machine._begin(medium, memory)
        return machine

    def _begin(self, medium: Medium, memory: Memory) -> None:
        self.network, self.medium, self.memory = medium.network, medium, memory
        self.executed: Slot | None = None
        self.counters = Counters()
        self._seen = VisitMarks(self.network.n)

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
        slot = self.executed = self.memory.without_missing_packets(slot)
        arrays = SlotArrays.of(slot)
        self._check(number, slot, arrays)
        outcome = self.medium.transmit(number, slot, arrays)
        if slot.conflict_free and outcome.destroyed and not self.memory.tolerant:
            raise self.medium.conflict(number, slot)
        self._count(slot, outcome)
        inbox = self._inbox(slot, arrays, outcome.listeners, outcome.messages)
        self.memory._hear(number, slot, outcome.messages, inbox)
        return inbox

    def _check(self, number: int, slot: Slot, arrays: SlotArrays) -> None:
        only = slot.kind if isinstance(slot.kind, Kind) else None
        if slot.fanout is not None or only is None or not self._obeys(arrays, only):
            self._check_senders(number, slot)
            groups, rule = slot.listened, Rule.ONE_LISTENED
            self._check_ends(number, slot.listeners, groups, slot.listeners, rule, "it listens")
        for values, processors, what in (
            (slot.send_wavelengths, slot.senders, "it sends on wavelength"),
            (slot.listen_wavelengths, slot.listeners, "it listens to wavelength"),
        ):
            if values is not None:
                bound = self.network.wavelengths
                _require_range(number, values, processors, bound, Rule.WAVELENGTH_EXISTS, what)
        _require_bits(number, slot)

    def _count(self, slot: Slot, outcome: SlotOutcome) -> None:
        self.counters.slots += 1
        self.counters.messages += len(slot.senders)
        self.counters.collisions += outcome.collided
        self.counters.destroyed += outcome.destroyed
        self.counters.unheard += outcome.unheard
        self.counters.control_bits = max(self.counters.control_bits, slot.control_bits)

    def _inbox(self, slot: Slot, arrays: SlotArrays, at: I32, messages: I32) -> Inbox:
        _, _, sent, listeners, listened = arrays
        numbers = sent if slot.packets is None else slot.packets
        receivers, groups, packets, destinations = np.empty((4, len(at)), np.int32)
        heard = receivers, groups, packets, destinations
        loops.receive(listeners, listened, sent, self.memory._destination, at, messages, *heard)
        if isinstance(slot.kind, Kind):
            kinds: Ints = np.empty(len(messages), dtype=np.int8)
            kinds.fill(int(slot.kind))
            if slot.kind is not PACKET:
                destinations.fill(NO_PACKET)
        else:
            kinds = slot.kind[messages]
            destinations[kinds != PACKET] = NO_PACKET
        return Inbox(
            receivers=receivers.astype(slot.listeners.dtype, copy=False),
            groups=groups.astype(slot.listened.dtype, copy=False),
            kinds=kinds,
            packets=packets.astype(numbers.dtype, copy=False),
            destinations=destinations,
            contents=None if slot.contents is None else slot.contents[messages],
            wavelengths=None if slot.listen_wavelengths is None else slot.listen_wavelengths[at],
        )

    def _obeys(self, arrays: SlotArrays, only: Kind) -> bool:
        """Check messages of one kind in one pass, and return whether they break no rule."""
        g, count = self.network.g, len(self.memory._destination)
        senders, groups, packets, listeners, listened = arrays
        sent = loops.may_send(*self._seen.next(), senders, groups, packets, g, NO_PACKET, count)
        if not sent or (only is PACKET and not self.memory.hold_all(senders, packets)):
            return False
        return loops.may_listen(*self._seen.next(), listeners, listened, g)

    def _check_senders(self, number: int, slot: Slot) -> None:
        is_packet: Bools = slot.kinds == Kind.PACKET
        owners = None if slot.fanout is None else slot.owners
        senders, packets = slot.senders, slot.packet_numbers
        by = senders if owners is None else senders[owners]
        self._check_ends(number, senders, slot.groups, by, Rule.ONE_MESSAGE, "it sends")
        if owners is not None:
            _require_sets(number, slot, owners, self.network.g)
        what = "it sends packet"
        count = len(self.memory._destination)
        _require_range(number, packets, senders, count, Rule.PACKET_EXISTS, what, low=NO_PACKET)
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

    def _check_ends(
        self, number: int, processors: Ints, groups: Ints, by: Ints, once: Rule, does: str
    ) -> None:
        """Check processors that send or listen, and the groups, each with the one it is of."""
        n, g = self.network.n, self.network.g
        _require_range(number, processors, processors, n, Rule.PROCESSOR_EXISTS, does)
        require_distinct(number, processors, n, once, f"{does} twice")
        _require_range(number, groups, by, g, Rule.GROUP_EXISTS, f"{does} to group")


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
    contents, shares = slot.contents, slot.bits
    if shares is None or contents is None or not contents.size:
        return
    messages, numbers = None, contents
    if isinstance(contents, RaggedArray):
        messages, numbers = contents.flatten()
    if isinstance(shares, int):
        shares = (shares // slot.numbers_per_message,) * slot.numbers_per_message
    numbers = numbers.reshape(-1, len(shares))
    if not numbers.size:
        return
    if int(numbers.min()) >= 0 and int(numbers.max()).bit_length() <= min(shares):
        return
    unfit = numbers < 0
    for column, share in enumerate(shares):
        if share < 8 * numbers.dtype.itemsize:  # a larger shift is undefined
            unfit[:, column] |= numbers[:, column] >> share != 0
    if unfit.any():
        row, column = np.argwhere(unfit)[0]
        detail = f"it sends {numbers[row, column]} where there are {shares[column]} bits for it"
        sender = slot.senders[row if messages is None else messages[row]]
        raise RuleViolation(number, int(sender), Rule.BITS, detail)
