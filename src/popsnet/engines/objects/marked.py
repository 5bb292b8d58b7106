"""A processor of relay in schedules of the stages S, P1 and Q, for d = g."""

from __future__ import annotations

from functools import partial

from popsnet.coins import Coins
from popsnet.engines.objects.processor import Message, ObjectRouter, Order, Packet, ProcessorPhase
from popsnet.engines.objects.sweep import SEED_PHASE, SweepProcessor, sweep_phases
from popsnet.network import Network
from popsnet.routing.relay import RelaySchedule


class MarkedProcessor(SweepProcessor):
    """A processor that knows the schedule: what the stages of each step are is public.

    Two more buffers hold a copy that was sent ahead for this stage, and one for the next.
    """

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
        """Begin a stage, with what was sent ahead for it."""
        super().begin(step)
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
        kept = [one for one in copies if one is not None and one != self.received]
        return [one.source for one in (self.original, self.received, *kept) if one is not None]

    def look_ahead(self) -> list[int]:
        """Return the relay group of the next stage, if the packet is for its source's own group."""
        packet = self.original
        if packet is None or not self.next_is_marked:
            return []
        if packet.destination // self.network.d != self.group:
            return []
        return [self.relay_of(packet.destination, self.step + 1)]

    def keep_ahead(self, packet: Packet) -> None:
        """Store a packet that was sent to this group for the next stage."""
        if not self.next_is_marked or packet.destination // self.network.d != self.residue:
            return
        if self.relay_of(packet.destination, self.step + 1) == self.group:
            self.for_next = packet

    # The attempt of a sweep: a packet may be sent to two groups, of this stage and of the next.

    def send_1(self) -> Order | None:
        """Send the packet to its relay group, and maybe ahead."""
        order = super().send_1()
        return None if order is None else ({*order[0], *self.look_ahead()}, order[1])

    def hear_1(self, message: Message) -> None:
        """Store the packet for this stage or the next."""
        assert message.packet is not None
        if self.relay_of(message.packet.destination, self.step) == self.group:
            super().hear_1(message)
        else:
            self.keep_ahead(message.packet)

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
        asked = (
            None if self.original is None else self.relay_of(self.original.destination, self.step)
        )
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


_MARKED = (
    ProcessorPhase(
        "marked: attempt",
        MarkedProcessor.send_marked,
        MarkedProcessor.listen_marked,
        MarkedProcessor.hear_marked,
        True,
    ),
    ProcessorPhase(
        "marked: delivery",
        MarkedProcessor.send_both,
        MarkedProcessor.listen_both,
        MarkedProcessor.hear_both,
        True,
    ),
)

_PHASES = {
    "S": sweep_phases(MarkedProcessor, "sweep"),
    "P1": sweep_phases(MarkedProcessor, "park"),
    "Q": _MARKED,
}


def stage_of(schedule: RelaySchedule, step: int) -> str:
    """Return the stage of a step."""
    before, repeated = schedule.stages, schedule.repeated
    if step < len(before):
        return str(before[step])
    return str(repeated[(step - len(before)) % len(repeated)])


def staged(schedule: RelaySchedule) -> ObjectRouter | None:
    """Return the router that follows a schedule, or None if it has other stages."""
    if not {str(stage) for stage in schedule.all_stages} <= _PHASES.keys():
        return None
    return ObjectRouter(
        partial(MarkedProcessor, schedule),
        (SEED_PHASE,),
        lambda step: _PHASES[stage_of(schedule, step)],
    )
