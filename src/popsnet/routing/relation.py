"""How a router serves demands: h-relations, in which a processor may have several packets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from popsnet.memory import Memory
from popsnet.network import I32
from popsnet.routing.facts import NO_WORDS, Words
from popsnet.schedules.demand import Demand
from popsnet.slot import Ints

if TYPE_CHECKING:
    from popsnet.routing.router import Route


def own_and_due(demand: Demand) -> int:
    """Return the most packets that start at a processor, and the most that are for one, in all.

    A processor that relays nothing holds at most that many.
    """
    return most(demand.source) + most(demand.destination)


def most(processors: Ints) -> int:
    """Return how often the most frequent processor occurs."""
    return int(np.bincount(processors).max()) if len(processors) else 0


def take_home(destination: Ints, memory: Memory) -> I32:
    """Deliver the packets that start at their destinations, and return the others."""
    at_home = memory.start == destination
    packets = np.flatnonzero(at_home).astype(np.int32)
    while len(packets):  # each processor takes one at a time
        first = np.unique(memory.start[packets], return_index=True)[1]
        memory.deliver(memory.start[packets[first]], packets[first])
        packets = np.delete(packets, first)
    return np.flatnonzero(~at_home).astype(np.int32)


@dataclass(frozen=True)
class Relation:
    """One way in which a router serves demands.

    Parameters
    ----------
    route : generator function
        A function of the network, the destinations, the coins and the memory that yields slots.
        Packet p starts at processor ``memory.start[p]``.
    name : str
        The name of the variant.
    buffers : function of a demand
        Returns the packets that a processor may hold. By default these are its own and those for
        it.
    words : Words
        Texts that explain its traces.
    wavelengths : bool
        Whether it uses all wavelengths of a coupler.

    Examples
    --------
    >>> import popsnet
    >>> sorted(popsnet.find_router("direct").relations)
    ['in-groups', 'to-all']
    """

    route: Route
    name: str
    buffers: Callable[[Demand], int] = own_and_due
    words: Words = NO_WORDS
    wavelengths: bool = False
