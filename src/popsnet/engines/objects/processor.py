"""A processor of the paper's randomized router, deciding by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from popsnet.coins import Coins
from popsnet.engines.objects.coupler import Message, Packet
from popsnet.network import Network
from popsnet.routing.mei_rizzi import INTERMEDIATE_GROUP, PHASES

__all__ = ["STEP", "BufferFull", "Phase", "Processor"]


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

    Every slot of a step has three methods here: what to send and to which group (``send``), which
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
        """A new step: nothing sent, nothing relayed, no ack heard."""
        self.step = step
        self.intermediate: int | None = None  # where my packet went in slot 1
        self.temporary: int | None = None  # where I relayed a copy in slot 2
        self.copy_from: int | None = None  # whence my copy came in slot 2
        self.ack: Packet | None = None  # the packet an ack came for in slot 3

    @property
    def residue(self) -> int:
        """The group that this processor listens to for packets."""
        return self.number % self.network.g

    def packets_held(self) -> list[int]:
        """What is in the buffers."""
        buffers = (self.original, self.floating, self.received)
        return [packet.source for packet in buffers if packet is not None]

    def _store(self, copy: Packet) -> None:
        if self.floating is not None:
            raise BufferFull(self.number)
        self.floating = copy

    # Slot 1: each processor with a packet to be routed sends a copy to a random group.

    def send_1(self) -> tuple[int, Message] | None:
        if self.original is None:
            return None
        self.intermediate = self.coins.draw(
            self.network.g, INTERMEDIATE_GROUP, self.step, self.number
        )
        return self.intermediate, Message("packet", self.original)

    def listen_1(self) -> int | None:
        return self.residue

    def hear_1(self, message: Message) -> None:
        self._store(message.packet)

    # Slot 2: every copy that arrived is sent to its temporary destination group.

    def send_2(self) -> tuple[int, Message] | None:
        if self.floating is None:
            return None
        copy, self.floating = self.floating, None
        self.temporary = copy.destination % self.network.g
        return self.temporary, Message("packet", copy)

    def listen_2(self) -> int | None:
        return self.residue

    def hear_2(self, message: Message) -> None:
        self._store(message.packet)
        self.copy_from = self.residue

    # Slot 3: for each copy in its temporary group an ack goes back to the random group.

    def send_3(self) -> tuple[int, Message] | None:
        if self.floating is None or self.copy_from is None:
            return None
        return self.copy_from, Message("ack", self.floating)

    def listen_3(self) -> int | None:
        return self.temporary

    def hear_3(self, message: Message) -> None:
        self.ack = message.packet

    # Slot 4: for each ack that arrived an ack goes back to the source, which drops its packet.

    def send_4(self) -> tuple[int, Message] | None:
        if self.ack is None:
            return None
        return self.residue, Message("ack", self.ack)

    def listen_4(self) -> int | None:
        return self.intermediate

    def hear_4(self, message: Message) -> None:
        if message.packet == self.original:
            self.original = None

    # Slot 5: every copy in its temporary group is sent to its destination.

    def send_5(self) -> tuple[int, Message] | None:
        if self.floating is None:
            return None
        copy, self.floating = self.floating, None
        return copy.destination // self.network.d, Message("packet", copy)

    def listen_5(self) -> int | None:
        return self.residue

    def hear_5(self, message: Message) -> None:
        if message.packet.destination == self.number:
            self.received = message.packet


class Phase(NamedTuple):
    """One of the five slots of a step."""

    name: str
    send: Callable[[Processor], tuple[int, Message] | None]
    listen: Callable[[Processor], int | None]
    hear: Callable[[Processor, Message], None]
    may_conflict: bool


STEP = (
    Phase(PHASES[0], Processor.send_1, Processor.listen_1, Processor.hear_1, True),
    Phase(PHASES[1], Processor.send_2, Processor.listen_2, Processor.hear_2, True),
    Phase(PHASES[2], Processor.send_3, Processor.listen_3, Processor.hear_3, False),
    Phase(PHASES[3], Processor.send_4, Processor.listen_4, Processor.hear_4, False),
    Phase(PHASES[4], Processor.send_5, Processor.listen_5, Processor.hear_5, False),
)
