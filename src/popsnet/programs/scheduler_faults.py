"""The faults of one run of a scheduler: what the machine, the memory and the scheduler need."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import Any

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.faults import ActiveFaults, Faults
from popsnet.model.faults.live_parts import LiveParts
from popsnet.model.medium import Medium, make_medium
from popsnet.model.memory import FaultTolerance, mixed
from popsnet.model.network import Bools, Ints, Network
from popsnet.model.traffic_memory import TrafficMemory
from popsnet.programs.scheduler import Scheduler


class TrafficFaults:
    """The faults of a run, with the random ones drawn; there may be none.

    Parameters
    ----------
    network : Network
        The network.
    scheduler : Scheduler
        The scheduler, which says what it survives and which paths it can use.
    faults : Faults
        The dead parts and the loss.
    seed : int
        The seed of random faults and lost messages.
    known : bool
        Whether every processor knows the dead parts.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Faults, Network
    >>> from popsnet.traffic import find_scheduler
    >>> from popsnet.programs.scheduler_faults import TrafficFaults
    >>> faults = TrafficFaults(Network(2, 2), find_scheduler("tdm"), Faults.parse("coupler:0-1"))
    >>> faults.unreachable(0, np.array([0, 0]), np.array([1, 2]))
    array([False,  True])
    """

    def __init__(
        self, network: Network, scheduler: Scheduler, faults: Faults, seed: int = 0,
        known: bool = False,
    ) -> None:  # fmt: skip
        self.network, self._scheduler, self.known = network, scheduler, known
        self.active = ActiveFaults(network, faults, Coins(seed).for_run(0))
        self.kinds, self.has_dead_parts = faults.kinds, bool(faults.kinds - {"loss"})
        self.paths = scheduler.paths
        """The paths that the scheduler can use."""
        self.survives = scheduler.expects(faults.kinds, known)
        """Whether the scheduler states that it survives these faults."""
        self._slots, self._begun = self.active.faults.slots, -1

    @cached_property
    def live(self) -> LiveParts:
        """The parts that work to the end."""
        return LiveParts(self.network, self.active.faults, self.known)

    @property
    def medium(self) -> Medium:
        """The medium of the run."""
        return make_medium(self.network, self.active if self.kinds else None)

    @property
    def memory(self) -> type[TrafficMemory]:
        """The kind of memory for the run: a tolerant one if the scheduler does not survive."""
        return TrafficMemory if self.survives else mixed(FaultTolerance, TrafficMemory)

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords for the scheduler's generator function."""
        names = {"fault_map": self._scheduler.uses_fault_map, "known": self._scheduler.takes_map}
        return {name: self.live for name, used in names.items() if used and self.known}

    def unreachable(self, slot: int, sources: Ints, destinations: Ints) -> Bools:
        """Return which packets that arrive in a slot have no path.

        What is dead in this slot counts, or all dead parts if they are known. Slots are counted
        from 0 here, and from 1 in faults.
        """
        if not self.has_dead_parts:
            return np.zeros(len(sources), dtype=np.bool_)
        working = self.live if self.known else self._working_in(slot + 1)
        return ~working.reach(self.paths, sources, destinations)

    def unreachable_packets(self, slots: Ints, sources: Ints, destinations: Ints) -> Bools:
        """Return which packets have no path when they arrive, each in a slot of its own."""
        begun = np.searchsorted(self._slots, slots + 1, side="right")
        lacks_path = np.empty(len(slots), dtype=np.bool_)
        for number in np.unique(begun):
            rows = np.flatnonzero(begun == number)
            ends = sources[rows], destinations[rows]
            lacks_path[rows] = self.unreachable(int(slots[rows[0]]), *ends)
        return lacks_path

    def _working_in(self, slot: int) -> LiveParts:
        begun = bisect_right(self._slots, slot)
        if begun != self._begun:
            dead = self.active.faults.begun(slot)
            self._begun, self._working = begun, LiveParts(self.network, dead, known=False)
        return self._working
