"""A session of the compiled engine: blocks of arrivals in, logs out."""

from __future__ import annotations

from typing import Protocol, TypeVar

import numpy as np

from popsnet.network import I32, I64, Network
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.parts import (
    DELIVERED,
    MOST_OWN,
    MOST_RELAYED,
    OWN,
    REFUSED,
    RELAYED,
    Paper,
    Parts,
    new_paper,
    new_parts,
    with_room,
)  # fmt: skip
from popsnet.traffic.log import Log

Numbers = TypeVar("Numbers", I32, I64)


class Kernel(Protocol):
    """A compiled scheduler with its queues."""

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block, and write the log."""


class FusedSession:
    """A compiled scheduler that runs slot after slot."""

    def __init__(self, network: Network, kernel: Kernel, buffer: int) -> None:
        self._kernel: Kernel | None = kernel
        self._parts = new_parts(network, buffer)
        self._n = network.n

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
        self._parts = parts = with_room(self._parts, arrivals, most)
        state = parts.state
        inside = int(state[OWN] + state[RELAYED]) + arrivals
        paper = new_paper(slots, min(inside, slots * self._n), arrivals)
        state[DELIVERED] = state[REFUSED] = 0
        state[MOST_OWN], state[MOST_RELAYED] = parts.held.max(), parts.kept.max()
        self._kernel.advance(parts, block, paper)
        return _log(parts, paper)

    def close(self) -> None:
        """Free the memory of the session."""
        self._kernel = None
        del self._parts


def _plain(block: Block) -> Block:
    """Return a block with the types that kernels are compiled for."""
    return Block(
        int(block.begin),
        np.require(block.starts, dtype=np.int64, requirements=("C", "W")),
        np.require(block.sources, dtype=np.int32, requirements=("C", "W")),
        np.require(block.destinations, dtype=np.int32, requirements=("C", "W")),
    )


def _log(parts: Parts, paper: Paper) -> Log:
    state = parts.state
    m = int(state[DELIVERED])
    refused, lost, messages, collisions, destroyed, own, relayed = paper.counts
    return Log(
        refused, lost, messages, collisions, destroyed, own, relayed, paper.ends,
        _cut(paper.arrival, m), _cut(paper.source, m), _cut(paper.destination, m),
        _cut(paper.hops, m), paper.refused_rows[: state[REFUSED]].copy(),
        int(state[MOST_OWN]), int(state[MOST_RELAYED]),
    )  # fmt: skip


def _cut(array: Numbers, m: int) -> Numbers:
    """Return the first entries, and free the memory of the others if these are many."""
    return array[:m] if 2 * m > len(array) else array[:m].copy()
