"""The arrivals of consecutive slots, and the log of an engine: what happened in these slots."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.network import I32, I64


class Block(NamedTuple):
    """The arrivals of consecutive slots, in order of slot and then of source.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic.arrivals import make_arrivals
    >>> block = make_arrivals(Network(2, 2), load=0.5).block(0, 3)
    >>> block.sources[block.starts[1] : block.starts[2]]  # those of slot 1
    array([2], dtype=int32)
    """

    begin: int
    """The first slot."""
    starts: I64
    """The arrivals of slot ``begin + k`` are ``starts[k]`` to ``starts[k + 1] - 1``."""
    sources: I32
    """The processor at which each packet arrives."""
    destinations: I32
    """The processor to which each packet goes."""

    def without(self, rows: I64) -> Block:
        """Return the arrivals without those at some positions."""
        if not len(rows):
            return self
        kept = np.ones(len(self.sources), dtype=np.bool_)
        kept[rows] = False
        starts = self.starts - np.searchsorted(np.sort(rows), self.starts)
        return Block(self.begin, starts, self.sources[kept], self.destinations[kept])

    @property
    def slots(self) -> int:
        """The number of slots."""
        return len(self.starts) - 1


class FaultLog(NamedTuple):
    """What faults did in the slots of a block."""

    unreachable_rows: I64
    """The positions, in the block, of the arrivals for which the scheduler has no live path."""
    lost_flows: I32
    """The source and the destination of each lost packet."""
    duplicated: int
    """Deliveries of packets that had been delivered before."""
    skipped: int
    """Actions that a processor could not do because it missed a message."""
    unheard: int
    """Messages that faults kept from a listener, counted once per listener."""


class Log(NamedTuple):
    """What happened in the slots of a block. Engines return equal logs on the same seeds.

    The first seven arrays have an entry per slot, the next five describe deliveries in order of
    slot, then destination.
    """

    refused: I32
    """Arrivals that were refused because the buffer of their source was full."""
    lost: I32
    """Packets that no processor holds any more, though they were not delivered."""
    messages: I32
    """Messages sent. A multicast is one message."""
    collisions: I32
    """Couplers with two or more messages."""
    destroyed: I32
    """Messages on such couplers."""
    own: I32
    """Packets held by their sources after the slot."""
    relayed: I32
    """Packets held by other processors after the slot."""
    ends: I64
    """The number of deliveries up to and including each slot of the block."""
    arrival: I64
    """The slot in which each delivered packet arrived."""
    source: I32
    destination: I32
    hops: I32
    refused_rows: I64
    """The positions, in the block, of the arrivals that were refused."""
    most_own: int
    """The most packets of its own that a processor held after a slot, or at the start."""
    most_relayed: int
    """The most packets of others that a processor held after a slot, or at the start."""
    faults: FaultLog | None = None
    """What faults did, None in a run without faults."""
