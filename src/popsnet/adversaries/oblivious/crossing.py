"""The nodes that paths go through, and how many go through each.

A node is a processor p, numbered p, or a coupler c(b, a), numbered n + b·g + a. The paper's graph:
a path goes through its couplers and all its processors but the source. In one slot a node takes
one packet, so that a permutation whose paths go m times through a node needs m slots or more,
whoever decides who goes first.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.oblivious.paths import PathSystem
from popsnet.network import Network
from popsnet.slot import Ints

Loads: TypeAlias = npt.NDArray[np.int64]


def nodes(network: Network) -> int:
    """How many nodes there are."""
    return network.n + network.couplers


def name_of(network: Network, node: int) -> str:
    """What a node is called."""
    if node < network.n:
        return f"processor {node}"
    b, a = divmod(node - network.n, network.g)
    return f"coupler c({b}, {a})"


def crossings(network: Network, ways: Ints) -> tuple[Ints, Ints]:
    """Which path goes through which node, each pair once: rows of ``ways``, and nodes.

    A path that comes back to a node goes through it once.
    """
    here, there = ways[:, :-1], ways[:, 1:]
    moves = here != there
    couplers = network.n + there // network.d * network.g + here // network.d
    rows, through = [], []
    for visited in (there, couplers):
        for k in range(visited.shape[1]):
            new = moves[:, k].copy()
            for before in range(k):
                new &= ~moves[:, before] | (visited[:, before] != visited[:, k])
            rows.append(np.flatnonzero(new))
            through.append(visited[new, k])
    return np.concatenate(rows), np.concatenate(through)


def loads(paths: PathSystem, network: Network, destination: Ints) -> Loads:
    """For every node, how many paths of a permutation go through it."""
    ways = paths.between(network, network.processors, destination)
    _, through = crossings(network, ways)
    return np.bincount(through, minlength=nodes(network))


def congestion(paths: PathSystem, network: Network, destination: Ints) -> int:
    """The largest load: no schedule of the permutation is shorter."""
    return int(loads(paths, network, destination).max())
