"""Computing with values on the machine: no packet moves, and messages carry the values."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.machine import Machine
from popsnet.network import Network
from popsnet.slot import Inbox, Slot

__all__ = ["Computed", "compute"]


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """The value of every processor in the end, and what it took."""

    values: npt.NDArray[Any]
    slots: int
    messages: int
    collisions: int


def compute(
    network: Network,
    steps: Generator[Slot, Inbox, npt.NDArray[Any]],
    watch: Callable[[int], None] = lambda slots: None,
) -> Computed:
    """Execute every slot; ``watch`` is told how many are done."""
    machine = Machine(network, np.arange(network.n, dtype=np.int32), 1)
    inbox: Inbox | None = None
    while True:
        try:
            slot = next(steps) if inbox is None else steps.send(inbox)
        except StopIteration as end:
            values: npt.NDArray[Any] = end.value
            break
        inbox = machine.execute(slot)
        watch(machine.counters.slots)
    counted = machine.counters
    return Computed(values, counted.slots, counted.messages, counted.collisions)
