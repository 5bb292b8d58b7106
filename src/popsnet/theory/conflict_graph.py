"""The conflict graph of the paper: which packets can collide, and the degrees of the groups.

Also the phases of the paper's proof, and the steps that it calls lucky.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import exp
from typing import TYPE_CHECKING, Any

import numpy as np

from popsnet.base.errors import InputError, PermutationError, import_networkx
from popsnet.model.network import Bools, Ints, Network

if TYPE_CHECKING:
    import networkx as nx


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
        return np.concatenate([np.bincount(groups, minlength=self.network.g) for groups in ends])

    @property
    def max_degree(self) -> int:
        """The largest degree, d_s in the paper."""
        return int(self.degrees.max())

    def to_networkx(self, right: str = "temporary group") -> nx.MultiGraph[Any]:
        """Return the graph as a multigraph of NetworkX.

        Parameters
        ----------
        right : str
            What the nodes on the right are called.

        Returns
        -------
        networkx.MultiGraph
            Nodes are ``("group", a)``, with ``bipartite`` 0, and ``(right, t)``, with ``bipartite``
            1, each with its ``number``. An edge has the number of its packet as its key, and as
            ``packet``.

        Raises
        ------
        InputError
            If networkx is not installed (the extra ``popsnet[networkx]``).

        Examples
        --------
        >>> import numpy as np
        >>> from popsnet import Network
        >>> graph = ConflictGraph.of(Network(2, 2), np.array([3, 2, 1, 0])).to_networkx()
        >>> sorted(graph.edges(("group", 0), data="packet"))
        [(('group', 0), ('temporary group', 0), 1), (('group', 0), ('temporary group', 1), 0)]
        """
        graph = import_networkx().MultiGraph(d=self.network.d, g=self.network.g)
        for side, kind in enumerate(("group", right)):
            for number in range(self.network.g):
                graph.add_node((kind, number), bipartite=side, number=number)
        ends = self.packets.tolist(), self.sources.tolist(), self.temporaries.tolist()
        for packet, source, target in zip(*ends, strict=True):
            graph.add_edge(("group", source), (right, target), key=packet, packet=packet)
        return graph

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
        columns = self.packets, self.sources, self.temporaries
        return ConflictGraph(self.network, *(column[~gone] for column in columns))


class Phase(IntEnum):
    """The phase of a step, by the largest degree d_s of its conflict graph.

    Examples
    --------
    >>> from popsnet.theory import phase_of
    >>> phase_of(4096, 4096).name, phase_of(4096, 1200).name, phase_of(4096, 1000).name
    ('CONSTANT', 'SQUARING', 'SPARSE')
    """

    THINNING = 0
    """Above g, only for d > g: packets take part with the probability of section 3.2."""
    CONSTANT = 1
    """Above g/3: a lucky step delivers e^-2/2 of every large group. The paper ends the phase at any
    gx with x < 1/3; g/3 is the limit, below which squaring makes progress."""
    SQUARING = 2
    """Above g^(5/6): with λ = d_s/g a lucky step delivers (1 - λ)e^(-2λ), so that λ → 3λ². This
    phase is empty for g ≤ 729, where g^(5/6) ≥ g/3."""
    SPARSE = 3
    """Up to g^(5/6): the lemma needs no lucky step."""


def phase_of(g: int, degree: int) -> Phase:
    """Return the phase of a step that begins with this largest degree.

    Parameters
    ----------
    g : int
        The number of groups.
    degree : int
        The largest degree of the conflict graph before the step.

    Returns
    -------
    Phase
        The phase.

    Examples
    --------
    >>> from popsnet.theory import phase_of
    >>> phase_of(64, 64)
    <Phase.CONSTANT: 1>
    """
    if degree > g:
        return Phase.THINNING
    if degree <= g ** (5 / 6):
        return Phase.SPARSE
    return Phase.CONSTANT if degree > g / 3 else Phase.SQUARING


def planned_degree(network: Network, step: int) -> float:
    """Return the degree that section 3.2 plans before step s = 0, 1, …: d - gs/4, at least g."""
    return max(network.d - network.g * step / 4, network.g)


def large_degree(network: Network, degree: int, step: int) -> float:
    """Return the degree above which a lucky step must deliver a share of a group's packets.

    It is g^(5/6), or the planned degree of the next step while thinning.
    """
    if phase_of(network.g, degree) is Phase.THINNING:
        return planned_degree(network, step + 1)
    return float(network.g ** (5 / 6))


def lucky_share(network: Network, degree: int, step: int) -> float | None:
    """Return the least share of its packets that a lucky step delivers of every large group."""
    match phase_of(network.g, degree):
        case Phase.THINNING:
            return network.g / (4 * planned_degree(network, step))
        case Phase.CONSTANT:
            return exp(-2) / 2
        case Phase.SQUARING:
            load = degree / network.g
            return (1 - load) * exp(-2 * load)
        case Phase.SPARSE:
            return None


def least_share(large: float, before: Ints, after: Ints) -> float | None:
    """Return the smallest share that a step delivered of a node with over ``large`` packets."""
    at = before > large
    return float(np.min(1 - after[at] / before[at])) if at.any() else None
