"""What randomness buys: delays of deterministic two-hop algorithms, and the randomized one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from popsnet.adversaries.execution import sizes_to, uniform_permutations
from popsnet.adversaries.reports import separation_report
from popsnet.adversaries.two_hop.algorithm import TwoHop
from popsnet.adversaries.two_hop.attack import MOST_ROUNDS, TwoHopAttack, attack_two_hop
from popsnet.adversaries.two_hop.execution import Needed, randomized_slots
from popsnet.adversaries.two_hop.families import FAMILIES
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.progress import Progress, patient_progress
from popsnet.report import Report, Reported


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Both sides on one network."""

    network: Network
    attacks: Mapping[str, TwoHopAttack]
    """Against every deterministic algorithm: what it was delayed by."""
    randomized: tuple[Needed, ...]
    """The slots that the randomized one took on uniform permutations."""
    randomized_on_worst: tuple[Needed, ...]
    """And on the permutations that were built against the others."""

    @property
    def reached(self) -> dict[str, int]:
        """By algorithm, the slots after which a packet has not arrived."""
        return {name: attack.slots for name, attack in self.attacks.items()}

    @property
    def guaranteed(self) -> int:
        """The slots that the theorem promises against every algorithm."""
        return next(iter(self.attacks.values())).guaranteed

    @property
    def limits_reached(self) -> list[str]:
        """The algorithms that may be delayed for longer: the search ended there."""
        return [name for name, attack in self.attacks.items() if attack.at_limit]

    @property
    def randomized_mean(self) -> float:
        """The mean slots of the randomized algorithm; at least that if runs were capped."""
        return fmean(run.slots for run in self.randomized)

    @property
    def randomized_max(self) -> int:
        """The most slots of it."""
        return max(run.slots for run in self.randomized)

    @property
    def randomized_capped(self) -> int:
        """How many of its runs were capped."""
        return sum(run.capped for run in self.randomized)

    @property
    def worst_max(self) -> int:
        """The most slots of it on the permutations that were built."""
        return max(run.slots for run in self.randomized_on_worst)

    @property
    def worst_capped(self) -> int:
        """How many of its runs on them were capped."""
        return sum(run.capped for run in self.randomized_on_worst)

    @property
    def confirmed(self) -> bool:
        """Whether the machine confirms every attack."""
        return all(attack.confirmed for attack in self.attacks.values())


def separation(
    network: Network,
    algorithms: Sequence[TwoHop],
    runs: int,
    most_rounds: int = MOST_ROUNDS,
    progress: Callable[[str], None] = lambda doing: None,
) -> Separation:
    """Attack every algorithm, and run the randomized one."""
    if runs < 1:
        raise InputError(f"runs = {runs}: the randomized algorithm runs once or more.")
    attacks = {}
    for algorithm in algorithms:
        progress(f"{network}: {algorithm.name}")
        attacks[algorithm.name] = attack_two_hop(algorithm, network, most_rounds, progress=False)
    progress(f"{network}: randomized")
    uniform = uniform_permutations(network, runs)
    built = [attack.destination for attack in attacks.values()]
    return Separation(
        network, attacks, randomized_slots(network, uniform), randomized_slots(network, built)
    )


@dataclass(frozen=True, repr=False)
class SeparationStudy(Reported):
    """Both sides on several networks."""

    points: tuple[Separation, ...]
    most_rounds: int
    """Where the search for a longer delay ends."""

    def report(self) -> Report:
        """Return both sides as they are shown."""
        return separation_report(self.points)


def measure_separation(
    largest: int, runs: int, most_rounds: int = MOST_ROUNDS, progress: Progress = None
) -> SeparationStudy:
    """Measure both sides on POPS(g, g), g = 8, 16, … ``largest``, for all algorithms that ship."""
    sizes, algorithms = sizes_to(largest), list(FAMILIES.values())
    points = []
    with patient_progress("attacking", len(sizes), progress) as report:
        watch = partial(report, None)
        for g in sizes:
            network = Network(g, g)
            points.append(separation(network, algorithms, runs, most_rounds, watch))
            report(len(points))
    return SeparationStudy(tuple(points), most_rounds)
