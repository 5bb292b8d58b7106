"""A session of the compiled engine: blocks of arrivals in, logs out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from popsnet.network import I32, I64
from popsnet.traffic.arrivals import Block
from popsnet.traffic.faulty import TrafficFaults
from popsnet.traffic.fused.dead import Bools, DeadParts, dead_parts
from popsnet.traffic.fused.register import Opening
from popsnet.traffic.fused.state import (
    DELIVERED,
    LOST_ROWS,
    MOST_OWN,
    MOST_RELAYED,
    OWN,
    REFUSED,
    RELAYED,
    UNHEARD,
    KernelState,
    LogBuffers,
    new_buffers,
    new_state,
    with_room,
)
from popsnet.traffic.log import FaultLog, Log

Numbers = TypeVar("Numbers", I32, I64)


class Kernel(Protocol):
    """A compiled scheduler with its queues."""

    def advance(
        self, state: KernelState, block: Block, log: LogBuffers, dead: DeadParts | None
    ) -> None:
        """Execute the slots of a block, and write the log."""


class FusedSession:
    """A compiled scheduler that runs slot after slot."""

    def __init__(self, opening: Opening, kernel: Kernel) -> None:
        self._kernel: Kernel | None = kernel
        self._state, self._opening = new_state(opening.network, opening.buffer), opening
        self._dead = None if opening.dead is None else dead_parts(opening.dead)

    def advance(self, block: Block) -> Log:
        """Execute the slots of a block and return what happened.

        Parameters
        ----------
        block : Block
            The arrivals of the next slots.

        Returns
        -------
        Log
            Deliveries, and counts of every slot.
        """
        block = _plain(block)
        if self._opening.dead is None:
            return _log(self._state, self._execute(block))
        return advance_with_dead_parts(self._opening.dead, block, self._advance)

    def _advance(self, block: Block) -> tuple[Log, Lost]:
        """Execute the slots of a block with dead parts, and return also what was lost."""
        buffers = self._execute(_plain(block))
        counters = self._state.counters
        rows = buffers.lost[: counters[LOST_ROWS]]
        return _log(self._state, buffers), Lost(rows, int(counters[UNHEARD]))

    def _execute(self, block: Block) -> LogBuffers:
        assert self._kernel is not None, "the session is closed"
        slots, arrivals = len(block.starts) - 1, len(block.sources)
        most = int(np.diff(block.starts).max(initial=0))
        self._state = state = with_room(self._state, arrivals, most)
        counters = state.counters
        inside = int(counters[OWN] + counters[RELAYED]) + arrivals
        may_lose = self._opening.buffer > 0 or self._dead is not None
        log = new_buffers(
            slots, min(inside, slots * len(state.held)), arrivals, inside if may_lose else 0
        )
        counters[DELIVERED] = counters[REFUSED] = counters[LOST_ROWS] = counters[UNHEARD] = 0
        counters[MOST_OWN], counters[MOST_RELAYED] = state.held.max(), state.kept.max()
        self._kernel.advance(state, block, log, self._dead)
        return log

    def close(self) -> None:
        """Free the memory of the session."""
        self._kernel = None
        del self._state


def _plain(block: Block) -> Block:
    """Return a block with the types that kernels are compiled for."""
    return Block(
        int(block.begin),
        np.require(block.starts, dtype=np.int64, requirements=("C", "W")),
        np.require(block.sources, dtype=np.int32, requirements=("C", "W")),
        np.require(block.destinations, dtype=np.int32, requirements=("C", "W")),
    )


def _log(state: KernelState, log: LogBuffers) -> Log:
    counters = state.counters
    m = int(counters[DELIVERED])
    refused, lost, messages, collisions, destroyed, own, relayed = log.counts
    return Log(
        refused, lost, messages, collisions, destroyed, own, relayed, log.ends,
        _cut(log.arrival, m), _cut(log.source, m), _cut(log.destination, m),
        _cut(log.hops, m), log.refused_rows[: counters[REFUSED]].copy(),
        int(counters[MOST_OWN]), int(counters[MOST_RELAYED]),
    )  # fmt: skip


def _cut(array: Numbers, m: int) -> Numbers:
    """Return the first entries, and free the memory of the others if these are many."""
    return array[:m] if 2 * m > len(array) else array[:m].copy()


class Lost(NamedTuple):
    """What was lost in the slots of a block, in order of slot."""

    rows: I64
    """The slot of arrival, the source and the destination of each packet."""
    unheard: int
    """Messages that faults kept from a listener, counted once per listener."""


def advance_with_dead_parts(
    faults: TrafficFaults, block: Block, advance: Callable[[Block], tuple[Log, Lost]]
) -> Log:
    """Execute the slots of a block, and return a log without the packets that have no path.

    If dead parts are known, these packets are not offered to the scheduler at all.
    """
    slots = block.begin + np.repeat(np.arange(block.slots), np.diff(block.starts))
    hopeless = faults.hopeless(slots, block.sources, block.destinations)
    rows, offered = np.flatnonzero(hopeless), np.arange(len(hopeless))
    if faults.known:
        offered = np.flatnonzero(~hopeless)
    log, lost = advance(block.without(rows) if faults.known else block)
    refused, when = offered[log.refused_rows], np.repeat(np.arange(block.slots), log.lost)
    refused, flows = refused[~hopeless[refused]], lost.rows[:, 1:]
    if not faults.known:
        gone = faults.hopeless(*lost.rows.T)
        when, flows = when[~gone], flows[~gone]
        log = _without(log, faults.hopeless(log.arrival, log.source, log.destination))
    by_slot = np.searchsorted(block.starts, refused, side="right") - 1
    found = FaultLog(rows, flows.astype(np.int32), 0, 0, lost.unheard)
    log = log._replace(refused=_counted(by_slot, block.slots), refused_rows=refused)
    return log._replace(lost=_counted(when, block.slots), faults=found)


def _without(log: Log, gone: Bools) -> Log:
    """Return a log without some deliveries."""
    before = np.concatenate(([0], np.cumsum(gone)))
    names = "arrival", "source", "destination", "hops"
    kept: dict[str, Any] = {name: getattr(log, name)[~gone] for name in names}
    return log._replace(ends=log.ends - before[log.ends], **kept)


def _counted(slots: I64, most: int) -> I32:
    return np.bincount(slots, minlength=most).astype(np.int32)
