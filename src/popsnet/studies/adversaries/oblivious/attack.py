"""The adversary of oblivious algorithms: build bad permutations, count and execute them.

Build permutations with high congestion: the proof's greedy choice, and the best per node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from statistics import fmean
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from popsnet.base.errors import InputError, wrong
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Column, Report, Reported, Table, facts_of
from popsnet.engines import Outcome
from popsnet.model.coins import Coins
from popsnet.model.network import I32, I64, Network, about, on_network, require_one_wavelength
from popsnet.model.slot import Ints
from popsnet.programs.router import Router
from popsnet.studies.adversaries.execution import complete, uniform_permutations, verdict
from popsnet.studies.adversaries.oblivious import crossing
from popsnet.studies.adversaries.oblivious.observed_paths import observe
from popsnet.studies.adversaries.oblivious.paths import PathSystem, find_paths
from popsnet.theory.bounds import guaranteed_congestion

EXACT_N = 1024
"""Up to this many processors the matching is found at every node, which gives the worst case."""

NODES = 64
"""On larger networks only this many nodes are tried: half of them processors, half couplers."""

_PAIRS_AT_ONCE = 2**20


class Construction(NamedTuple):
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
) -> I64:
    """Count for every node v the destinations b with v in S_b: at least ``least`` paths to b.

    Every pair is examined, in O(n²) time and O(n) memory, and paths that are not a function of the
    pair are refused.
    """
    popular = np.zeros(crossing.nodes(network), dtype=np.int64)
    for sources, destinations in _blocks(network):
        ways = paths.require_oblivious(network, sources, destinations)
        rows, through = crossing.crossings(network, ways)
        to = (destinations[rows] - destinations[0]).astype(np.int64)
        counts = np.bincount(to * crossing.nodes(network) + through)
        often = np.flatnonzero(counts >= least) % crossing.nodes(network)
        popular += np.bincount(often, minlength=len(popular))
        if progress is not None:
            progress(int(destinations[-1]) + 1)
    return popular


def _edges(paths: PathSystem, network: Network, wanted: Ints) -> I32:
    """Return rows of nodes, sources and destinations of all paths through the nodes, by node."""
    parts = []
    for sources, destinations in _blocks(network):
        rows, through = crossing.crossings(network, paths.between(network, sources, destinations))
        chosen = np.isin(through, wanted)
        rows, through = rows[chosen], through[chosen]
        parts.append(np.stack([through, sources[rows], destinations[rows]]).astype(np.int32))
    edges = np.concatenate(parts, axis=1)
    return edges[:, np.argsort(edges[0], kind="stable")]


def build_greedily(paths: PathSystem, network: Network, least: int, popular: I64) -> Construction:
    """Make the greedy choice of the corrected proof, at the node that is in most sets S_b."""
    v = int(np.argmax(popular))
    _, sources, destinations = _edges(paths, network, np.array([v]))
    common = np.flatnonzero(np.bincount(destinations, minlength=network.n) >= least)
    chosen: dict[int, int] = {}
    for b in common.tolist():
        unused = (a for a in sources[destinations == b].tolist() if a not in chosen)
        chosen |= dict.fromkeys(islice(unused, 1), b)
    return Construction(v, np.array(list(chosen)), np.array(list(chosen.values())))


def build_by_matching(paths: PathSystem, network: Network, popular: I64) -> Construction:
    """Send as many packets as possible through one node, the best of many nodes.

    At one node this is a maximum matching of the sources and destinations whose path goes
    through it (Hopcroft and Karp, by SciPy). For n ≤ EXACT_N every node is tried, and the result
    is the worst congestion there is; on larger networks only the most popular nodes are tried.
    """
    every = np.arange(crossing.nodes(network))
    wanted = every if network.n <= EXACT_N else _popular(network, popular)
    edges = _edges(paths, network, wanted)
    at_nodes = np.split(edges, np.flatnonzero(np.diff(edges[0])) + 1, axis=1)
    best = Construction(int(edges[0, 0]), edges[1, :1], edges[2, :1])
    for node, *ends in sorted(at_nodes, key=lambda at: -at.shape[1]):
        if min(len(np.unique(ends[0])), len(np.unique(ends[1]))) > len(best.sources):
            a, b = _matching(network.n, *ends)
            if len(a) > len(best.sources):
                best = Construction(int(node[0]), a, b)
    return best


def _popular(network: Network, popular: I64) -> Ints:
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


MOST_N = 2**14
"""All n² pairs are examined; larger networks would take hours."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A permutation, its congestion by counting, and its execution on the machine."""

    network: Network
    destination: I32
    congestion: int
    """The most paths through one node, by counting."""
    outcome: Outcome
    built: Construction | None
    """The packets that must go through one node; None for a random permutation."""
    at_node: int
    """How many packets go through that node, by counting."""

    @property
    def promised(self) -> int:
        """The congestion that the construction guarantees, which counting must confirm."""
        return 0 if self.built is None else len(self.built.sources)

    @property
    def confirmed(self) -> bool:
        """Whether all packets arrived, in no fewer slots than the congestion."""
        return self.outcome.delivered == self.network.n and self.outcome.slots >= self.congestion


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ObliviousAttack(Reported):
    """The outcome of an attack on a path system, with random permutations for comparison.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import attack_oblivious
    >>> attack = attack_oblivious(Network(4, 4), "residue", runs=1)
    >>> attack.guaranteed, attack.matching.congestion, attack.is_worst
    (1, 5, True)
    """

    network: Network
    paths: str
    greedy: Trial
    matching: Trial
    random: tuple[Trial, ...]

    @property
    def guaranteed(self) -> int:
        """The congestion that the theorem guarantees for every path system."""
        return guaranteed_congestion(self.network)

    @property
    def is_worst(self) -> bool:
        """Whether no permutation has more congestion than ``matching``."""
        return self.network.n <= EXACT_N

    @property
    def confirmed(self) -> bool:
        """Whether counting and the machine confirm everything that the constructions guarantee.

        Other packets may also pass the node of the greedy choice. At the node of the matching no
        permutation has more packets than ``matching``, and if it is the worst, at no other node.
        """
        greedy, matching = self.greedy, self.matching
        trials = (greedy, matching, *self.random)
        return (
            self.guaranteed <= greedy.promised <= greedy.at_node
            and matching.promised == matching.at_node
            and (not self.is_worst or max(run.congestion for run in trials) <= matching.promised)
            and all(trial.confirmed for trial in trials)
        )

    def report(self) -> Report:
        """Return the permutations that were built, beside random ones."""
        rows = [_row("greedy", self.greedy), _row("matching", self.matching)]
        columns = (
            *(Column(name, kind="text") for name in ("permutation", "node")),
            *(Column(name, kind="integer") for name in ("packets", "congestion", "slots")),
        )
        random = [{"congestion": run.congestion, "slots": run.outcome.slots} for run in self.random]
        mean = random and (
            f"{len(random)} random permutations: congestion "
            f"{fmean(trial['congestion'] for trial in random):.1f}, "
            f"slots {fmean(trial['slots'] for trial in random):.1f} on average"
        )
        built = Table("permutations", "", columns, rows, mean or "")
        worst = "no permutation has more" if self.is_worst else f"{NODES} nodes were examined"
        text = (
            f"congestion {self.matching.congestion} by counting, {worst}; every path system "
            f"has {self.guaranteed} or more on {self.network}."
        )
        facts = facts_of(self, "network", "paths", "guaranteed", "is_worst", "confirmed")
        title = f"{self.network}: paths {self.paths}"
        parts = built, Table("random", "", (), random)
        ends = verdict(self.confirmed, text)
        return Report(title, facts, parts, ends, self.confirmed, about=about(self.network))


