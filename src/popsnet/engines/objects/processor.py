"""Packets, messages, couplers, and the processors of any router."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from popsnet.model.coins import Coins
from popsnet.model.network import Network


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet, with its source and its destination."""

    source: int
    destination: int


@dataclass(frozen=True, slots=True)
class Message:
    """A packet, an ack that names a packet, or a control message with a number in it."""

    kind: str
    packet: Packet | None
    number: int = 1
    bits: int = 1
    """The bits of the number. An ack has no contents and counts as one bit."""


class Coupler:
    """Coupler c(b, a), which broadcasts to group b the message that group a sends.

    Two or more messages in a slot destroy each other, and then the listeners hear nothing, as from
    a silent coupler.
    """

    __slots__ = ("messages",)

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        """Put a message on the coupler."""
        self.messages.append(message)

    def propagate(self) -> Message | None:
        """Return what the listeners hear in this slot."""
        return self.messages[0] if len(self.messages) == 1 else None


Order: TypeAlias = tuple[Collection[int], Message]
"""A message and the groups that it is sent to."""


class BufferFull(Exception):
    """A copy arrived while the buffer for copies was in use."""


class Processor:
    """Processor i of a POPS(g, g).

    It knows d, g, its number, the destination of its own packet and its own coins, and what it
    hears. It has three buffers: ``original`` for the packet that it sends, ``floating`` for a
    copy of another packet on its way, and ``received`` for the packet that is meant for it.

    Every slot of a step has three methods: what to send and to which groups (``send``), which
    group to listen to (``listen``), and what to do with a message that was heard (``hear``).
    """

    def __init__(self, network: Network, number: int, destination: int, coins: Coins) -> None:
        self.network = network
        self.number = number
        self.group = number // network.d
        self.coins = coins
        self.original: Packet | None = Packet(number, destination)
        self.floating: Packet | None = None
        self.received: Packet | None = None
        self.begin(0)

    def begin(self, step: int) -> None:
        """Begin a step."""
        self.step = step

    @property
    def residue(self) -> int:
        """The group that this processor listens to for packets."""
        return self.number % self.network.g

    def listen_residue(self) -> int | None:
        """Listen to that group."""
        return self.residue

    def packets_held(self) -> list[int]:
        """Return the packets in the buffers."""
        buffers = (self.original, self.floating, self.received)
        return [packet.source for packet in buffers if packet is not None]

    def end(self) -> None:
        """End the run, as every source is done, which only the simulator sees."""

    def send_copy(self) -> Order | None:
        """Send the copy to the group of its destination."""
        if self.floating is None:
            return None
        copy, self.floating = self.floating, None
        return [copy.destination // self.network.d], Message("packet", copy)

    def store(self, message: Message) -> None:
        """Keep the packet that was heard in the buffer for a copy."""
        if self.floating is not None:
            raise BufferFull
        self.floating = message.packet

    def receive(self, message: Message) -> None:
        """Keep the packet that was heard if it is meant for this processor."""
        if message.packet is not None and message.packet.destination == self.number:
            self.received = message.packet


class ProcessorPhase(NamedTuple):
    """One slot: its name and the methods of the processors in it."""

    name: str
    send: Callable[[Any], Order | None]
    listen: Callable[[Any], int | None]
    hear: Callable[[Any, Message], None]
    may_conflict: bool


class ObjectRouter(NamedTuple):
    """A router: how a processor is made, its opening slots, and the slots of each step."""

    processor: Callable[[Network, int, int, Coins], Processor]
    opening: tuple[ProcessorPhase, ...]
    step: Callable[[int], tuple[ProcessorPhase, ...]]
