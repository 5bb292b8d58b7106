"""The conflict graph of the paper: which packets can collide, and the degrees of the groups."""

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
    """The conflict graph of the pending packets (Mei and Rizzi, section 3.1).

    It is a bipartite multigraph with an edge for every pending packet, which joins the packet's
    group and its temporary group, the destination mod g. A step colours the edges with intermediate
    groups. It delivers a packet if its edge is the only one of its colour at the source, and then
    the only one among the survivors at the other end.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.theory import ConflictGraph
    >>> graph = ConflictGraph.of(Network(2, 2), np.array([3, 2, 1, 0]))
    >>> graph.max_degree
    2
    >>> first, both = graph.survivors(np.array([0, 1, 0, 0]))
    >>> first.tolist(), both.tolist()
    ([True, True, False, False], [True, True, False, False])
    """

    network: Network
    packets: Ints
    sources: Ints
    """The group of each packet."""
    temporaries: Ints
    """Its temporary group."""

    def __post_init__(self) -> None:
        if not len(self.packets) == len(self.sources) == len(self.temporaries):
            raise ValueError("packets, sources and temporaries must have the same length.")

    @classmethod
    def of(cls, network: Network, destination: Ints, pending: Ints | None = None) -> ConflictGraph:
        """Build the graph of the pending packets of a permutation; by default all are pending."""
        if len(destination) != network.n:
            raise InputError(
                f"There are {len(destination)} destinations for {network}; give {network.n}, one "
                "for each processor."
            )
        if not np.array_equal(np.sort(destination), network.processors):
            raise PermutationError(
                f"The destinations are not a permutation of 0 to {network.n - 1}; each number must "
                "occur once."
            )
        packets = np.arange(network.n) if pending is None else np.asarray(pending)
        targets = np.asarray(destination)[packets] % network.g
        return cls(network, packets, network.group(packets), targets)

    @property
    def degrees(self) -> Ints:
        """The pending packets of all 2g nodes: groups first, then temporary groups."""
        ends = self.sources, self.temporaries
        return np.concatenate([np.bincount(one, minlength=self.network.g) for one in ends])

    @property
    def max_degree(self) -> int:
        """The largest degree, d_s in the paper."""
        return int(self.degrees.max())

    def histogram(self) -> Ints:
        """Count how many of the 2g nodes have degree 0, 1, … up to the largest."""
        return np.bincount(self.degrees)

    def survivors(self, colours: Ints) -> tuple[Bools, Bools]:
        """Return which edges survive slot 1, and which survive both slots, with these colours.

        O(n) time.
        """
        first = self._alone(self.sources, colours, np.ones(len(colours), dtype=np.bool_))
        return first, first & self._alone(self.temporaries, colours, first)

    def _alone(self, ends: Ints, colours: Ints, among: Bools) -> Bools:
        couplers = ends.astype(np.int64) * self.network.g + colours
        load = np.bincount(couplers[among], minlength=self.network.couplers)
        alone: Bools = load[couplers] == 1
        return alone

    def without(self, gone: Bools) -> ConflictGraph:
        """Return the graph without these edges."""
        stay = ~gone
        return ConflictGraph(
            self.network, self.packets[stay], self.sources[stay], self.temporaries[stay]
        )
