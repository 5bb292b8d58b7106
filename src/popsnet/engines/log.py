"""The log of an engine: what happened in the slots of one block of arrivals."""

from __future__ import annotations

from typing import NamedTuple

from popsnet.model.network import I32, I64


class FaultLog(NamedTuple):
    """The effects of faults in the slots of a block."""

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
    """The events in the slots of a block. Engines return equal logs on the same seeds.

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
