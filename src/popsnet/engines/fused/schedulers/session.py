"""A session of the compiled engine: blocks of arrivals in, logs out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np

from popsnet.engines.fused.schedulers import packets
from popsnet.engines.fused.schedulers.dead import dead_parts
from popsnet.engines.fused.schedulers.packets import LogBuffers
from popsnet.engines.fused.schedulers.register import Opening
from popsnet.engines.log import FaultLog, Log
from popsnet.model.network import I32, I64, Bools
from popsnet.programs.scheduler import DEAD
from popsnet.workloads.block import Block

Numbers = TypeVar("Numbers", I32, I64)


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
        slots = block.begin + np.repeat(np.arange(block.slots), np.diff(block.starts))
        unreachable = dead.unreachable_packets(slots, block.sources, block.destinations)
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
        by_slot = np.searchsorted(block.starts, refused, side="right") - 1
        unheard = int(self.state.counters[packets.UNHEARD])
        faults = FaultLog(rows, flows.astype(np.int32), 0, 0, unheard)
        log = log._replace(refused=_counted(by_slot, block.slots), refused_rows=refused)
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
        refused, lost, messages, collisions, destroyed, own, relayed = log.counts
        block_log = Log(
            refused, lost, messages, collisions, destroyed, own, relayed, log.ends,
            _cut(log.arrival, m), _cut(log.source, m), _cut(log.destination, m),
            _cut(log.hops, m), log.refused_rows[: counters[packets.REFUSED]].copy(),
            int(counters[packets.MOST_OWN]), int(counters[packets.MOST_RELAYED]),
        )  # fmt: skip
        return block_log, log.lost[: counters[packets.LOST_ROWS]]

    def close(self) -> None:
        """Free the memory of the session."""
        vars(self).clear()


def _plain(block: Block) -> Block:
    """Return a block with the types that kernels are compiled for."""
    return Block(
        int(block.begin),
        np.require(block.starts, dtype=np.int64, requirements=("C", "W")),
        np.require(block.sources, dtype=np.int32, requirements=("C", "W")),
        np.require(block.destinations, dtype=np.int32, requirements=("C", "W")),
    )


def _cut(array: Numbers, m: int) -> Numbers:
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
