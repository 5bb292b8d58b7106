"""The machine: executes one slot by the rules and counts what happens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.couplers import Couplers, Light
from popsnet.errors import Rule, RuleViolation
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.slot import NO_PACKET, Inbox, Ints, Kind, Slot, first_repeat

__all__ = ["Counters", "Machine"]


@dataclass(slots=True)
class Counters:
    """What happened so far."""

    slots: int = 0
    messages: int = 0
    """Messages sent; a multicast is one message."""
    collisions: int = 0
    """Couplers hit by two or more messages, summed over slots."""
    destroyed: int = 0
    """Arrivals of messages at such couplers."""


class Machine:
    """A POPS network with one packet a processor, executing slots.

    Every rule of the model is checked for every slot before anything moves, and a broken one
    raises :class:`RuleViolation`. Time and memory of a slot are linear in the messages sent
    and the processors that listen, after O(n + min(g², n)) once.
    """

    def __init__(self, network: Network, destination: Ints, buffers: int) -> None:
        self.network = network
        self._destination = np.array(destination, dtype=np.int32)  # its own: routers see another
        self.memory = Memory(network, self._destination, buffers)
        self.counters = Counters()
        self._couplers = Couplers(network)

    def execute(self, slot: Slot) -> Inbox:
        """Let everybody send and listen at once; return what was heard."""
        number = self.counters.slots + 1
        owners = slot.owners
        self._check_senders(number, slot, owners)
        self._check_listeners(number, slot)
        d = self.network.d
        light = self._couplers.carry(
            to=slot.groups,
            sent_by=(slot.senders // d)[owners],
            listening_in=slot.listeners // d,
            listened=slot.listened,
        )
        if slot.conflict_free and light.destroyed:
            sender = int(slot.senders[owners[light.victim]])
            detail = f"its message to group {slot.groups[light.victim]} met another"
            raise RuleViolation(number, sender, Rule.CONFLICT_FREE, detail)
        self._count(slot, light)
        inbox = self._inbox(slot, light.listeners, owners[light.heard])
        self.memory._hear(number, inbox)
        return inbox

    def _count(self, slot: Slot, light: Light) -> None:
        self.counters.slots += 1
        self.counters.messages += len(slot.senders)
        self.counters.collisions += light.collided
        self.counters.destroyed += light.destroyed

    def _inbox(self, slot: Slot, listeners: Ints, messages: Ints) -> Inbox:
        kinds = slot.kinds[messages]
        packets = slot.packet_numbers[messages]
        return Inbox(
            receivers=slot.listeners[listeners],
            groups=slot.listened[listeners],
            kinds=kinds,
            packets=packets,
            destinations=self._destinations(kinds, packets),
            contents=None if slot.contents is None else slot.contents[messages],
        )

    def _destinations(self, kinds: Ints, packets: Ints) -> Ints:
        carried = np.full(len(packets), NO_PACKET, dtype=np.int32)
        is_packet = kinds == Kind.PACKET
        carried[is_packet] = self._destination[packets[is_packet]]
        return carried

    def _check_senders(self, number: int, slot: Slot, owners: Ints) -> None:
        n, g = self.network.n, self.network.g
        senders, groups, packets = slot.senders, slot.groups, slot.packet_numbers
        _require_range(number, senders, senders, n, Rule.PROCESSOR_EXISTS, "it sends")
        _require_distinct(number, senders, n, Rule.ONE_MESSAGE, "it sends twice")
        by = senders[owners]
        _require_range(number, groups, by, g, Rule.GROUP_EXISTS, "it sends to group")
        if slot.fanout is not None:
            _require_sets(number, slot, owners, g)
        named = packets != NO_PACKET
        what = "it sends packet"
        _require_range(number, packets[named], senders[named], n, Rule.PACKET_EXISTS, what)
        is_packet = slot.kinds == Kind.PACKET
        unnamed = is_packet & ~named
        if unnamed.any():
            sender = int(senders[np.argmax(unnamed)])
            detail = "it sends a packet message that names none"
            raise RuleViolation(number, sender, Rule.PACKET_EXISTS, detail)
        missing = ~self.memory.holds(senders[is_packet], packets[is_packet])
        if missing.any():
            first = int(np.argmax(missing))
            sender, packet = int(senders[is_packet][first]), int(packets[is_packet][first])
            detail = f"it sends packet {packet}, which it does not hold"
            raise RuleViolation(number, sender, Rule.SENDS_WHAT_IT_HOLDS, detail)

    def _check_listeners(self, number: int, slot: Slot) -> None:
        n, g = self.network.n, self.network.g
        listeners, listened = slot.listeners, slot.listened
        _require_range(number, listeners, listeners, n, Rule.PROCESSOR_EXISTS, "it listens")
        _require_distinct(number, listeners, n, Rule.ONE_LISTENED, "it listens twice")
        _require_range(number, listened, listeners, g, Rule.GROUP_EXISTS, "it listens to group")


def _require_range(
    slot: int, values: Ints, processors: Ints, bound: int, rule: Rule, what: str
) -> None:
    """All values lie in [0, bound); the processor at the first that does not is to blame."""
    if len(values) and (values.min() < 0 or values.max() >= bound):
        first = int(np.argmax((values < 0) | (values >= bound)))
        detail = f"{what} {values[first]}, of {bound}" if values is not processors else what
        raise RuleViolation(slot, int(processors[first]), rule, detail)


def _require_distinct(slot: int, processors: Ints, n: int, rule: Rule, detail: str) -> None:
    twice = first_repeat(processors, n)
    if twice is not None:
        raise RuleViolation(slot, twice, rule, detail)


def _require_sets(slot: int, multicast: Slot, owners: Ints, g: int) -> None:
    """Every multicast names at least one group, and none of them twice."""
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
