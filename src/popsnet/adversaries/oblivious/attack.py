"""The adversary of oblivious algorithms: builds bad permutations, counts, and has them executed."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from popsnet.adversaries.execution import uniform_permutations
from popsnet.adversaries.oblivious import construction
from popsnet.adversaries.oblivious.consistency import recorded
from popsnet.adversaries.oblivious.construction import Built
from popsnet.adversaries.oblivious.crossing import loads
from popsnet.adversaries.oblivious.executor import execute_paths
from popsnet.adversaries.oblivious.observed_paths import observe
from popsnet.adversaries.oblivious.paths import PathSystem, find_paths
from popsnet.adversaries.reports import oblivious_report
from popsnet.coins import Coins
from popsnet.engines import Outcome
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.progress import Progress, patient_progress
from popsnet.report import Report, Reported
from popsnet.routing import Router
from popsnet.slot import Ints
from popsnet.theory.lower_bounds import guaranteed_congestion

MOST_N = 2**14
"""All n² pairs are looked at: beyond it would take hours."""


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A permutation that was counted and executed."""

    congestion: int
    """By counting: the most paths through a node."""
    at_node: int
    """How many of them go through the node where the construction says."""
    outcome: Outcome

    def confirmed(self, network: Network) -> bool:
        """Whether all arrived, on no shorter a schedule than the count allows."""
        return self.outcome.delivered == network.n and self.outcome.slots >= self.congestion


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ObliviousAttack(Reported):
    """What was built against a path system, with random permutations for comparison."""

    network: Network
    paths: str
    greedy: Built
    greedy_trial: Trial
    matching: Built
    matching_trial: Trial
    random: tuple[Trial, ...]

    @property
    def guaranteed(self) -> int:
        """The congestion that the theorem promises against every path system."""
        return guaranteed_congestion(self.network)

    @property
    def is_worst(self) -> bool:
        """Whether no permutation has more congestion than the matching's."""
        return self.nodes_examined is None

    @property
    def nodes_examined(self) -> int | None:
        """At how many nodes the matching was found; None for all of them."""
        return None if self.network.n <= construction.EXACT_N else construction.NODES

    @property
    def random_congestion(self) -> float:
        """The mean congestion of the random permutations."""
        return fmean(one.congestion for one in self.random)

    @property
    def random_slots(self) -> float:
        """The mean slots of the random permutations."""
        return fmean(one.outcome.slots for one in self.random)

    @property
    def confirmed(self) -> bool:
        """Whether counting and the machine agree with all that was promised.

        At the node of the greedy choice other packets may pass, too; at that of the matching no
        permutation has more than it, and where it is the worst, nowhere else.
        """
        trials = (self.greedy_trial, self.matching_trial, *self.random)
        most = max(trial.congestion for trial in trials)
        return (
            self.guaranteed <= self.greedy.promised <= self.greedy_trial.at_node
            and self.matching.promised == self.matching_trial.at_node
            and (most <= self.matching.promised or not self.is_worst)
            and all(trial.confirmed(self.network) for trial in trials)
        )

    def report(self) -> Report:
        """Return the attack as it is shown."""
        return oblivious_report(self)


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
    """Build the permutations that are worst for the paths of an oblivious algorithm.

    Parameters
    ----------
    network : Network
        The network, of 2 to 16,384 processors; 1024 at most for a router.
    paths : PathSystem or str, optional
        A path system, its name, or a file that defines one; ``residue`` if not given.
    router : Router or str, optional
        Instead of paths: a router whose paths are observed.
    variant : str, optional
        A variant of the router.
    runs : int
        Random permutations to compare with.
    permutation_seed : int
        The seed of these.
    progress : function, bool or None
        A function that is called with what is done and the total. None shows a bar on a
        terminal after two seconds, False shows nothing.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.adversaries import attack_oblivious
    >>> attack_oblivious(Network(4, 4), "direct").matching_trial.congestion
    4
    """
    if paths is not None and router is not None:
        raise InputError("Paths come from one place; give paths or a router, not both.")
    if variant is not None and router is None:
        raise InputError(f"variant = {variant} belongs to no router; name the router as well.")
    if runs < 1:
        raise InputError(f"runs = {runs}: compare with 1 random permutation or more.")
    Coins(permutation_seed)  # refuse what is not a seed
    if router is not None:
        paths = observe(router, variant, network, progress)
    chosen = "residue" if paths is None else paths
    return attack_paths(chosen, network, runs, permutation_seed, progress)


def attack_paths(
    paths: PathSystem | str,
    network: Network,
    randoms: int = 10,
    seed: int = 0,
    progress: Progress = None,
) -> ObliviousAttack:
    """Build the greedy and the best permutation, execute them, and some random ones.

    ``paths`` is a path system, or the name of one. Whenever a path is asked for again it must be
    the same: refuses, with a witness, what is not oblivious.
    """
    if not 2 <= network.n <= MOST_N:
        raise InputError(
            f"{network} has n = {network.n:,} processors; all pairs of them are looked at, so give "
            f"a network of 2 to {MOST_N:,}."
        )
    paths = recorded(find_paths(paths) if isinstance(paths, str) else paths, network)
    least = guaranteed_congestion(network)
    with patient_progress("paths", network.n, progress, "destinations") as report:
        popular = construction.popularity(paths, network, least, report)
    greedy = construction.build_greedily(paths, network, least, popular)
    matching = construction.build_by_matching(paths, network, popular)
    return ObliviousAttack(
        network=network,
        paths=paths.name,
        greedy=greedy,
        greedy_trial=_execute(paths, network, greedy.destination, greedy.node),
        matching=matching,
        matching_trial=_execute(paths, network, matching.destination, matching.node),
        random=tuple(try_random(paths, network, randoms, seed)),
    )


def _execute(
    paths: PathSystem, network: Network, destination: Ints, node: int | None = None
) -> Trial:
    """Count, at the node where the construction says as well, and execute."""
    counted = loads(paths, network, destination)
    most = int(counted.max())
    at_node = most if node is None else int(counted[node])
    return Trial(most, at_node, execute_paths(paths, network, destination))


def try_random(paths: PathSystem, network: Network, runs: int, seed: int = 0) -> list[Trial]:
    """Uniform permutations, counted and executed."""
    return [_execute(paths, network, one) for one in uniform_permutations(network, runs, seed)]
