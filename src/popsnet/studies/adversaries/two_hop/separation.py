"""Compare delays of deterministic two-hop algorithms with the randomized algorithm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from popsnet.base.errors import wrong
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Column, Plotted, Report, Reported, Table
from popsnet.model.network import Network, on_network
from popsnet.studies.adversaries.execution import sizes_to, uniform_permutations, verdict
from popsnet.studies.adversaries.two_hop.algorithm import FAMILIES, TwoHop
from popsnet.studies.adversaries.two_hop.attack import MOST_ROUNDS, TwoHopAttack, attack_two_hop
from popsnet.studies.adversaries.two_hop.execution import SlotCount, at_least, randomized_slots


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Deterministic and randomized two-hop algorithms on one network.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import FAMILIES, separation
    >>> separation(Network(4, 4), [FAMILIES["bits"]], runs=1, most_rounds=2).randomized_capped
    0
    """

    network: Network
    attacks: Mapping[str, TwoHopAttack]
    """The attack on each deterministic algorithm, by name."""
    randomized: tuple[SlotCount, ...]
    """The slots that the randomized algorithm took on uniform permutations."""
    randomized_on_worst: tuple[SlotCount, ...]
    """The slots that it took on the permutations built against the deterministic algorithms."""

    @property
    def guaranteed(self) -> int:
        """The slots that the theorem guarantees against every deterministic algorithm."""
        return next(iter(self.attacks.values())).guaranteed

    @property
    def randomized_mean(self) -> float:
        """The mean slots of the randomized algorithm; a lower bound if runs were capped."""
        return fmean(run.slots for run in self.randomized)

    @property
    def randomized_capped(self) -> int:
        """The number of its runs on uniform permutations that were capped."""
        return sum(run.capped for run in self.randomized)

    @property
    def confirmed(self) -> bool:
        """Whether the machine confirms every attack."""
        return all(attack.confirmed for attack in self.attacks.values())


@on_network
def separation(
    network: Network,
    algorithms: Sequence[TwoHop],
    runs: int,
    most_rounds: int = MOST_ROUNDS,
    progress: Callable[[str], None] = lambda doing: None,
) -> Separation:
    """Attack deterministic algorithms and run the randomized one on the same network.

    Parameters
    ----------
    network : Network, or int and int
        The network, or its d and g.
    algorithms : sequence of TwoHop
        The deterministic algorithms to attack.
    runs : int
        The number of uniform permutations for the randomized algorithm, at least 1.
    most_rounds : int
        Stop each search for a longer delay at this many rounds.
    progress : function
        A function that is called with a description of the work in progress.

    Returns
    -------
    Separation
        The attacks, and the slots of the randomized algorithm.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import FAMILIES, separation
    >>> both = separation(Network(8, 8), [FAMILIES["hashed"]], runs=2)
    >>> both.attacks["hashed"].slots, both.confirmed
    (12, True)
    """
    if runs < 1:
        raise wrong("runs", runs)("give at least 1 run of the randomized algorithm.")
    attacks = {}
    for algorithm in algorithms:
        progress(f"{network}: {algorithm.name}")
        attacks[algorithm.name] = attack_two_hop(algorithm, network, most_rounds, progress=False)
    progress(f"{network}: randomized")
    uniform = randomized_slots(network, uniform_permutations(network, runs))
    built = randomized_slots(network, [attack.destination for attack in attacks.values()])
    return Separation(network, attacks, uniform, built)


@dataclass(frozen=True, repr=False)
class SeparationStudy(Reported, Plotted):
    """Deterministic and randomized two-hop algorithms on several networks.

    Examples
    --------
    >>> from popsnet.studies.adversaries import measure_separation
    >>> [one.network.g for one in measure_separation(16, runs=1, most_rounds=2).points]
    [8, 16]
    """

    _draw = "draw_separation_study"

    points: tuple[Separation, ...]
    most_rounds: int
    """The search for a longer delay stopped at this many rounds."""

    def report(self) -> Report:
        """Return the delays by g and algorithm, and the slots of the randomized algorithm."""
        cells = {point.network.g: _cells(point) for point in self.points}

        def column(name: str) -> Column:
            return Column(name, show=lambda row: cells[row["g"]][name])

        columns = (
            Column("g", "g = d", "integer"),
            *map(column, self.points[0].attacks),
            Column("guaranteed", "any", "integer"),
            *map(column, ("random", "max", "on built")),
        )
        caption = (
            "Slots T after which a packet has not arrived, for each algorithm; the bound proved "
            "for any algorithm; and the slots of the randomized one: mean and maximum on random "
            "permutations, and maximum on the permutations built against the others."
        )
        rows = [_row(point) for point in self.points]
        ok = all(point.confirmed for point in self.points)
        text = verdict(ok, "every permutation was executed, and its packet did not arrive.")
        return Report("", (), (Table("points", "", columns, rows, caption),), text, ok)


def _row(point: Separation) -> dict[str, object]:
    capped = point.randomized_capped
    return {
        **point.network.columns(),
        "reached": {name: attack.slots for name, attack in point.attacks.items()},
        "guaranteed": point.guaranteed,
        "limits_reached": [name for name, attack in point.attacks.items() if attack.at_limit],
        "randomized": {
            "runs": len(point.randomized),
            "capped": capped,
            "mean": None if capped else point.randomized_mean,
            "max": None if capped else max(point.randomized).slots,
            "on_built": [None if run.capped else run.slots for run in point.randomized_on_worst],
        },
        "confirmed": point.confirmed,
    }


def _cells(point: Separation) -> dict[str, str]:
    """Format the cells by column; a run or a search that was cut short gives a lower bound."""
    attacks = point.attacks.items()
    return {name: at_least(attack.slots, attack.at_limit) for name, attack in attacks} | {
        "random": at_least(f"{point.randomized_mean:.1f}", point.randomized_capped),
        "max": at_least(*max(point.randomized)),
        "on built": at_least(*max(point.randomized_on_worst)),
    }


def measure_separation(
    largest: int, runs: int, most_rounds: int = MOST_ROUNDS, progress: Progress = None
) -> SeparationStudy:
    """Compare all deterministic algorithms of popsnet with the randomized one on POPS(g, g).

    Parameters
    ----------
    largest : int
        The networks are POPS(g, g) for g = 8, 16, … up to this size.
    runs : int
        The number of uniform permutations per network for the randomized algorithm.
    most_rounds : int
        Stop each search for a longer delay at this many rounds.
    progress : function, bool or None
        As for :func:`attack_two_hop`.

    Returns
    -------
    SeparationStudy
        A point for every network.

    Examples
    --------
    >>> from popsnet.studies.adversaries import measure_separation
    >>> study = measure_separation(8, runs=1, most_rounds=4)
    >>> study.points[0].guaranteed
    2
    """
    sizes, algorithms = sizes_to(largest), list(FAMILIES.values())
    points = []
    with patient_progress("attacking", len(sizes), progress) as report:
        watch = partial(report, None)
        for g in sizes:
            points.append(separation(Network(g, g), algorithms, runs, most_rounds, watch))
            report(len(points))
    return SeparationStudy(tuple(points), most_rounds)