def _row(permutation: str, trial: Trial) -> dict[str, object]:
    assert trial.built is not None
    node, sources, destinations = trial.built
    return {
        "permutation": permutation,
        "node": crossing.name_of(trial.network, node),
        "packets": trial.promised,
        "congestion": trial.congestion,
        "slots": trial.outcome.slots,
        "delivered": trial.outcome.delivered,
        "pairs": list(zip(sources.tolist(), destinations.tolist(), strict=True)),
    }


@on_network
def attack_oblivious(
    network: Network,
    paths: PathSystem | str | None = None,
    *,
    router: Router | str | None = None,
    variant: str | None = None,
    runs: int = 10,
    permutation_seed: int = 0,
    progress: Progress = None,
) -> ObliviousAttack:
    """Build the worst permutations for the paths of an oblivious algorithm.

    Parameters
    ----------
    network : Network, or int and int
        The network, of 2 to 16,384 processors; at most 1024 for a router, or its d and g.
    paths : PathSystem or str, optional
        A path system, its name, or a file that defines one (default: ``residue``).
    router : Router or str, optional
        A router whose paths are observed, instead of ``paths``.
    variant : str, optional
        A variant of the router.
    runs : int
        The number of random permutations to compare with.
    permutation_seed : int
        The seed of the random permutations.
    progress : function, bool or None
        A function that is called with the work done and the total. None shows a progress bar on
        a terminal after two seconds, False shows nothing.

    Returns
    -------
    ObliviousAttack
        The greedy and the best permutation, counted and executed, and random ones.

    Raises
    ------
    InputError
        If the paths are not a function of source and destination; the message names a witness.

    Notes
    -----
    Every path system on POPS(g, g) has a permutation with congestion Ω(√g) (after Borodin and
    Hopcroft; Mei and Rizzi). Up to n = 1024 ``matching`` is the worst permutation there is.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import attack_oblivious
    >>> attack_oblivious(Network(4, 4), "direct").matching.congestion
    4
    """
    require_one_wavelength(network)
    if paths is not None and router is not None:
        first, other = (what if isinstance(what, str) else what.name for what in (paths, router))
        rule = f"router = {other} says which paths to attack, too; give one of them."
        raise wrong("paths", first, "router")(rule)
    if variant is not None and router is None:
        raise wrong("variant", variant)("it is given without a router; name the router as well.")
    if runs < 1:
        raise wrong("runs", runs)("give at least 1 random permutation to compare with.")
    Coins(permutation_seed)  # refuse what is not a seed
    if router is not None:
        paths = observe(router, variant, network, progress)
    chosen = "residue" if paths is None else paths
    chosen = find_paths(chosen) if isinstance(chosen, str) else chosen
    return attack_paths(chosen, network, runs, permutation_seed, progress)


