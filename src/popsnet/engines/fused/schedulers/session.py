"""A session of the compiled engine: blocks of arrivals in, logs out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from popsnet.engines.fused.schedulers import packets
from popsnet.engines.fused.schedulers.dead import dead_parts
from popsnet.engines.fused.schedulers.packets import LogBuffers
from popsnet.engines.fused.schedulers.register import Opening
from popsnet.engines.log import FaultLog, Log
from popsnet.model.network import I32, I64, Bools
from popsnet.programs.scheduler import DEAD
from popsnet.workloads.block import Block


class SchedulerSession(ABC):
    """A compiled scheduler with its queues, which runs slot after slot.

    A subclass states which variants, networks and faults its kernel runs.
    """

    wavelengths: ClassVar[bool] = False
    """Whether the kernel runs networks with several wavelengths."""
    survives: ClassVar[frozenset[str]] = DEAD
    """The kinds of faults with which the kernel runs."""
    survives_known: ClassVar[frozenset[str]] = DEAD
    """The same if every processor knows the dead parts."""

    def __init__(self, opening: Opening) -> None:
        self.state, self._opening = packets.new_state(opening.network, opening.buffer), opening
        self.dead = None if opening.dead is None else dead_parts(opening.dead)

    @staticmethod
    def has_variant(variant: str) -> bool:
        """Return whether the kernel runs a variant."""
        return variant == "standard"

    @abstractmethod
    def execute(self, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block, and write the log."""

    def advance(self, block: Block) -> Log:
        """Execute the slots of a block and return what happened.

        With dead parts the log leaves out the packets that have no path. If the parts are known,
        these packets are not offered to the scheduler at all.
        """
        block, dead = _plain(block), self._opening.dead
        if dead is None:
            return self._run(block)[0]
        slots = np.repeat(np.arange(block.slots), np.diff(block.starts))
        ends = block.sources, block.destinations
        unreachable = dead.unreachable_packets(block.begin + slots, *ends)
        rows, offered = np.flatnonzero(unreachable), np.arange(len(unreachable))
        if dead.known:
            offered = np.flatnonzero(~unreachable)
        log, lost = self._run(block.without(rows) if dead.known else block)
        refused, when = offered[log.refused_rows], np.repeat(np.arange(block.slots), log.lost)
        refused, flows = refused[~unreachable[refused]], lost[:, 1:]
        if not dead.known:
            gone = dead.unreachable_packets(*lost.T)
            when, flows = when[~gone], flows[~gone]
            log = _without(log, dead.unreachable_packets(log.arrival, log.source, log.destination))
        unheard = int(self.state.counters[packets.UNHEARD])
        faults = FaultLog(rows, flows.astype(np.int32), 0, 0, unheard)
        log = log._replace(refused=_counted(slots[refused], block.slots), refused_rows=refused)
        return log._replace(lost=_counted(when, block.slots), faults=faults)

    def _run(self, block: Block) -> tuple[Log, I64]:
        """Execute the slots of a block, and return also the arrivals and ends of lost packets."""
        arrivals, most = len(block.sources), int(np.diff(block.starts).max(initial=0))
        self.state = state = packets.with_room(self.state, arrivals, most)
        counters = state.counters
        inside = int(counters[packets.OWN] + counters[packets.RELAYED]) + arrivals
        may_lose = self._opening.buffer > 0 or self.dead is not None
        deliveries = min(inside, block.slots * len(state.held))
        log = packets.new_buffers(block.slots, deliveries, arrivals, inside if may_lose else 0)
        for of_block in (packets.DELIVERED, packets.REFUSED, packets.LOST_ROWS, packets.UNHEARD):
            counters[of_block] = 0
        counters[packets.MOST_OWN] = state.held.max()
        counters[packets.MOST_RELAYED] = state.transit.max()
        self.execute(block, log)
        m = int(counters[packets.DELIVERED])
        of_packets = log.arrival, log.source, log.destination, log.hops
        refused_rows = log.refused_rows[: counters[packets.REFUSED]].copy()
        most_held = int(counters[packets.MOST_OWN]), int(counters[packets.MOST_RELAYED])
        cut = [_cut(column, m) for column in of_packets]
        parts = [*log.counts, log.ends, *cut, refused_rows, *most_held, None]
        return Log._make(parts), log.lost[: counters[packets.LOST_ROWS]]

    def close(self) -> None:
        """Free the memory of the session."""
        vars(self).clear()


def _plain(block: Block) -> Block:
    """Return a block with the types that kernels are compiled for."""
    begin, starts, *ends = block
    sources, destinations = (np.require(some, np.int32, ("C", "W")) for some in ends)
    return Block(int(begin), np.require(starts, np.int64, ("C", "W")), sources, destinations)


def _cut(array: npt.NDArray[Any], m: int) -> npt.NDArray[Any]:
    """Return the first entries, and free the memory of the others if these are many."""
    return array[:m] if 2 * m > len(array) else array[:m].copy()


def _without(log: Log, gone: Bools) -> Log:
    """Return a log without some deliveries."""
    before = np.concatenate(([0], np.cumsum(gone)))
    names = "arrival", "source", "destination", "hops"
    columns: dict[str, Any] = {name: getattr(log, name)[~gone] for name in names}
    return log._replace(ends=log.ends - before[log.ends], **columns)


def _counted(slots: I64, most: int) -> I32:
    return np.bincount(slots, minlength=most).astype(np.int32)
