"""A processor of relay in schedules of the stages S, P1 and Q, for d = g."""

from __future__ import annotations

from functools import partial
from itertools import islice

from popsnet.engines.objects.processor import (
    Message,
    ObjectRouter,
    Order,
    Packet,
    Processor,
    ProcessorPhase,
)
from popsnet.model.coins import Coins
from popsnet.model.network import Network
from popsnet.programs.routers.relay import RelaySchedule
from popsnet.programs.routers.relay.bijection import CELLS
from popsnet.programs.routers.relay.router import SEED

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


class RelayProcessor(Processor):
    """A processor that knows the schedule: what the stages of each step are is public.

    Two more buffers hold a copy that was sent ahead for this stage, and one for the next.
    """

    seed: int
    ahead: Packet | None = None
    for_next: Packet | None = None
    echo: Packet | None = None  # the ack to repeat in the next stage
    missed: int | None = None  # where an ack for my packet may have been missed

    def __init__(
        self, schedule: RelaySchedule, network: Network, number: int, destination: int, coins: Coins
    ) -> None:
        self.schedule = schedule
        super().__init__(network, number, destination, coins)

    def begin(self, step: int) -> None:
        """Begin a stage, in which nothing is tried or stored yet, with what was sent ahead."""
        super().begin(step)
        self.asked: int | None = None  # the relay group that my packet was sent to
        self.stored = False  # whether I hold a copy for the group I listen to
        self.ahead, self.for_next = self.for_next, None
        self.next_is_marked = stage_of(self.schedule, step + 1) == "Q"

    def end(self) -> None:
        """Drop all copies, as the run has ended."""
        self.floating = self.ahead = self.for_next = None

    @property
    def waits(self) -> bool:
        """Whether the packet for this processor has not arrived."""
        return self.received is None

    def packets_held(self) -> list[int]:
        """Return the packets in the buffers; a copy of the packet received is that packet."""
        copies = (self.floating, self.ahead, self.for_next)
        others = [copy for copy in copies if copy is not None and copy != self.received]
        return [copy.source for copy in (self.original, self.received, *others) if copy is not None]

    def relay_of(self, destination: int, step: int) -> int:
        """Return the relay group of a destination in a step, by the public seed."""
        g = self.network.g
        group, index = divmod(destination, g)
        place = public_place(self.seed, min(step, 3), group, index, g)
        for later in range(4, step + 1):  # packets that have just met are turned apart
            place += public_place(self.seed, later, 0, group, g)
        return place % g

    def look_ahead(self) -> list[int]:
        """Return the relay group of the next stage, if the packet is for its source's own group."""
        packet, d = self.original, self.network.d
        if packet is None or not self.next_is_marked or packet.destination // d != self.group:
            return []
        return [self.relay_of(packet.destination, self.step + 1)]

    def keep_ahead(self, packet: Packet) -> None:
        """Store a packet that was sent to this group for the next stage."""
        if not self.next_is_marked or packet.destination // self.network.d != self.residue:
            return
        if self.relay_of(packet.destination, self.step + 1) == self.group:
            self.for_next = packet

    # The opening: processor 0 sends a seed to every processor. A packet at its destination stays.

    def send_seed(self) -> Order | None:
        """Send the seed, as processor 0."""
        if self.number != 0:
            return None
        return range(self.network.g), Message("control", None, self.coins.word(SEED, 0, 0), 64)

    def listen_seed(self) -> int | None:
        """Listen to group 0."""
        return 0

    def hear_seed(self, message: Message) -> None:
        """Remember the seed, and receive a packet that starts at its destination."""
        self.seed = message.number
        if self.original is not None and self.original.destination == self.number:
            self.original, self.received = None, self.original

    # S and P1, slot 1: each source whose packet is not acknowledged sends it to its relay group,
    # and maybe to that of the next stage.

    def send_1(self) -> Order | None:
        """Send the packet to its relay group, and maybe ahead."""
        if self.original is None:
            return None
        self.asked = self.relay_of(self.original.destination, self.step)
        return {self.asked, *self.look_ahead()}, Message("packet", self.original)

    def hear_1(self, message: Message) -> None:
        """Store the packet for this stage or the next."""
        assert message.packet is not None
        if self.relay_of(message.packet.destination, self.step) == self.group:
            self.store(message)
            self.stored = True
        else:
            self.keep_ahead(message.packet)

    # S and P1, slot 2: every relay sends what it stored (``send_copy``) to the group of the
    # destination, which listens.

    def listen_2(self) -> int | None:
        """Listen to the relay group of the own packet, while that has not arrived."""
        return self.relay_of(self.number, self.step) if self.waits else None

    # S and P1, slot 3: every relay that stored a packet tells the group it came from, in a map of
    # one bit.

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

    # Q, slot 1: packets to their relay groups, marks of those that wait, and repeated acks.

    def send_marked(self) -> Order | None:
        """Send the packet and the mark in one message, or repeat an ack."""
        echo, self.echo = self.echo, None
        groups = {*self.look_ahead()}
        if self.original is not None:
            groups.add(self.relay_of(self.original.destination, self.step))
        if self.waits:
            groups.add(self.relay_of(self.number, self.step))
        if groups:
            kind = "control" if self.original is None else "packet"
            return groups, Message(kind, self.original, int(self.waits))
        return None if echo is None else ([echo.source // self.network.d], Message("ack", echo))

    def listen_marked(self) -> int | None:
        """Listen to a repeated ack, if one was missed, or else as a relay."""
        return self.residue if self.missed is None else self.missed

    def hear_marked(self, message: Message) -> None:
        """Accept the packet, unless its sender has marked this group itself."""
        packet, listens_to_echo, self.heard_waits = message.packet, self.missed is not None, False
        if message.kind == "ack" and packet == self.original:
            self.original = None
        if message.kind != "packet" or listens_to_echo:
            return
        assert packet is not None
        meant = self.relay_of(packet.destination, self.step) == self.group
        sender_waits = message.number == 1
        if meant and not (sender_waits and self.relay_of(packet.source, self.step) == self.group):
            self.store(message)
            self.heard_waits = sender_waits
        else:
            self.keep_ahead(packet)

    # Q, slot 2: the packet to the destination's group and the source's, in one message.

    def send_both(self) -> Order | None:
        """Send what was accepted, or else what was sent ahead."""
        packet = self.floating or self.ahead
        if self.floating is not None and self.heard_waits and self.next_is_marked:
            self.echo = self.floating
        self.floating = self.ahead = self.missed = None
        if packet is None:
            return None
        d = self.network.d
        return {packet.destination // d, packet.source // d}, Message("packet", packet)

    def listen_both(self) -> int | None:
        """Listen as a destination that waits, or else as a source."""
        packet = self.original
        asked = None if packet is None else self.relay_of(packet.destination, self.step)
        if not self.waits:
            return asked
        if self.next_is_marked:
            self.missed = asked
        return self.relay_of(self.number, self.step)

    def hear_both(self, message: Message) -> None:
        """Receive the packet, or take the own packet as the ack."""
        self.receive(message)
        if message.packet == self.original:
            self.original = self.missed = None


def _stages() -> dict[str, tuple[ProcessorPhase, ...]]:
    """Return the slots of the opening and of each stage."""
    of, phase = RelayProcessor, ProcessorPhase
    opening = (phase("seed", of.send_seed, of.listen_seed, of.hear_seed, False),)
    swept = {
        stage: (
            phase(f"{name}: attempt", of.send_1, of.listen_residue, of.hear_1, True),
            phase(f"{name}: delivery", of.send_copy, of.listen_2, of.receive, False),
            phase(f"{name}: acks", of.send_3, of.listen_3, of.hear_3, False),
        )
        for stage, name in (("S", "sweep"), ("P1", "park"))
    }
    marked = (
        phase("marked: attempt", of.send_marked, of.listen_marked, of.hear_marked, True),
        phase("marked: delivery", of.send_both, of.listen_both, of.hear_both, True),
    )
    return {"": opening, **swept, "Q": marked}


_PHASES = _stages()


def stage_of(schedule: RelaySchedule, step: int) -> str:
    """Return the stage of a step."""
    return str(next(islice(schedule, step, None)))


def staged(schedule: RelaySchedule) -> ObjectRouter | None:
    """Return the router that follows a schedule, or None if it has other stages."""
    if not {str(stage) for stage in schedule.all_stages} <= _PHASES.keys():
        return None
    return ObjectRouter(
        partial(RelayProcessor, schedule),
        _PHASES[""],
        lambda step: _PHASES[stage_of(schedule, step)],
    )
