"""Cubic graphs, their demands, and exact searches that share no code with popsnet's."""

from __future__ import annotations

import numpy as np

from popsnet import Network
from popsnet.programs.schedules import Demand

Graph = list[tuple[int, int]]


def exact_slots(demand: Demand) -> int:
    """The fewest slots in which all packets go straight."""
    slots = 0
    while not fits(demand, slots):
        slots += 1
    return slots


def fits(demand: Demand, slots: int) -> bool:
    """Whether all packets can go straight in these slots, by search with backtracking."""
    d, ends = demand.network.d, (demand.source.tolist(), demand.destination.tolist())
    moving = [(a, b) for a, b in zip(*ends, strict=True) if a != b]
    meets = [
        [
            k
            for k, (a, b) in enumerate(moving)
            if k != i and (a == c or b == e or (a // d, b // d) == (c // d, e // d))
        ]
        for i, (c, e) in enumerate(moving)
    ]
    given: dict[int, int] = {}

    def complete() -> bool:
        if len(given) == len(moving):
            return True
        free = {
            i: set(range(slots)) - {given[k] for k in meets[i] if k in given}
            for i in range(len(moving))
            if i not in given
        }
        packet = min(free, key=lambda i: (len(free[i]), -len(meets[i])))
        unused = max(given.values(), default=-1) + 1
        for slot in sorted(free[packet]):
            if slot > unused:  # slots that no packet has are alike
                break
            given[packet] = slot
            if complete():
                return True
            del given[packet]
        return False

    return complete()


def demand_of(graph: Graph) -> Demand:
    """The demand that three slots can carry if and only if three colours suffice.

    Group v has a sender and a listener for each of its edges: of the i-th edge, sender i and
    listener i + 1 mod 3.
    """
    seen: dict[int, int] = {}
    packets: list[tuple[int, int]] = []
    for u, v in graph:
        i, j = seen.get(u, 0), seen.get(v, 0)
        seen[u], seen[v] = i + 1, j + 1
        packets += [(3 * u + i, 3 * u + (i + 1) % 3), (3 * v + j, 3 * v + (j + 1) % 3)]
        packets += [(3 * u + i, 3 * v + (j + 1) % 3)] * 2
    return Demand(Network(3, len(seen)), *np.array(packets).T)


def has_three_colours(graph: Graph) -> bool:
    """Whether the edges have a proper colouring with three colours, edge by edge."""
    used: set[tuple[int, int]] = set()

    def colour(k: int) -> bool:
        if k == len(graph):
            return True
        u, v = graph[k]
        for shade in range(3):
            if (u, shade) not in used and (v, shade) not in used:
                used.update({(u, shade), (v, shade)})
                if colour(k + 1):
                    return True
                used.difference_update({(u, shade), (v, shade)})
        return False

    return colour(0)


def random_cubic(vertices: int, seed: int) -> Graph:
    """A simple cubic graph: three stubs per vertex, paired at random until all edges differ."""
    rng = np.random.default_rng(seed)
    while True:
        stubs = rng.permutation(np.repeat(np.arange(vertices), 3)).reshape(-1, 2).tolist()
        if all(u != v for u, v in stubs) and len({frozenset(pair) for pair in stubs}) == len(stubs):
            return [(u, v) for u, v in stubs]


def bridged() -> Graph:
    """Two copies of K4, each with a vertex put on an edge, and an edge between these two."""
    half = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 4), (4, 3)]
    return [*half, *((u + 5, v + 5) for u, v in half), (4, 9)]


NAMED: dict[str, tuple[Graph, bool]] = {
    "K4": ([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)], True),
    "K3,3": ([(u, v) for u in (0, 1, 2) for v in (3, 4, 5)], True),
    "prism": ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3), (1, 4), (2, 5)], True),
    "Petersen": (
        [
            *((i, (i + 1) % 5) for i in range(5)),
            *((i, i + 5) for i in range(5)),
            *((i + 5, (i + 2) % 5 + 5) for i in range(5)),
        ],
        False,
    ),
    "bridge": (bridged(), False),
}
"""Graphs, and whether three colours are enough for their edges."""
