"""A run of mei-rizzi in terms of the paper's proof: conflict graphs, phases, lucky steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.network import Network
from popsnet.model.slot import Ints
from popsnet.programs.routers.mei_rizzi import INTERMEDIATE_GROUP, participation
from popsnet.theory import conflict_graph
from popsnet.theory.conflict_graph import ConflictGraph, Phase

MOST_STEPS = 1000
"""The analysis ends after this many steps, even if packets are still pending."""


@dataclass(frozen=True, eq=False)
class StepAnalysis:
    """One step of a run, described by its conflict graph."""

    step: int
    """The number of the step, counting from 0."""
    graph: ConflictGraph
    """The conflict graph of all packets that are pending when the step begins."""
    taking: Ints
    """The edges of the graph that take part."""
    colours: Ints
    """The intermediate groups that these draw."""
    after: ConflictGraph
    """The conflict graph of the packets that are left."""

    @property
    def phase(self) -> Phase:
        """The phase of the proof that the step belongs to."""
        return conflict_graph.phase_of(self.graph.network.g, self.graph.max_degree)

    @property
    def wanted(self) -> float | None:
        """The share of each large group that a lucky step delivers, as the proof defines it."""
        return conflict_graph.lucky_share(self.graph.network, self.graph.max_degree, self.step)

    @property
    def least(self) -> float | None:
        """The smallest share of a large group that was delivered."""
        large = conflict_graph.large_degree(self.graph.network, self.graph.max_degree, self.step)
        return conflict_graph.least_share(large, self.graph.degrees, self.after.degrees)

    @property
    def lucky(self) -> bool | None:
        """Whether the step was lucky for all large groups at both ends, None if it need not be."""
        return None if self.wanted is None or self.least is None else self.least >= self.wanted


def analyse_phases(network: Network, destination: Ints, coins: Coins) -> Iterator[StepAnalysis]:
    """Yield every step of a run, until all packets have survived slots 1 and 2.

    It is the run that the engines do with these coins, variant ``idealized``, and for d = g
    ``published``. Takes O(n) time per step.
    """
    graph = ConflictGraph.of(network, destination)
    for step in range(MOST_STEPS):
        if not graph.packets.size:
            return
        yes = coins.chances(participation(network, step), INTERMEDIATE_GROUP, step, graph.packets)
        taking = np.flatnonzero(yes)
        colours = coins.draws(network.g, INTERMEDIATE_GROUP, step, graph.packets[taking])
        delivered = np.zeros(len(graph.packets), dtype=np.bool_)
        delivered[taking] = graph.without(~yes).survivors(colours)[1]
        after = graph.without(delivered)
        yield StepAnalysis(step, graph, taking, colours, after)
        graph = after
