"""A session of the compiled engine: blocks of arrivals in, logs out."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from popsnet.network import I32, I64
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.register import Opening
from popsnet.traffic.fused.state import (
    DELIVERED,
    MOST_OWN,
    MOST_RELAYED,
    OWN,
    REFUSED,
    RELAYED,
    KernelState,
    LogBuffers,
    new_buffers,
    new_state,
    with_room,
)
from popsnet.traffic.log import Log

Numbers = TypeVar("Numbers", I32, I64)


class Kernel(Protocol):
    """A compiled scheduler with its queues."""

    def advance(self, state: KernelState, block: Block, log: LogBuffers) -> None:
        """Execute the slots of a block, and write the log."""


class FusedSession:
    """A compiled scheduler that runs slot after slot."""

    def __init__(self, opening: Opening, kernel: Kernel) -> None:
        self._kernel: Kernel | None = kernel
        self._state = new_state(opening.network, opening.buffer)
        self._n = opening.network.n

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
        assert self._kernel is not None, "the session is closed"
        block = _plain(block)
        slots, arrivals = len(block.starts) - 1, len(block.sources)
        most = int(np.diff(block.starts).max(initial=0))
        self._state = state = with_room(self._state, arrivals, most)
        counters = state.counters
        inside = int(counters[OWN] + counters[RELAYED]) + arrivals
        log = new_buffers(slots, min(inside, slots * self._n), arrivals)
        counters[DELIVERED] = counters[REFUSED] = 0
        counters[MOST_OWN], counters[MOST_RELAYED] = state.held.max(), state.kept.max()
        self._kernel.advance(state, block, log)
        return _log(state, log)

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
