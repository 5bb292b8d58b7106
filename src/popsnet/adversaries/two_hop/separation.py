"""What randomness buys: delays of deterministic two-hop algorithms, and the randomized one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from popsnet.adversaries.execution import sizes_to, uniform_permutations, verdict
from popsnet.adversaries.two_hop.algorithm import FAMILIES, TwoHop
from popsnet.adversaries.two_hop.attack import MOST_ROUNDS, TwoHopAttack, attack_two_hop
from popsnet.adversaries.two_hop.execution import Needed, at_least, randomized_slots
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.progress import Progress, patient_progress
from popsnet.report import Column, Report, Reported, Table


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
    def guaranteed(self) -> int:
        """The slots that the theorem promises against every algorithm."""
        return next(iter(self.attacks.values())).guaranteed

    @property
    def randomized_mean(self) -> float:
        """The mean slots of the randomized algorithm; at least that if runs were capped."""
        return fmean(run.slots for run in self.randomized)

    @property
    def randomized_capped(self) -> int:
        """How many runs of it on uniform permutations were capped."""
        return sum(run.capped for run in self.randomized)

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
        """Return what adversaries reached by g and algorithm, and what the randomized one needs."""
        cells = {one.network.g: _cells(one) for one in self.points}

        def column(name: str) -> Column:
            return Column(name, show=lambda row: cells[row["g"]][name])

        columns = (
            Column("g", "g = d", "integer"),
            *map(column, self.points[0].attacks),
            Column("guaranteed", "any", "integer"),
            *map(column, ("random", "max", "on built")),
        )
        caption = (
            "Slots T after which a packet has not arrived, against each algorithm; what is proved "
            "against any; and the slots that the randomized one takes: the mean and the most on "
            "random permutations, and the most on those built."
        )
        rows = [_row(one) for one in self.points]
        ok = all(one.confirmed for one in self.points)
        text = verdict(ok, "every permutation was executed; its packet did not arrive.")
        return Report("", (), (Table("points", "", columns, rows, caption),), text, ok)


def _row(one: Separation) -> dict[str, object]:
    capped = one.randomized_capped
    return {
        "g": one.network.g,
        "reached": {name: attack.slots for name, attack in one.attacks.items()},
        "guaranteed": one.guaranteed,
        "limits_reached": [name for name, attack in one.attacks.items() if attack.at_limit],
        "randomized": {
            "runs": len(one.randomized),
            "capped": capped,
            "mean": None if capped else one.randomized_mean,
            "max": None if capped else max(one.randomized).slots,
            "on_built": [None if run.capped else run.slots for run in one.randomized_on_worst],
        },
        "confirmed": one.confirmed,
    }


def _cells(one: Separation) -> dict[str, str]:
    """What people see, by column: a run or a search that was cut gives a lower bound."""
    reached = {name: at_least(found.slots, found.at_limit) for name, found in one.attacks.items()}
    return reached | {
        "random": at_least(f"{one.randomized_mean:.1f}", one.randomized_capped),
        "max": at_least(*max(one.randomized)),
        "on built": at_least(*max(one.randomized_on_worst)),
    }


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
