"""The ``slots`` engine: any router on the array machine, every message of every slot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from popsnet.engines.execution import ENDED, Execution
from popsnet.engines.fault_watch import FaultWatch
from popsnet.engines.outcome import Outcome
from popsnet.engines.session import MessageEngine
from popsnet.errors import InputError
from popsnet.experiment import Experiment, Instance
from popsnet.machine import Machine, machine_bytes
from popsnet.medium import table_bytes
from popsnet.slot import Slot
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
    machine = network.n * machine_bytes(experiment.buffers) + table_bytes(network)
    packets = experiment.packets if experiment.demand is not None else 0
    demand = _DEMAND_BYTES * packets
    return _DESTINATION_BYTES * network.n + machine + variant.working(network) + demand


_DESTINATION_BYTES = 4
_DEMAND_BYTES = 100
"""Per packet of a demand, for routers that order, colour or schedule the packets: an estimate."""

ENGINE = MessageEngine("slots", execute, _needed, lambda experiment: None)
