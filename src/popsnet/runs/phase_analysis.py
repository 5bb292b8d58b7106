"""The course of a run of mei-rizzi in terms of the paper's proof: conflict graphs, phases, luck."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from popsnet.coins import Coins
from popsnet.network import Network
from popsnet.routing.mei_rizzi import INTERMEDIATE_GROUP, participation
from popsnet.slot import Ints
from popsnet.theory.conflict_graph import ConflictGraph
from popsnet.theory.phases import Phase, large_degree, least_share, lucky_share, phase_of

MOST_STEPS = 1000
"""A course ends there, whether all are home or not."""


@dataclass(frozen=True, eq=False)
class StepAnalysis:
    """One step of a run, by its conflict graph."""

    step: int
    """0, 1, …"""
    graph: ConflictGraph
    """Of all packets that are pending when it begins."""
    taking: Ints
    """Which edges of the graph take part."""
    colours: Ints
    """The intermediate groups that they draw."""
    after: ConflictGraph
    """What is left."""

    @property
    def phase(self) -> Phase:
        """The phase of the proof that it belongs to."""
        return phase_of(self.graph.network.g, self.graph.max_degree)

    @property
    def wanted(self) -> float | None:
        """What the proof calls lucky: so much of each large group is delivered."""
        return lucky_share(self.graph.network, self.graph.max_degree, self.step)

    @property
    def least(self) -> float | None:
        """What was delivered of a large group, at least."""
        large = large_degree(self.graph.network, self.graph.max_degree, self.step)
        return least_share(large, self.graph.degrees, self.after.degrees)

    @property
    def lucky(self) -> bool | None:
        """Whether it was lucky for all large groups at both ends; None where no luck is needed."""
        if self.wanted is None or self.least is None:
            return None
        return self.least >= self.wanted


def analyse_phases(network: Network, destination: Ints, coins: Coins) -> Iterator[StepAnalysis]:
    """Every step of a run, until all packets have survived slots 1 and 2; O(n) a step.

    It is the run that the engines do with these coins, variant ``idealized``, and for d = g
    ``published``.
    """
    graph = ConflictGraph.of(network, destination)
    for step in range(MOST_STEPS):
        if not graph.packets.size:
            return
        chance = participation(network, step)
        yes = coins.chances(chance, INTERMEDIATE_GROUP, step, graph.packets)
        taking = np.flatnonzero(yes)
        colours = coins.draws(network.g, INTERMEDIATE_GROUP, step, graph.packets[taking])
        home = np.zeros(len(graph.packets), dtype=np.bool_)
        home[taking] = graph.without(~yes).survivors(colours)[1]
        after = graph.without(home)
        yield StepAnalysis(step, graph, taking, colours, after)
        graph = after
