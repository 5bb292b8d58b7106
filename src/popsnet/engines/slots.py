"""The ``slots`` engine: any router on the array machine, every message of every slot."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from popsnet.base.errors import InputError
from popsnet.engines.engine import MessageEngine
from popsnet.engines.execution import ENDED, Execution
from popsnet.engines.outcome import FaultCounts, Outcome
from popsnet.experiment.experiment import Experiment, Instance
from popsnet.model.faults import ActiveFaults, two_way_paths
from popsnet.model.loops import Bools
from popsnet.model.machine import Machine, machine_bytes
from popsnet.model.medium import table_bytes
from popsnet.model.memory import Memory
from popsnet.model.slot import Ints, Slot
from popsnet.trace import Observer


def execute(instance: Instance, observers: Sequence[Observer] = ()) -> Outcome:
    """Run a router until it ends or is capped."""
    network, router, destination = instance.network, instance.router, instance.array()
    variant = instance.resolved_variant
    buffers = router.buffers_on(network, variant)
    faults = instance.faults
    tolerant = faults is not None and not faults.faults.kinds <= variant.survives
    machine = Machine(
        network, destination, buffers, instance.start, faults=faults, tolerant=tolerant
    )
    memory, packets = machine.memory, len(destination)
    watch = None if faults is None else FaultWatch(faults, memory, destination)
    execution = Execution("router", router.name, machine, observers)
    survivors: list[int] = []
    running = router.start(variant, network, destination, instance.coins, memory)
    slot = next_slot(router.name, execution.start(running))
    step, began, silent, most = 0, 0, 0, instance.most_slots
    while slot is not None:
        if slot.step != step:
            _require_next_step(router.name, machine.counters.slots, step, slot)
            if slot.step >= instance.max_steps:
                break
            if watch is not None and watch.over(machine.counters.slots):
                slot = None
                break
            survivors.append(packets - memory.delivered)
            step, began = slot.step, machine.counters.slots
        if machine.counters.slots - began >= most:
            break
        silent = 0 if len(slot.senders) else silent + 1
        if silent > _MOST_SILENT + network.n:
            if tolerant:
                break
            raise InputError(
                f"Router {router.name} has sent no message for {silent - 1:,} slots, and "
                f"{memory.delivered} of {packets} packets are delivered. A router that has nothing "
                "left to send must return."
            )
        slot = next_slot(router.name, execution.execute(slot))
    execution.close()
    if machine.counters.slots:
        survivors.append(packets - memory.delivered)
    lost = memory.lost().tolist()
    counts = vars(machine.counters).copy()
    unheard = counts.pop("unheard")
    return Outcome(
        **counts,
        slots_delivered=memory.last_delivery,
        steps=len(survivors),
        delivered=memory.delivered,
        lost=len(lost),
        peak_buffers=memory.peak,
        capped=slot is not None,
        survivors=tuple(survivors),
        lost_packets=tuple(lost),
        faulty=None if watch is None else watch.counts(machine.counters.slots, unheard),
    )


_MOST_SILENT = 10_000
"""A router that sends nothing in this many slots and n more is taken to hang.

The longest silence of a router that ships is less than d/g slots, of datta.
"""


def _require_next_step(name: str, slots: int, step: int, slot: Slot) -> None:
    if slot.step != step + 1 or not slots or not isinstance(slot.step, int | np.integer):
        before = f"the slot before it has step {step}" if slots else "it is the first slot"
        raise InputError(
            f"Router {name}, slot {slots + 1}: its step is {slot.step}, and {before}. Steps are "
            "integers, counted from 0, and every slot has the step of the slot before it or the "
            "next one."
        )


def next_slot(name: str, yielded: Any) -> Slot | None:
    """Return the slot that a router has yielded, or None if it has ended."""
    if yielded is ENDED:
        return None
    if not isinstance(yielded, Slot):
        raise InputError(f"Router {name} yields {yielded!r:.40}; a router yields slots.")
    return yielded


def _needed(experiment: Experiment) -> int:
    """Return the bytes of the arrays of the permutation, the machine and the router."""
    network, variant = experiment.network, experiment.resolved_variant
    per_processor = _DESTINATION_BYTES + machine_bytes(experiment.buffers)
    demand = 0 if experiment.demand is None else _DEMAND_BYTES * experiment.packets
    return network.n * per_processor + table_bytes(network) + variant.working(network) + demand


_DESTINATION_BYTES = 4
_DEMAND_BYTES = 100
"""Per packet of a demand, for routers that order, colour or schedule the packets: an estimate."""


class FaultWatch:
    """The packets of a run, and which of them still have a path.

    Parts that die later do not count. What is dead stays dead, so a packet without a path never has
    one again.
    """

    def __init__(self, faults: ActiveFaults, memory: Memory, destination: Ints) -> None:
        self._memory, self._destination = memory, destination
        self._faults, self._network = faults.faults, faults.network
        self._slots, self._begun = self._faults.slots, -1
        self._look(0)

    def _look(self, slots: int) -> None:
        """Find the paths after a number of slots, if parts have died since the last look."""
        slots = max(slots, 1)  # what is dead from slot 1 on is dead before it
        begun = bisect_right(self._slots, slots)
        if begun == self._begun:
            return
        self._begun, faults = begun, self._faults.begun(slots)
        self._paths = two_way_paths(self._network, faults, self._memory.start, self._destination)
        self._live = np.ones(self._network.n, dtype=np.bool_)
        self._live[[processor for processor, _ in faults.processors]] = False

    def over(self, slots: int) -> bool:
        """Return whether no packet is left that can be delivered, after a number of slots.

        If all are delivered, whether some sources will never know, and all others do.
        """
        self._look(slots)
        if self._memory.delivered < len(self._paths):
            return not self._split()[1].any()
        processors, packets = self._memory.content()
        own = processors == self._memory.start[packets]
        unsure = packets[own & (self._destination[packets] != processors)]
        return len(unsure) > 0 and not self._paths[unsure].any()

    def counts(self, slots: int, unheard: int) -> FaultCounts:
        """Return the counts at the end of a run of this many slots."""
        self._look(slots)
        unreachable, held = self._split()
        skipped, duplicated = self._memory.skipped, self._memory.duplicated
        return FaultCounts(int(unreachable.sum()), int(held.sum()), duplicated, skipped, unheard)

    def _split(self) -> tuple[Bools, Bools]:
        """Return which packets are unreachable, and which are held and have a path."""
        processors, packets = self._memory.content()
        in_memory, alive, home = np.zeros((3, len(self._paths)), dtype=np.bool_)
        in_memory[packets] = True
        alive[packets[self._live[processors]]] = True
        home[packets[self._destination[packets] == processors]] = True
        waiting = in_memory & ~self._memory.arrived
        held = waiting & (home | (alive & self._paths))
        return waiting & ~held, held


ENGINE = MessageEngine("slots", execute, _needed, lambda experiment: None)
