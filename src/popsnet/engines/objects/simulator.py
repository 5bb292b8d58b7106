"""The simulator: it runs the objects through slots until every packet is acknowledged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence

from popsnet.base.errors import Rule, RuleViolation
from popsnet.engines.engine import MessageEngine
from popsnet.engines.objects.mei_rizzi import MEI_RIZZI
from popsnet.engines.objects.processor import (
    BufferFull,
    Coupler,
    Message,
    ObjectRouter,
    Processor,
    ProcessorPhase,
)
from popsnet.engines.objects.relay import staged
from popsnet.engines.outcome import Outcome
from popsnet.experiment.experiment import Experiment, Instance
from popsnet.model.coins import Coins
from popsnet.model.network import Network
from popsnet.programs.router import Variant
from popsnet.programs.routers.relay import RelaySchedule
from popsnet.trace import Event, Hold, Listen, Observer, Send, TraceWriter


class Simulator:
    """A POPS(g, g) of objects, which shares no code with the machine of arrays."""

    def __init__(
        self, router: ObjectRouter, network: Network, destination: Sequence[int], coins: Coins
    ) -> None:
        self.network = network
        processor = router.processor
        self.processors = [processor(network, i, destination[i], coins) for i in range(network.n)]
        self.slots = self.messages = self.collisions = self.destroyed = 0
        self.last_delivery = self.control_bits = 0
        self.peak = 1
        self.sends: list[Send] = []
        self.listens: list[Listen] = []
        self.couplers: dict[tuple[int, int], Coupler] = {}
        """Those used in the last slot, by the group that hears and the group that sends."""
        self.held = self.held_before = self._held()

    def pending(self) -> int:
        """Return the number of packets that still wait for their ack."""
        return sum(processor.original is not None for processor in self.processors)

    def delivered(self) -> int:
        """Return the number of packets received by their destinations."""
        return sum(processor.received is not None for processor in self.processors)

    def lost(self) -> list[int]:
        """Return the packets that are in no buffer of any processor."""
        return sorted({*range(self.network.n)} - {packet for _, packet in self.held})

    def _held(self) -> Counter[Hold]:
        return Counter(
            (owner.number, packet) for owner in self.processors for packet in owner.packets_held()
        )

    def records(self) -> tuple[list[Send], list[Listen]]:
        """Return what was sent and listened to in the last slot."""
        return self.sends, self.listens

    def holdings(self) -> tuple[list[Hold], list[Hold]]:
        """Return what was kept and what was dropped in the last slot."""
        keeps, drops = self.held - self.held_before, self.held_before - self.held
        return sorted(keeps.elements()), sorted(drops.elements())

    def slot(self, phase: ProcessorPhase) -> None:
        """Execute a slot: all send, the couplers propagate, all listen."""
        self.slots += 1
        delivered = self.delivered()
        self.sends, self.listens, self.couplers = [], [], defaultdict(Coupler)
        for processor in self.processors:
            order = phase.send(processor)
            if order is not None:
                self._put(processor, *order)
        self._count_collisions(phase)
        for processor in self.processors:
            group = phase.listen(processor)
            if group is not None:
                self.listens.append((processor.number, group))
                message = self.couplers[processor.group, group].propagate()
                if message is not None:
                    self._hear(phase, processor, message)
        if self.delivered() > delivered:
            self.last_delivery = self.slots
        if not self.pending():
            for processor in self.processors:
                processor.end()
        self.peak = max(self.peak, *(len(owner.packets_held()) for owner in self.processors))
        self.held_before, self.held = self.held, self._held()

    def _hear(self, phase: ProcessorPhase, processor: Processor, message: Message) -> None:
        try:
            phase.hear(processor, message)
        except BufferFull:
            assert message.packet is not None
            detail = f"packet {message.packet.source} finds its buffers full"
            raise RuleViolation(self.slots, processor.number, Rule.BUFFERS, detail) from None

    def _put(self, processor: Processor, groups: Collection[int], message: Message) -> None:
        packet = None if message.packet is None else message.packet.source
        self.sends.append((processor.number, sorted(groups), message.kind, packet))
        self.messages += 1
        if message.kind != "packet":
            self.control_bits = max(self.control_bits, message.bits)
        for group in groups:
            self.couplers[group, processor.group].send(message)

    def _count_collisions(self, phase: ProcessorPhase) -> None:
        counts = [len(coupler.messages) for coupler in self.couplers.values()]
        collided = [count for count in counts if count > 1]
        self.collisions += len(collided)
        self.destroyed += sum(collided)
        if collided and not phase.may_conflict:
            sender, group = next(
                (sender, group)
                for sender, groups, _, _ in self.sends
                for group in groups
                if len(self.couplers[group, sender // self.network.d].messages) > 1
            )
            detail = f"its message to group {group} met another"
            raise RuleViolation(self.slots, sender, Rule.CONFLICT_FREE, detail)


def _router(name: str, variant: Variant) -> ObjectRouter | None:
    """Return the router of objects for a variant, None if there is none."""
    if (name, variant.name) == ("mei-rizzi", "published"):
        return MEI_RIZZI
    schedule = variant.schedule
    if not isinstance(schedule, RelaySchedule) or str(schedule) != variant.name:  # as in S+or
        return None
    return staged(schedule)


def execute(instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
    """Run a router until it ends or is capped."""
    network, router = instance.network, _router(instance.router.name, instance.resolved_variant)
    assert router is not None
    simulator = Simulator(router, network, instance.array().tolist(), instance.coins)
    survivors: list[int] = []

    def run(phases: Sequence[ProcessorPhase]) -> None:
        for phase in phases:
            if phase.name == "marked: delivery" and not simulator.pending():
                return
            pending = network.n - simulator.delivered()
            simulator.slot(phase)
            event = Event(simulator.slots, phase.name, len(survivors), pending, simulator.records)
            for observe in observers:
                observe(event)
                if isinstance(observe, TraceWriter):
                    observe.settle(*simulator.holdings())

    run(router.opening)
    while simulator.pending() and len(survivors) < instance.max_steps:
        for processor in simulator.processors:
            processor.begin(len(survivors))
        run(router.step(len(survivors)))
        survivors.append(network.n - simulator.delivered())
    if simulator.slots and not survivors:  # all packets started at their destinations
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


def _obstacle(experiment: Experiment) -> str | None:
    if _router(experiment.router, experiment.resolved_variant) is None:
        return "it runs only mei-rizzi (published) and relay with stages S, P1 and Q"
    return None if experiment.d == experiment.g else "it needs d = g"


_BYTES_PER_PROCESSOR = 1000
"""A processor, a coupler and their messages as objects: measured."""

ENGINE = MessageEngine(
    "objects", execute, lambda experiment: _BYTES_PER_PROCESSOR * experiment.network.n, _obstacle
)
