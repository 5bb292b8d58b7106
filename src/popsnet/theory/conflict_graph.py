"""The conflict graph of the paper as an object: who is in whose way, and how crowded groups are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popsnet.errors import InputError, PermutationError
from popsnet.network import Network
from popsnet.slot import Ints

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class ConflictGraph:
    """A bipartite multigraph (Mei and Rizzi, section 3.1): an edge for every pending packet.

    It joins the packet's group and its temporary group, the destination's number mod g. A step
    gives edges colours, the intermediate groups, and delivers those that are alone of their colour
    at the source, and then alone among the survivors at the other end.
    """

    network: Network
    packets: Ints
    sources: Ints
    """The group of each packet."""
    temporaries: Ints
    """Its temporary group."""

    def __post_init__(self) -> None:
        if not len(self.packets) == len(self.sources) == len(self.temporaries):
            raise ValueError("packets, sources and temporaries are not of one length.")

    @classmethod
    def of(cls, network: Network, destination: Ints, pending: Ints | None = None) -> ConflictGraph:
        """The graph of the packets that are pending: of all, unless told."""
        if len(destination) != network.n:
            raise InputError(
                f"{len(destination)} destinations for {network}: give {network.n}, one each."
            )
        if not np.array_equal(np.sort(destination), network.processors):
            raise PermutationError(
                f"The destinations are not a permutation of 0 to {network.n - 1}; give each once."
            )
        packets = np.arange(network.n) if pending is None else np.asarray(pending)
        targets = np.asarray(destination)[packets] % network.g
        return cls(network, packets, network.group(packets), targets)

    @property
    def degrees(self) -> Ints:
        """Pending packets of all 2g nodes: groups first, then temporary groups."""
        ends = self.sources, self.temporaries
        return np.concatenate([np.bincount(one, minlength=self.network.g) for one in ends])

    @property
    def max_degree(self) -> int:
        """The paper's d_s."""
        return int(self.degrees.max())

    def histogram(self) -> Ints:
        """How many of the 2g nodes have degree 0, 1, …, the largest there is."""
        return np.bincount(self.degrees)

    def survivors(self, colours: Ints) -> tuple[Bools, Bools]:
        """Which edges survive slot 1, and which both slots, if they have these colours; O(n)."""
        first = self._alone(self.sources, colours, np.ones(len(colours), dtype=np.bool_))
        return first, first & self._alone(self.temporaries, colours, first)

    def _alone(self, ends: Ints, colours: Ints, among: Bools) -> Bools:
        couplers = ends.astype(np.int64) * self.network.g + colours
        load = np.bincount(couplers[among], minlength=self.network.couplers)
        alone: Bools = load[couplers] == 1
        return alone

    def without(self, gone: Bools) -> ConflictGraph:
        """The graph that is left."""
        stay = ~gone
        return ConflictGraph(
            self.network, self.packets[stay], self.sources[stay], self.temporaries[stay]
        )
