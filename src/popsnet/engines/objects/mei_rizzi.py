"""A processor of the paper's randomized router."""

from __future__ import annotations

from popsnet.engines.objects.processor import (
    Message,
    ObjectRouter,
    Order,
    Packet,
    Processor,
    ProcessorPhase,
)
from popsnet.programs.routers.mei_rizzi import INTERMEDIATE_GROUP, PHASES


class MeiRizzi(Processor):
    """A processor in the five slots of the paper's router."""

    def begin(self, step: int) -> None:
        """Begin a step, in which nothing is sent, relayed or acknowledged yet."""
        super().begin(step)
        self.intermediate: int | None = None  # where my packet went in slot 1
        self.temporary: int | None = None  # where I relayed a copy in slot 2
        self.copy_from: int | None = None  # where my copy came from in slot 2
        self.ack: Packet | None = None  # the packet an ack came for in slot 3

    # Slot 1: each processor with a packet to route sends a copy to a random group.

    def send_1(self) -> Order | None:
        """Send the packet to a random group."""
        if self.original is None:
            return None
        g, step = self.network.g, self.step
        self.intermediate = self.coins.draw(g, INTERMEDIATE_GROUP, step, self.number)
        return [self.intermediate], Message("packet", self.original)

    # Slot 2: every copy that arrived is sent to its temporary destination group.

    def send_2(self) -> Order | None:
        """Send the copy to its temporary group."""
        if self.floating is None:
            return None
        copy, self.floating = self.floating, None
        self.temporary = copy.destination % self.network.g
        return [self.temporary], Message("packet", copy)

    def hear_2(self, message: Message) -> None:
        """Store the copy and remember where it came from."""
        self.store(message)
        self.copy_from = self.residue

    # Slot 3: for each copy in its temporary group an ack goes back to the random group.

    def send_3(self) -> Order | None:
        """Acknowledge the copy."""
        if self.floating is None or self.copy_from is None:
            return None
        return [self.copy_from], Message("ack", self.floating)

    def listen_3(self) -> int | None:
        """Listen to the temporary group that the copy was sent to."""
        return self.temporary

    def hear_3(self, message: Message) -> None:
        """Remember the packet that was acknowledged."""
        self.ack = message.packet

    # Slot 4: for each ack that arrived an ack goes back to the source, which drops its packet.

    def send_4(self) -> Order | None:
        """Pass the ack on to the source."""
        if self.ack is None:
            return None
        return [self.residue], Message("ack", self.ack)

    def listen_4(self) -> int | None:
        """Listen to the intermediate group that the packet was sent to."""
        return self.intermediate

    def hear_4(self, message: Message) -> None:
        """Drop the packet if the ack is for it."""
        if message.packet == self.original:
            self.original = None

    # Slot 5: every copy in its temporary group is sent to its destination, by ``send_copy``.


_STEP = (
    ProcessorPhase(PHASES[0], MeiRizzi.send_1, MeiRizzi.listen_residue, MeiRizzi.store, True),
    ProcessorPhase(PHASES[1], MeiRizzi.send_2, MeiRizzi.listen_residue, MeiRizzi.hear_2, True),
    ProcessorPhase(PHASES[2], MeiRizzi.send_3, MeiRizzi.listen_3, MeiRizzi.hear_3, False),
    ProcessorPhase(PHASES[3], MeiRizzi.send_4, MeiRizzi.listen_4, MeiRizzi.hear_4, False),
    ProcessorPhase(PHASES[4], MeiRizzi.send_copy, MeiRizzi.listen_residue, MeiRizzi.receive, False),
)

MEI_RIZZI = ObjectRouter(MeiRizzi, (), lambda step: _STEP)
