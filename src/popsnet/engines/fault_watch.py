"""What became of the packets of a run with faults, which only the simulation can see."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.engines.outcome import FaultCounts
from popsnet.faults import ActiveFaults, two_way_paths
from popsnet.memory import Memory
from popsnet.slot import Ints
from popsnet.tolerance import TolerantMemory

Bools = npt.NDArray[np.bool_]


class FaultWatch:
    """The packets of a run, and which of them still have a path."""

    def __init__(self, faults: ActiveFaults, memory: Memory, destination: Ints) -> None:
        self._memory, self._faults, self._destination = memory, faults.faults, destination
        network = faults.network
        self._paths = two_way_paths(network, self._faults, memory.start, destination)
        self._live = np.ones(network.n, dtype=np.bool_)
        self._live[[processor for processor, _ in self._faults.processors]] = False

    def over(self, slots: int) -> bool:
        """Return whether no packet is left that can be delivered, after all faults have begun.

        If all are delivered, whether some sources will never know, and all others do.
        """
        if slots < self._faults.last_slot:
            return False
        if self._memory.delivered < len(self._paths):
            return not self._split()[1].any()
        processors, packets = self._memory.content()
        own = processors == self._memory.start[packets]
        unsure = packets[own & (self._destination[packets] != processors)]
        return len(unsure) > 0 and not self._paths[unsure].any()

    def counts(self, unheard: int) -> FaultCounts:
        """Return the counts at the end of the run."""
        unreachable, held = self._split()
        skipped = duplicated = 0
        if isinstance(self._memory, TolerantMemory):
            skipped, duplicated = self._memory.skipped, self._memory.duplicated
        return FaultCounts(int(unreachable.sum()), int(held.sum()), duplicated, skipped, unheard)

    def _split(self) -> tuple[Bools, Bools]:
        """Return which packets are unreachable, and which are held and have a path."""
        processors, packets = self._memory.content()
        there, alive = (np.zeros(len(self._paths), dtype=np.bool_) for _ in range(2))
        there[packets] = True
        alive[packets[self._live[processors]]] = True
        waiting = there & ~self._memory.arrived
        home = np.zeros_like(there)
        home[packets[self._destination[packets] == processors]] = True
        held = waiting & (home | (alive & self._paths))
        return waiting & ~held, held
