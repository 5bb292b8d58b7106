"""A processor of relay in a plain sweep, stage S, for d = g."""

from __future__ import annotations

from popsnet.coins import Coins
from popsnet.engines.objects.processor import Message, Order, Processor, ProcessorPhase
from popsnet.routing.relay.bijection import CELLS
from popsnet.routing.relay.router import SEED

_ROUNDS = 8


def public_place(seed: int, number: int, group: int, value: int, size: int) -> int:
    """Return the place of a value of [0, size) under a public bijection, by its definition.

    Each round multiplies modulo 2^m, adds and folds the upper half of the bits onto the lower.
    2^m is the smallest power that holds all values, but at least 32.
    """
    bits = max(5, (size - 1).bit_length())
    words = [Coins(seed).word(CELLS, number, group * _ROUNDS + i) | 1 for i in range(_ROUNDS)]
    while True:
        for word in words:
            value = (value * word + word // 2**32) % 2**bits
            value ^= value >> (bits + 1) // 2
        if value < size:
            return value


class SweepProcessor(Processor):
    """A processor in the three slots of a sweep, after it has heard the seed."""

    seed: int

    def begin(self, step: int) -> None:
        """Begin a step, in which nothing is tried or stored yet."""
        super().begin(step)
        self.asked: int | None = None  # the relay group that my packet was sent to
        self.stored = False  # whether I hold a copy for the group I listen to

    def relay_of(self, destination: int, step: int) -> int:
        """Return the relay group of a destination in a step, by the public seed."""
        g = self.network.g
        group, index = divmod(destination, g)
        place = public_place(self.seed, min(step, 3), group, index, g)
        for later in range(4, step + 1):  # packets that have just met are turned apart
            place += public_place(self.seed, later, 0, group, g)
        return place % g

    # The opening: processor 0 sends a seed to every processor. A packet at its destination stays.

    def send_seed(self) -> Order | None:
        """Send the seed, as processor 0."""
        if self.number != 0:
            return None
        word = self.coins.word(SEED, 0, 0)
        return range(self.network.g), Message("control", None, word, 64)

    def listen_seed(self) -> int | None:
        """Listen to group 0."""
        return 0

    def hear_seed(self, message: Message) -> None:
        """Remember the seed, and receive a packet that starts at its destination."""
        self.seed = message.number
        if self.original is not None and self.original.destination == self.number:
            self.original, self.received = None, self.original

    # Slot 1: each source whose packet is not acknowledged sends it to its relay group.

    def send_1(self) -> Order | None:
        """Send the packet to its relay group."""
        if self.original is None:
            return None
        self.asked = self.relay_of(self.original.destination, self.step)
        return [self.asked], Message("packet", self.original)

    def hear_1(self, message: Message) -> None:
        """Store the copy."""
        self.store(message)
        self.stored = True

    # Slot 2: every relay sends what it stored to the group of the destination, which listens.

    def send_2(self) -> Order | None:
        """Send the copy to its destination."""
        if self.floating is None:
            return None
        copy, self.floating = self.floating, None
        return [copy.destination // self.network.d], Message("packet", copy)

    def listen_2(self) -> int | None:
        """Listen to the relay group of the own packet, while that has not arrived."""
        return None if self.received is not None else self.relay_of(self.number, self.step)

    # Slot 3: every relay that stored a packet tells the group it came from, in a map of one bit.

    def send_3(self) -> Order | None:
        """Acknowledge what was stored."""
        return ([self.residue], Message("control", None)) if self.stored else None

    def listen_3(self) -> int | None:
        """Listen to the relay group that the packet was sent to."""
        return self.asked

    def hear_3(self, message: Message) -> None:
        """Drop the packet if it was stored."""
        if message.number == 1:
            self.original = None


SEED_PHASE = ProcessorPhase(
    "seed", SweepProcessor.send_seed, SweepProcessor.listen_seed, SweepProcessor.hear_seed, False
)


def sweep_phases(of: type[SweepProcessor], name: str) -> tuple[ProcessorPhase, ...]:
    """Return the slots of a sweep of such processors, under a name."""
    return (
        ProcessorPhase(f"{name}: attempt", of.send_1, of.listen_residue, of.hear_1, True),
        ProcessorPhase(f"{name}: delivery", of.send_2, of.listen_2, of.receive, False),
        ProcessorPhase(f"{name}: acks", of.send_3, of.listen_3, of.hear_3, False),
    )
