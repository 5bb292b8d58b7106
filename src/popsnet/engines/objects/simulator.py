"""Runs the objects through the five slots of a step, until every packet is acknowledged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from popsnet.coins import Coins
from popsnet.engines.instance import Instance, Outcome
from popsnet.engines.objects.coupler import Coupler, Message
from popsnet.engines.objects.processor import STEP, BufferFull, Phase, Processor
from popsnet.errors import Rule, RuleViolation
from popsnet.network import Network
from popsnet.trace import Event, Hold, Listen, Observer, Send, TraceWriter

__all__ = ["Simulator", "execute"]


class Simulator:
    """A POPS(g, g) of objects. It knows nothing of arrays, and shares no code with them."""

    def __init__(self, network: Network, destination: Sequence[int], coins: Coins) -> None:
        self.network = network
        self.processors = [Processor(network, i, destination[i], coins) for i in range(network.n)]
        self.couplers = [[Coupler() for _ in range(network.g)] for _ in range(network.g)]
        self.slots = self.messages = self.collisions = self.destroyed = 0
        self.last_delivery = self.control_bits = 0
        self.peak = 1
        self.sends: list[Send] = []
        self.listens: list[Listen] = []
        self.held = self._held()
        self.held_before = self.held

    def pending(self) -> int:
        """Packets that still wait for their ack."""
        return sum(processor.original is not None for processor in self.processors)

    def delivered(self) -> int:
        """Packets received by the processors they are meant for."""
        return sum(
            processor.received is not None and processor.received.destination == processor.number
            for processor in self.processors
        )

    def lost(self) -> list[int]:
        """Packets that are in no buffer of any processor."""
        held = {packet for _, packet in self._held()}
        return [packet for packet in range(self.network.n) if packet not in held]

    def _held(self) -> Counter[Hold]:
        return Counter(
            (one.number, packet) for one in self.processors for packet in one.packets_held()
        )

    def records(self) -> tuple[list[Send], list[Listen]]:
        """What was sent and listened to in the last slot."""
        return self.sends, self.listens

    def holdings(self) -> tuple[list[Hold], list[Hold]]:
        """What was kept and what was given up in the last slot."""
        keeps, drops = self.held - self.held_before, self.held_before - self.held
        return sorted(keeps.elements()), sorted(drops.elements())

    def slot(self, phase: Phase) -> None:
        """All send, the couplers propagate, all listen."""
        self.slots += 1
        delivered = self.delivered()
        self.sends, self.listens = [], []
        used: list[Coupler] = []
        for processor in self.processors:
            order = phase.send(processor)
            if order is not None:
                used.append(self._put(processor, *order))
        self._count_collisions(phase, used)
        for processor in self.processors:
            group = phase.listen(processor)
            if group is not None:
                self.listens.append((processor.number, group))
                self._listen(phase, processor, self.couplers[processor.group][group])
        for coupler in used:
            coupler.messages.clear()
        if self.delivered() > delivered:
            self.last_delivery = self.slots
        self.held_before, self.held = self.held, self._held()
        self.peak = max(self.peak, *(len(one.packets_held()) for one in self.processors))

    def _listen(self, phase: Phase, processor: Processor, coupler: Coupler) -> None:
        message = coupler.propagate()
        if message is None:
            return
        try:
            phase.hear(processor, message)
        except BufferFull as full:
            detail = f"packet {message.packet.source} finds its buffers full"
            raise RuleViolation(self.slots, full.processor, Rule.BUFFERS, detail) from None

    def _put(self, processor: Processor, group: int, message: Message) -> Coupler:
        self.sends.append((processor.number, [group], message.kind, message.packet.source))
        self.messages += 1
        if message.kind != "packet":
            self.control_bits = 1  # an ack carries nothing: that it is there says all
        coupler = self.couplers[group][processor.group]
        coupler.send(message)
        return coupler

    def _count_collisions(self, phase: Phase, used: list[Coupler]) -> None:
        hit = {id(coupler): len(coupler.messages) for coupler in used}
        collided = [count for count in hit.values() if count > 1]
        self.collisions += len(collided)
        self.destroyed += sum(collided)
        if collided and not phase.may_conflict:
            first = next(i for i, coupler in enumerate(used) if len(coupler.messages) > 1)
            detail = f"its message to group {self.sends[first][1][0]} met another"
            raise RuleViolation(self.slots, self.sends[first][0], Rule.CONFLICT_FREE, detail)


def execute(instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
    """Run the paper's router until it ends or is capped."""
    network = instance.network
    simulator = Simulator(network, instance.array().tolist(), instance.coins)
    survivors: list[int] = []
    while simulator.pending() and len(survivors) < instance.max_steps:
        step = len(survivors)
        for processor in simulator.processors:
            processor.begin(step)
        for phase in STEP:
            pending = network.n - simulator.delivered()
            simulator.slot(phase)
            event = Event(simulator.slots, phase.name, step, pending, simulator.records)
            for observe in observers:
                observe(event)
                if isinstance(observe, TraceWriter):
                    observe.settle(*simulator.holdings())
        survivors.append(network.n - simulator.delivered())
    lost = simulator.lost()
    return Outcome(
        slots=simulator.slots,
        slots_delivered=simulator.last_delivery,
        steps=len(survivors),
        delivered=simulator.delivered(),
        lost=len(lost),
        collisions=simulator.collisions,
        destroyed=simulator.destroyed,
        messages=simulator.messages,
        peak_buffers=simulator.peak,
        control_bits=simulator.control_bits,
        capped=simulator.pending() > 0,
        survivors=tuple(survivors),
        lost_packets=tuple(lost),
    )
