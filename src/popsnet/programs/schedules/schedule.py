"""Schedules: senders, listeners and packets of every slot, as arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.report import Plotted
from popsnet.model.coins import Coins
from popsnet.model.loops import plain
from popsnet.model.memory import Memory
from popsnet.model.network import I32, I64, Bools, Network
from popsnet.model.slot import Ints, Slot, SlotOptions, Slots
from popsnet.programs.schedules.demand import Demand

STRAIGHT = -1
"""Stands for the relay of a packet that has none."""

HOME = -1
"""Stands for the slots of a packet that starts at its destination, and is not sent."""


class Paths(NamedTuple):
    """How and when each packet of a demand is sent."""

    relay: I32
    """The processor that relays the packet, or :data:`STRAIGHT`."""
    first: I32
    """The slot of its first hop, from 0, or :data:`HOME` if it is not sent."""
    final: I32
    """The slot of its last hop, which is the first one if it has no relay."""
    slots: int
    """The number of slots."""

    @classmethod
    def straight(cls, slots: I32) -> Paths:
        """Return the paths of packets that go straight in these slots."""
        return cls(np.full_like(slots, STRAIGHT), slots, slots, int(slots.max(initial=HOME)) + 1)


class Hops(NamedTuple):
    """The hops of packets, in any order: an entry per hop in each array."""

    slots: I32
    """The slot of each hop, from 0."""
    senders: I32
    listeners: I32
    packets: I32
    from_relay: Bools
    to_relay: Bools

    @classmethod
    def of_paths(cls, demand: Demand, packets: I32, relay: I32, first: I32, final: I32) -> Hops:
        """Return the hops of packets with at most one relay each: first ones, then others."""
        source, destination = plain(demand.source[packets]), plain(demand.destination[packets])
        two = relay >= 0
        to = np.where(two, relay, destination)
        direct = cls(first, source, to, packets, np.zeros_like(two), two)
        last = cls(final, relay, destination, packets, two, np.zeros_like(two))
        return cls.joined([direct, last.at(two)])

    @classmethod
    def joined(cls, parts: Iterable[Hops]) -> Hops:
        """Return all hops of several of these."""
        return cls(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def at(self, rows: Any) -> Hops:
        """Return some of the hops, in the order of these numbers."""
        return Hops._make(column[rows] for column in self)


class Messages(NamedTuple):
    """The messages of one slot: an entry per message in each array."""

    senders: I32
    listeners: I32
    packets: I32
    from_relay: Bools
    """Whether the sender relays the packet."""
    to_relay: Bools
    """Whether the listener relays the packet; if not, it is the destination."""
    phase: str
    """Where they go: to relays, to destinations, or to both."""


TO_RELAY, TO_DESTINATION, TO_BOTH = "to relay", "to destination", "to relay or destination"
"""The phases of slots."""


@dataclass(frozen=True, slots=True, eq=False)
class Schedule(Plotted):
    """A collision-free schedule: who sends which packet to whom in every slot.

    A packet takes one slot to its destination, or two through a relay, or more around dead parts.
    Every message has one listener, so the coupler follows: it leads from the sender's group to the
    listener's. With several wavelengths the messages of a coupler have wavelengths 0, 1, … in
    order.

    The arrays are read-only, since a schedule may be shared.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules import schedule_permutation
    >>> schedule = schedule_permutation(Network(1, 3), np.array([1, 2, 0]))
    >>> senders, listeners, packets = schedule.transmissions(0)
    >>> listeners[np.argsort(senders)].tolist()
    [1, 2, 0]
    """

    _draw = "draw_schedule"

    network: Network
    messages: tuple[Messages, ...]
    """The messages of every slot."""
    nbytes: int
    """The memory of the arrays in bytes."""
    home: tuple[I32, I32]
    """The processors and packets of those that start at their destinations, and are not sent."""
    in_rounds: bool
    """Whether a relay has at most one packet of the schedule, and sends it in the next slot."""

    @classmethod
    def of_rounds(cls, demand: Demand, rounds: I32, relays: I32 | None, count: int) -> Schedule:
        """Make a schedule of rounds, each of which delivers its packets.

        Packet p goes in round ``rounds[p]``, through ``relays[p]``. Without relays a round is one
        slot, and otherwise two.
        """
        order, bounds = grouped(rounds, count)
        stops = [demand.source, *([] if relays is None else [relays]), demand.destination]
        ends, messages = [plain(stop[order]) for stop in stops], []
        for array in (order, *ends):
            array.flags.writeable = False
        for begin, end in pairwise(bounds.tolist()):
            rows, last = slice(begin, end), len(ends) - 2
            no, yes = (np.broadcast_to(np.bool_(value), end - begin) for value in (False, True))
            for hop, (by, to) in enumerate(pairwise(ends)):
                relayed = yes if hop else no, no if hop == last else yes
                phase = TO_DESTINATION if hop == last else TO_RELAY
                messages.append(Messages(by[rows], to[rows], order[rows], *relayed, phase))
        nbytes = order.nbytes + sum(column.nbytes for column in ends)
        return cls(demand.network, tuple(messages), nbytes, (NOTHING, NOTHING), in_rounds=True)

    @classmethod
    def of_paths(cls, demand: Demand, paths: Paths) -> Schedule:
        """Make a schedule in which every packet has its own path and slots."""
        sent, home = np.flatnonzero(paths.first != HOME), np.flatnonzero(paths.first == HOME)
        columns = (plain(column[sent]) for column in paths[:3])
        hops = Hops.of_paths(demand, plain(sent), *columns)
        hops = hops.at(np.argsort(hops.packets, kind="stable"))
        return cls.of_hops(demand, hops, plain(home), paths.slots)

    @classmethod
    def of_hops(cls, demand: Demand, hops: Hops, home: I32, slots: int) -> Schedule:
        """Make a schedule of paths with any number of hops.

        ``home`` has the packets that start at their destinations.
        """
        order, bounds = grouped(hops.slots, slots)
        _, *rows = hops.at(order)
        for array in rows:
            array.flags.writeable = False
        messages = []
        for begin, end in pairwise(bounds.tolist()):
            columns = [array[begin:end] for array in rows]
            relayed = np.count_nonzero(columns[-1])
            some = TO_RELAY if relayed == end - begin else TO_BOTH
            phase = some if relayed else TO_DESTINATION
            messages.append(Messages._make([*columns, phase]))
        at_home = plain(demand.source[home]), home
        nbytes = sum(array.nbytes for array in (*rows, *at_home))
        return cls(demand.network, tuple(messages), nbytes, at_home, in_rounds=False)

    def hops(self) -> Hops:
        """Return the hops of all packets, ordered by slot."""
        if not self.messages:
            return NO_HOPS
        sizes = [len(messages.packets) for messages in self.messages]
        slots = np.repeat(np.arange(self.slots, dtype=np.int32), sizes)
        columns = list(zip(*self.messages, strict=True))[:5]
        return Hops(slots, *map(np.concatenate, columns))

    def renumbered(self, numbers: I32) -> Schedule:
        """Return the same schedule with ``numbers[p]`` in place of packet p."""
        messages = tuple(slot._replace(packets=numbers[slot.packets]) for slot in self.messages)
        return replace(self, messages=messages, home=(self.home[0], numbers[self.home[1]]))

    @property
    def slots(self) -> int:
        """The number of slots."""
        return len(self.messages)

    @property
    def packets(self) -> int:
        """The number of packets."""
        arrived = sum(int(np.count_nonzero(~slot.to_relay)) for slot in self.messages)
        return arrived + len(self.home[1])

    @property
    def relayed(self) -> int:
        """The number of packets that take two hops or more."""
        first = (slot.to_relay & ~slot.from_relay for slot in self.messages)
        return sum(int(np.count_nonzero(hops)) for hops in first)

    def transmissions(self, slot: int) -> tuple[I32, I32, I32]:
        """Return senders, listeners and packets of a slot, counted from 0."""
        return self.messages[slot][:3]

    def wavelengths(self, slot: int) -> I32:
        """Return the wavelength of each message of a slot: the messages before it on its coupler.

        Parameters
        ----------
        slot : int
            The slot, counted from 0.

        Returns
        -------
        array of int
            Numbers from 0 to W - 1, as in :meth:`transmissions`.
        """
        senders, listeners, _ = self.transmissions(slot)
        couplers = self.network.coupler(self.network.group(listeners), self.network.group(senders))
        used, places = np.unique(couplers, return_inverse=True)
        return ranks(places.astype(np.int32), len(used))

    def slot(self, number: int, held: Ints | None = None, of: str = "", step: int = 0) -> Slot:
        """Return a slot, counted from 0, as the machine executes it.

        A schedule made for one permutation can carry other packets: ``held[i]`` is the packet to
        send in place of packet i. ``of`` is put before the name of the phase, and ``step`` is the
        step that the slot belongs to.
        """
        senders, listeners, packets, _, _, phase = self.messages[number]
        tuned = self.wavelengths(number) if self.network.wavelengths > 1 else None
        options = SlotOptions(send_wavelengths=tuned, listen_wavelengths=tuned, conflict_free=True)
        options |= {"phase": of + phase, "step": step}
        group, sent = self.network.group, packets if held is None else held[packets]
        listening = listeners, group(senders)
        return Slot.send_packets(senders, group(listeners), listening, packets=sent, **options)

    def follow(self, memory: Memory, informed: Bools | None = None) -> Slots:
        """Yield all slots in turn; senders drop their packets and listeners store them.

        Only processors that are ``informed`` of the schedule take part, by default all.
        """
        deliver_home(memory, *self.home)
        for number, (senders, listeners, packets, _, to_relay, phase) in enumerate(self.messages):
            slot = self.slot(number)
            if informed is not None:
                slot = slot.only(informed[slot.senders], informed[slot.listeners])
            yield slot
            sent = slice(None) if informed is None else informed[senders]
            memory.drop(senders[sent], packets[sent])
            if phase == TO_BOTH:
                memory.store(listeners[to_relay], packets[to_relay])
                memory.deliver(listeners[~to_relay], packets[~to_relay])
            elif phase == TO_RELAY:
                memory.store(listeners, packets)
            else:
                memory.deliver(listeners, packets)

    def route(self, network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        """Run the schedule as a router."""
        return self.follow(memory)

    def slots_with_propagation(self, tau: int) -> int:
        """Return the slots until the last packet is heard, if messages arrive ``tau`` slots later.

        A schedule is known beforehand, so a slot waits only for packets that it relays. One hop
        takes τ more. Rounds of two slots send all first hops before all second hops: see
        ``pipelined_rounds``. In other schedules the slots keep their order, and each is sent as
        soon as what it relays has arrived.

        Parameters
        ----------
        tau : int
            The slots of propagation, at least 0.

        Examples
        --------
        >>> import numpy as np
        >>> from popsnet import Network
        >>> from popsnet.programs.schedules import schedule_permutation
        >>> schedule = schedule_permutation(Network(4, 2), np.arange(8)[::-1])
        >>> schedule.slots, schedule.slots_with_propagation(0), schedule.slots_with_propagation(3)
        (4, 4, 9)
        """
        if not self.slots:
            return 0
        if self.in_rounds and self.relayed:
            return int(pipelined_rounds(self.slots // 2, tau))
        heard, at = np.zeros(1 + self.hops().packets.max(initial=-1), np.int64), -1
        for slot in self.messages:
            relayed = heard[slot.packets[slot.from_relay]]
            at = max(at + 1, int(relayed.max(initial=0)))
            heard[slot.packets] = at + 1 + tau
        return at + 1 + tau

    def peak_buffers(self, sources: Ints) -> int:
        """Return the most packets that a processor holds at once, if they start at ``sources``."""
        held = np.bincount(sources, minlength=self.network.n)
        peak = int(held.max())
        for senders, listeners, *_ in self.messages:
            peak = max(peak, _move(held, senders, listeners))
        return peak


NOTHING = np.empty(0, dtype=np.int32)
NO_HOPS = Hops(*(NOTHING,) * 4, *(NOTHING.astype(np.bool_),) * 2)


def pipelined_rounds(rounds: float, tau: int) -> float:
    """Return the slots of rounds of two slots, if messages arrive ``tau`` slots later.

    All first hops are sent before all second hops, which keep their order. The second hop of round
    r waits for the first, so it is sent max(rounds, 1 + τ) slots later, and arrives after τ more.
    A relay holds up to one packet per round instead of one.

    Parameters
    ----------
    rounds : float
        The rounds, or their mean.
    tau : int
        The slots of propagation.

    Examples
    --------
    >>> pipelined_rounds(4, tau=0), pipelined_rounds(4, tau=3), pipelined_rounds(1, tau=3)
    (8, 11, 8)
    """
    return rounds + max(rounds, 1 + tau) + tau


class PacketOrder(NamedTuple):
    """Packets ordered by slot or round, and where each of these begins."""

    packets: I32
    bounds: I64


def grouped(numbers: Ints, count: int) -> PacketOrder:
    """Order packets by their numbers, which are below ``count``."""
    bounds = np.concatenate(([0], np.cumsum(np.bincount(numbers, minlength=count))))
    small = numbers.astype(np.uint16) if count <= 2**16 else numbers  # sorted by digits, in O(m)
    return PacketOrder(np.argsort(small, kind="stable").astype(np.int32), bounds)


def deliver_home(memory: Memory, processors: I32, packets: I32) -> None:
    """Deliver packets that start at their destinations, one of each processor at a time."""
    turn = ranks(processors, int(processors.max(initial=-1)) + 1)
    for number in range(int(turn.max(initial=-1)) + 1):
        memory.deliver(processors[turn == number], packets[turn == number])


@compiled
def ranks(keys: I32, bound: int) -> I32:
    """Count for each entry the equal entries before it."""
    seen, ranks = np.zeros(bound, dtype=np.int32), np.empty_like(keys)
    for k in range(len(keys)):
        ranks[k] = seen[keys[k]]
        seen[keys[k]] += 1
    return ranks


@compiled
def _move(held: I64, senders: I32, listeners: I32) -> int:
    """Move the packets of a slot and return the most that a listener then holds."""
    peak = 0
    for k in range(len(senders)):
        held[senders[k]] -= 1
    for k in range(len(listeners)):
        held[listeners[k]] += 1
        peak = max(peak, held[listeners[k]])
    return peak
