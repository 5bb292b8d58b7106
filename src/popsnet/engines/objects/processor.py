"""A processor: what it knows and holds, whatever router it follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from popsnet.coins import Coins
from popsnet.engines.objects.coupler import Message, Packet
from popsnet.network import Network

Order: TypeAlias = tuple[Sequence[int], Message]
"""A message, and the groups it is sent to."""


class BufferFull(Exception):
    """A copy arrived while the buffer for copies was in use."""

    def __init__(self, processor: int) -> None:
        super().__init__(processor)
        self.processor = processor


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

    def packets_held(self) -> list[int]:
        """What is in the buffers."""
        buffers = (self.original, self.floating, self.received)
        return [packet.source for packet in buffers if packet is not None]

    def store(self, message: Message) -> None:
        """Keep the packet that was heard in the buffer there is for a copy."""
        if self.floating is not None:
            raise BufferFull(self.number)
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
