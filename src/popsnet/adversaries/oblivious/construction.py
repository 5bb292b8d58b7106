"""Build permutations with high congestion: the proof's greedy choice, and the best per node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from popsnet.adversaries.oblivious.crossing import Loads, crossings, nodes
from popsnet.adversaries.oblivious.paths import PathSystem
from popsnet.network import Network
from popsnet.slot import Ints

EXACT_N = 1024
"""Up to this many processors the matching is found at every node, which gives the worst case."""

NODES = 64
"""On larger networks only this many nodes are tried: half of them processors, half couplers."""

_PAIRS_AT_ONCE = 2**20


class Built(NamedTuple):
    """Sources and destinations of packets whose paths all go through one node."""

    node: int
    sources: Ints
    destinations: Ints


def _blocks(network: Network) -> Iterator[tuple[Ints, Ints]]:
    """Yield all pairs of different sources and destinations, some destinations at a time."""
    n, processors = network.n, network.processors
    at_once = max(_PAIRS_AT_ONCE // n, 1)
    for low in range(0, n, at_once):
        some = processors[low : low + at_once]
        sources, destinations = np.tile(processors, len(some)), np.repeat(some, n)
        different = sources != destinations
        yield sources[different], destinations[different]


def popularity(
    paths: PathSystem, network: Network, least: int, progress: Callable[[int], None] | None = None
) -> Loads:
    """Count for every node v the destinations b with v in S_b: at least ``least`` paths to b.

    Every pair is examined, in O(n²) time and O(n) memory, and paths that are not a function of the
    pair are refused.
    """
    found = np.zeros(nodes(network), dtype=np.int64)
    for sources, destinations in _blocks(network):
        ways = paths.require_oblivious(network, sources, destinations)
        rows, through = crossings(network, ways)
        to = (destinations[rows] - destinations[0]).astype(np.int64)
        counts = np.bincount(to * nodes(network) + through)
        found += np.bincount(np.flatnonzero(counts >= least) % nodes(network), minlength=len(found))
        if progress is not None:
            progress(int(destinations[-1]) + 1)
    return found


def _edges(paths: PathSystem, network: Network, wanted: Ints) -> tuple[Ints, Ints, Ints]:
    """Return node, source and destination of all paths through the wanted nodes, by node."""
    parts = []
    for sources, destinations in _blocks(network):
        rows, through = crossings(network, paths.between(network, sources, destinations))
        chosen = np.isin(through, wanted)
        rows, through = rows[chosen], through[chosen]
        parts.append(np.stack([through, sources[rows], destinations[rows]]).astype(np.int32))
    edges = np.concatenate(parts, axis=1)
    node, source, destination = edges[:, np.argsort(edges[0], kind="stable")]
    return node, source, destination


def build_greedily(paths: PathSystem, network: Network, least: int, popular: Loads) -> Built:
    """Make the greedy choice of the corrected proof, at the node that is in most sets S_b."""
    v = int(np.argmax(popular))
    _, sources, destinations = _edges(paths, network, np.array([v]))
    common = np.flatnonzero(np.bincount(destinations, minlength=network.n) >= least)
    chosen: dict[int, int] = {}
    for b in common.tolist():
        unused = (a for a in sources[destinations == b].tolist() if a not in chosen)
        chosen |= dict.fromkeys(islice(unused, 1), b)
    return Built(v, np.array(list(chosen)), np.array(list(chosen.values())))


def build_by_matching(paths: PathSystem, network: Network, popular: Loads) -> Built:
    """Send as many packets as possible through one node, the best of many nodes.

    At one node this is a maximum matching of the sources and destinations whose path goes
    through it (Hopcroft and Karp, by SciPy). For n ≤ EXACT_N every node is tried, and the result
    is the worst congestion there is; on larger networks only the most popular nodes are tried.
    """
    wanted = np.arange(nodes(network)) if network.n <= EXACT_N else _popular(network, popular)
    node, source, destination = _edges(paths, network, wanted)
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    ends = np.append(starts[1:], len(node))
    ranges = sorted(zip(starts, ends, strict=True), key=lambda at: at[0] - at[1])
    best = Built(int(node[0]), source[:1], destination[:1])
    for low, high in ranges:
        here = source[low:high], destination[low:high]
        if min(len(np.unique(here[0])), len(np.unique(here[1]))) > len(best.sources):
            a, b = _matching(network.n, *here)
            if len(a) > len(best.sources):
                best = Built(int(node[low]), a, b)
    return best


def _popular(network: Network, popular: Loads) -> Ints:
    """Return the most popular processors and couplers, the same number of each.

    Couplers are in more sets S_b, but the d sources and d destinations at their ends limit the
    packets on many of them to 2d, whereas any packet may pass a processor.
    """
    kinds = np.split(popular, [network.n])
    ranked = [np.argsort(-kind, kind="stable")[: NODES // 2] for kind in kinds]
    return np.concatenate([ranked[0], network.n + ranked[1]])


def _matching(n: int, sources: Ints, destinations: Ints) -> tuple[Ints, Ints]:
    graph = csr_array((np.ones(len(sources), np.int8), (sources, destinations)), shape=(n, n))
    partner = maximum_bipartite_matching(graph, perm_type="column")
    matched = np.flatnonzero(partner >= 0)
    return matched, partner[matched]
