"""Three slots for given processors are as hard as three colours for the edges of a cubic graph."""

from __future__ import annotations

from collections import Counter

import numpy as np

from popsnet.programs.schedules import lower_bound
from popsnet.programs.schedules.fixed import straight_slots
from tests.each import each, sampled
from tests.programs.schedules.cubic import (
    NAMED,
    Graph,
    demand_of,
    exact_slots,
    fits,
    has_three_colours,
    random_cubic,
)

RANDOM = [
    (random_cubic(n, seed), f"{n} vertices, {seed}") for n in (6, 8, 10, 12) for seed in (0, 1, 2)
]


def assert_cubic(graph: Graph) -> None:
    degrees = Counter(v for edge in graph for v in edge)
    assert set(degrees.values()) == {3}
    assert set(degrees) == set(range(len(degrees)))
    assert len({frozenset(edge) for edge in graph}) == len(graph)


@each("name", sampled(NAMED, 1))
def test_graphs_whose_colours_are_known(name: str) -> None:
    graph, colourable = NAMED[name]
    assert_cubic(graph)
    assert has_three_colours(graph) == colourable
    demand = demand_of(graph)
    assert fits(demand, 3) == colourable
    assert exact_slots(demand) == (3 if colourable else 4)
    assert lower_bound(demand) <= 3
    assert int(straight_slots(demand).max()) + 1 == (3 if colourable else 4)


@each(("graph", "name"), sampled(RANDOM, 3))
def test_random_graphs_both_ways(graph: Graph, name: str) -> None:
    assert_cubic(graph)
    demand = demand_of(graph)
    assert fits(demand, 3) == has_three_colours(graph), name


def test_the_demand_has_three_packets_at_most_of_everything() -> None:
    """Two slots do not do, and no bound on loads tells three from four."""
    demand = demand_of(NAMED["Petersen"][0])
    assert demand.network.d == demand.h == 3
    couplers = demand.source // 3 * demand.network.g + demand.destination // 3
    assert np.bincount(couplers).max() == 3
    assert (demand.source != demand.destination).all()
