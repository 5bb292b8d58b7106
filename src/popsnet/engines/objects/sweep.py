"""A processor of relay's plain sweep, schedule S, at d = g, deciding by itself."""

from __future__ import annotations

from popsnet.coins import Coins
from popsnet.engines.objects.processor import Message, Order, Processor, ProcessorPhase, Script
from popsnet.routing.relay.bijection import CELLS
from popsnet.routing.relay.router import SEED

_ROUNDS = 8


def public_place(seed: int, number: int, group: int, value: int, size: int) -> int:
    """Where public bijection ``number`` takes a value of [0, size) in a group, by the definition.

    Each round multiplies modulo 2^m, adds and folds the upper half of the bits onto the lower;
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


class Sweeper(Processor):
    """A processor in the three slots of a sweep, after it has heard the seed."""

    seed: int

    def begin(self, step: int) -> None:
        """A new step: nothing tried, nothing stored."""
        super().begin(step)
        self.asked: int | None = None  # the relay group that my packet was sent to
        self.stored = False  # whether I hold a copy for the group I listen to

    def relay_of(self, destination: int) -> int:
        """The relay group of a destination in this step, known to all who heard the seed."""
        g = self.network.g
        group, index = divmod(destination, g)
        place = public_place(self.seed, min(self.step, 3), group, index, g)
        for step in range(4, self.step + 1):  # what has just met is turned apart
            place += public_place(self.seed, step, 0, group, g)
        return place % g

    # The opening: processor 0 tells everybody a seed. A packet that is at home stays there.

    def send_seed(self) -> Order | None:
        if self.number != 0:
            return None
        word = self.coins.word(SEED, 0, 0)
        return range(self.network.g), Message("control", None, word, 64)

    def listen_seed(self) -> int | None:
        return 0

    def hear_seed(self, message: Message) -> None:
        self.seed = message.number
        if self.original is not None and self.original.destination == self.number:
            self.original, self.received = None, self.original

    # Slot 1: each source whose packet is not acknowledged sends it to its relay group.

    def send_1(self) -> Order | None:
        if self.original is None:
            return None
        self.asked = self.relay_of(self.original.destination)
        return [self.asked], Message("packet", self.original)

    def hear_1(self, message: Message) -> None:
        self.store(message)
        self.stored = True

    # Slot 2: every relay sends what it stored to the group of the destination, which listens.

    def send_2(self) -> Order | None:
        if self.floating is None:
            return None
        copy, self.floating = self.floating, None
        return [copy.destination // self.network.d], Message("packet", copy)

    def listen_2(self) -> int | None:
        return None if self.received is not None else self.relay_of(self.number)

    # Slot 3: every relay that stored a packet tells the group it came from, in a map of one bit.

    def send_3(self) -> Order | None:
        return ([self.residue], Message("control", None)) if self.stored else None

    def listen_3(self) -> int | None:
        return self.asked

    def hear_3(self, message: Message) -> None:
        if message.number == 1:
            self.original = None


SWEEP = Script(
    Sweeper,
    (ProcessorPhase("seed", Sweeper.send_seed, Sweeper.listen_seed, Sweeper.hear_seed, False),),
    (
        ProcessorPhase(
            "sweep: attempt", Sweeper.send_1, Sweeper.listen_residue, Sweeper.hear_1, True
        ),
        ProcessorPhase("sweep: delivery", Sweeper.send_2, Sweeper.listen_2, Sweeper.receive, False),
        ProcessorPhase("sweep: acks", Sweeper.send_3, Sweeper.listen_3, Sweeper.hear_3, False),
    ),
)