@on_network
def attack_paths(
    paths: PathSystem, network: Network, randoms: int = 10, seed: int = 0, progress: Progress = None
) -> ObliviousAttack:
    """Build the greedy and the best permutation against a path system and execute them.

    Parameters
    ----------
    paths : PathSystem
        The paths to attack.
    network : Network, or int and int
        The network, of 2 to 16,384 processors, or its d and g.
    randoms : int
        The number of random permutations to compare with.
    seed : int
        The seed of the random permutations.
    progress : function, bool or None
        As for :func:`attack_oblivious`.

    Returns
    -------
    ObliviousAttack
        The greedy and the best permutation, counted and executed, and random ones.

    Raises
    ------
    InputError
        If a pair has another path when it is asked for again; the message names the pair.

    Notes
    -----
    Time O(n²) for all pairs, and a maximum matching at every node, or at 64 nodes if n > 1024.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import PATH_SYSTEMS, attack_paths
    >>> attack = attack_paths(PATH_SYSTEMS["grid"], Network(4, 4), randoms=1)
    >>> attack.matching.congestion, attack.confirmed
    (5, True)
    """
    require_one_wavelength(network)
    if not 2 <= network.n <= MOST_N:
        raise InputError(
            f"{network} has n = {network.n:,} processors, and all pairs of them are examined; give "
            f"a network of 2 to {MOST_N:,}."
        )
    paths = replace(paths, known=np.zeros((network.n, network.n), dtype=np.uint16))
    least = guaranteed_congestion(network)
    with patient_progress("paths", network.n, progress, "destinations") as report:
        popular = popularity(paths, network, least, report)

    def tried(to: I32, built: Construction | None = None) -> Trial:
        """Count the congestion, also at the node of the construction, and execute."""
        counted = crossing.loads(paths, network, to)
        at_node = 0 if built is None else int(counted[built.node])
        outcome = crossing.execute_paths(paths, network, to)
        return Trial(network, to, int(counted.max()), outcome, built, at_node)

    greedy = build_greedily(paths, network, least, popular)
    matching = build_by_matching(paths, network, popular)
    greedily, matched = (
        tried(complete(network.n, built.sources, built.destinations), built)
        for built in (greedy, matching)
    )
    random = tuple(map(tried, uniform_permutations(network, randoms, seed)))
    return ObliviousAttack(network, paths.name, greedily, matched, random)
