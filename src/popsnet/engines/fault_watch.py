"""What became of the packets of a run with faults, which only the simulation can see."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import numpy.typing as npt

from popsnet.engines.outcome import FaultCounts
from popsnet.faults import ActiveFaults, two_way_paths
from popsnet.memory import Memory
from popsnet.slot import Ints

Bools = npt.NDArray[np.bool_]


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
        there, alive = (np.zeros(len(self._paths), dtype=np.bool_) for _ in range(2))
        there[packets] = True
        alive[packets[self._live[processors]]] = True
        waiting = there & ~self._memory.arrived
        home = np.zeros_like(there)
        home[packets[self._destination[packets] == processors]] = True
        held = waiting & (home | (alive & self._paths))
        return waiting & ~held, held
