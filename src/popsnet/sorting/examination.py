"""All that is asked about a sorting network in one call."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from popsnet.errors import InputError
from popsnet.progress import Progress, patient_progress
from popsnet.report import Report, Reported
from popsnet.sorting.catalogue import NETWORKS, make_network
from popsnet.sorting.comparators import ComparatorNetwork
from popsnet.sorting.growth import DepthGrowth, measure_growth
from popsnet.sorting.report import examined_report
from popsnet.sorting.zero_one import SortingVerdict, check_network

MOST_WIRES = 2**20


@dataclass(frozen=True, eq=False, repr=False)
class Examined(Reported):
    """A sorting network, its measures, and whether it sorts as far as that is known."""

    network: ComparatorNetwork
    seed: int
    proved: bool
    """Whether all networks of its name are proved to sort."""
    verdict: SortingVerdict | None
    """The check by zeros and ones, if it was asked for."""
    growth: DepthGrowth | None
    """The depth at smaller sizes, if it was asked for."""

    @property
    def fewest(self) -> int:
        """The fewest comparators of a stage."""
        return min(self.network.stage_sizes, default=0)

    @property
    def mean(self) -> float:
        """The mean number of comparators of a stage."""
        return fmean(self.network.stage_sizes or [0])

    @property
    def most(self) -> int:
        """The most comparators of a stage."""
        return max(self.network.stage_sizes, default=0)

    @property
    def status(self) -> str:
        """Whether it sorts, in words, as far as that is known."""
        if self.verdict is not None and not self.verdict.sorts:
            return "which does not sort"
        if self.proved:
            return "proved to sort"
        if self.verdict is not None and self.verdict.exhaustive:
            return "proved to sort by trying all inputs"
        return "not proved to sort"

    def report(self) -> Report:
        """Return the network as it is shown."""
        return examined_report(self)


def examine(
    name: str,
    n: int,
    *,
    seed: int = 0,
    check: bool = False,
    growth: bool = False,
    progress: Progress = None,
) -> Examined:
    """Make the network of that name, and check it or measure how its depth grows if asked to.

    Examples
    --------
    >>> from popsnet.sorting import examine
    >>> print(examine("bitonic", 8, check=True))
    bitonic on 8 wires, proved to sort
    depth 6, size 24 comparators; 4 to 4 per stage, 4.0 on average
    OK: all 256 inputs of zeros and ones are sorted, and so is every input, by the
    0-1 principle.
    """
    if n > MOST_WIRES:
        raise InputError(f"n = {n:,}: give at most {MOST_WIRES:,} wires.")
    network = make_network(name, n, seed)
    if growth and name != "bag-tree":
        raise InputError(
            f"growth = True compares bag-tree with merge-exchange; {name} is known exactly."
        )
    grown = verdict = None
    with patient_progress(f"examining {name}", None, progress) as report:
        if growth:
            largest = n.bit_length() - 1
            grown = measure_growth(
                largest, watch=lambda row: report(None, f"2^{row.exponent} wires")
            )
        if check:
            verdict = check_network(
                network, seed=seed, watch=lambda passes: report(None, f"{passes} passes done")
            )
    return Examined(network, seed, NETWORKS[name].proved, verdict, grown)
