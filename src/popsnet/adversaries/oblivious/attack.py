"""The adversary of oblivious algorithms: build bad permutations, count and execute them."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.execution import complete, uniform_permutations, verdict
from popsnet.adversaries.oblivious import construction
from popsnet.adversaries.oblivious.construction import Built
from popsnet.adversaries.oblivious.crossing import execute_paths, loads, name_of
from popsnet.adversaries.oblivious.observed_paths import observe
from popsnet.adversaries.oblivious.paths import PathSystem, find_paths, recorded
from popsnet.coins import Coins
from popsnet.engines import Outcome
from popsnet.errors import InputError
from popsnet.network import Network, require_one_wavelength
from popsnet.progress import Progress, patient_progress
from popsnet.report import Column, Report, Reported, Table, facts_of
from popsnet.routing import Router
from popsnet.theory.lower_bounds import guaranteed_congestion

MOST_N = 2**14
"""All n² pairs are examined; larger networks would take hours."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A permutation, its congestion by counting, and its execution on the machine."""

    network: Network
    destination: npt.NDArray[np.int32]
    congestion: int
    """The most paths through one node, by counting."""
    outcome: Outcome
    built: Built | None = None
    """The packets that must go through one node; None for a random permutation."""
    at_node: int = 0
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
    >>> from popsnet.adversaries import attack_oblivious
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
        return self.network.n <= construction.EXACT_N

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
            and (not self.is_worst or max(one.congestion for one in trials) <= matching.promised)
            and all(one.confirmed for one in trials)
        )

    def report(self) -> Report:
        """Return the permutations that were built, beside random ones."""
        rows = [
            {"permutation": name, **_row(one)}
            for name, one in (("greedy", self.greedy), ("matching", self.matching))
        ]
        columns = (
            *(Column(name, kind="text") for name in ("permutation", "node")),
            *(Column(name, kind="integer") for name in ("packets", "congestion", "slots")),
        )
        random = [{"congestion": one.congestion, "slots": one.outcome.slots} for one in self.random]
        mean = random and (
            f"{len(random)} random permutations: congestion "
            f"{fmean(one['congestion'] for one in random):.1f}, "
            f"slots {fmean(one['slots'] for one in random):.1f} on average"
        )
        parts = (
            Table("permutations", "", columns, rows, mean or ""),
            Table("random", "", (), random),
        )
        examined = f"{construction.NODES} nodes were examined"
        worst = "no permutation has more" if self.is_worst else examined
        text = (
            f"congestion {self.matching.congestion} by counting, {worst}; every path system "
            f"has {self.guaranteed} or more on {self.network}."
        )
        facts = facts_of(self, "network", "paths", "guaranteed", "is_worst", "confirmed")
        title = f"{self.network}: paths {self.paths}"
        return Report(title, facts, parts, verdict(self.confirmed, text), self.confirmed)


def _row(trial: Trial) -> dict[str, object]:
    assert trial.built is not None
    node, sources, destinations = trial.built
    return {
        "node": name_of(trial.network, node),
        "packets": trial.promised,
        "congestion": trial.congestion,
        "slots": trial.outcome.slots,
        "delivered": trial.outcome.delivered,
        "pairs": list(zip(sources.tolist(), destinations.tolist(), strict=True)),
    }


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
    network : Network
        The network, of 2 to 16,384 processors; at most 1024 for a router.
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
    >>> from popsnet.adversaries import attack_oblivious
    >>> attack_oblivious(Network(4, 4), "direct").matching.congestion
    4
    """
    require_one_wavelength(network)
    if paths is not None and router is not None:
        one, other = (what if isinstance(what, str) else what.name for what in (paths, router))
        raise InputError(
            f"paths = {one} and router = {other} both say which paths to attack; give one of them."
        )
    if variant is not None and router is None:
        raise InputError(f"variant = {variant} is given without a router; name the router as well.")
    if runs < 1:
        raise InputError(f"runs = {runs}: give at least 1 random permutation to compare with.")
    Coins(permutation_seed)  # refuse what is not a seed
    if router is not None:
        paths = observe(router, variant, network, progress)
    chosen = "residue" if paths is None else paths
    chosen = find_paths(chosen) if isinstance(chosen, str) else chosen
    return attack_paths(chosen, network, runs, permutation_seed, progress)


def attack_paths(
    paths: PathSystem, network: Network, randoms: int = 10, seed: int = 0, progress: Progress = None
) -> ObliviousAttack:
    """Build the greedy and the best permutation against a path system and execute them.

    Parameters
    ----------
    paths : PathSystem
        The paths to attack.
    network : Network
        The network, of 2 to 16,384 processors.
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
    >>> from popsnet.adversaries import PATH_SYSTEMS, attack_paths
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
    paths = recorded(paths, network)
    least = guaranteed_congestion(network)
    with patient_progress("paths", network.n, progress, "destinations") as report:
        popular = construction.popularity(paths, network, least, report)

    def try_built(built: Built) -> Trial:
        destination = complete(network.n, built.sources, built.destinations)
        return _try(paths, network, destination, built)

    return ObliviousAttack(
        network,
        paths.name,
        try_built(construction.build_greedily(paths, network, least, popular)),
        try_built(construction.build_by_matching(paths, network, popular)),
        tuple(_try(paths, network, one) for one in uniform_permutations(network, randoms, seed)),
    )


def _try(
    paths: PathSystem,
    network: Network,
    destination: npt.NDArray[np.int32],
    built: Built | None = None,
) -> Trial:
    """Count the congestion, also at the node of the construction, and execute."""
    counted = loads(paths, network, destination)
    at_node = 0 if built is None else int(counted[built.node])
    outcome = execute_paths(paths, network, destination)
    return Trial(network, destination, int(counted.max()), outcome, built, at_node)
