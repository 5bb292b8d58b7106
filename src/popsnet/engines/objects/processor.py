"""Packets, messages, couplers, and a processor: what it holds, whatever router it follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from popsnet.coins import Coins
from popsnet.network import Network


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet knows where it comes from and where it goes."""

    source: int
    destination: int


@dataclass(frozen=True, slots=True)
class Message:
    """A packet itself, an ack that names it, or a control message with a number in it."""

    kind: str
    packet: Packet | None
    number: int = 1
    bits: int = 1
    """Of the number; an ack carries nothing, but that it is there says something."""


class Coupler:
    """Coupler c(b, a): broadcasts to group b the message a processor of group a sends.

    Two or more messages in a slot destroy each other. What comes out then is what comes out
    of a silent coupler: nothing.
    """

    __slots__ = ("messages",)

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)

    def propagate(self) -> Message | None:
        """What the listeners hear in this slot."""
        return self.messages[0] if len(self.messages) == 1 else None


Order: TypeAlias = tuple[Sequence[int], Message]
"""A message, and the groups it is sent to."""


class BufferFull(Exception):
    """A copy arrived while the buffer for copies was in use."""


class Processor:
    """Processor i of a POPS(g, g).

    It knows d, g, its number, the destination of its own packet and its own coins, and what it
    hears. It has three buffers: ``original`` for the packet it is to send, ``floating`` for a
    copy of another's packet on its way, ``received`` for the packet that is meant for it.

    Every slot of a step has three methods: what to send and to which groups (``send``), which
    group to listen to (``listen``), and what to do with what was heard (``hear``).
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
        """A new step."""
        self.step = step

    @property
    def residue(self) -> int:
        """The group that this processor listens to for packets."""
        return self.number % self.network.g

    def listen_residue(self) -> int | None:
        """Listen to that group."""
        return self.residue

    def packets_held(self) -> list[int]:
        """What is in the buffers."""
        buffers = (self.original, self.floating, self.received)
        return [packet.source for packet in buffers if packet is not None]

    def store(self, message: Message) -> None:
        """Keep the packet that was heard in the buffer there is for a copy."""
        if self.floating is not None:
            raise BufferFull
        self.floating = message.packet

    def receive(self, message: Message) -> None:
        """Keep the packet that was heard for good, if it is meant for this processor."""
        if message.packet is not None and message.packet.destination == self.number:
            self.received = message.packet


class ProcessorPhase(NamedTuple):
    """One slot, by the methods of the processors in it."""

    name: str
    send: Callable[[Any], Order | None]
    listen: Callable[[Any], int | None]
    hear: Callable[[Any, Message], None]
    may_conflict: bool


class Script(NamedTuple):
    """A router: its processors, the slots it begins with, and those of a step."""

    processor: type[Processor]
    opening: tuple[ProcessorPhase, ...]
    step: tuple[ProcessorPhase, ...]
