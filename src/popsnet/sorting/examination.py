"""All that is asked about a sorting network in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from popsnet.errors import InputError
from popsnet.sorting.catalogue import NETWORKS, make_network
from popsnet.sorting.comparators import ComparatorNetwork
from popsnet.sorting.growth import DepthGrowth, measure_growth
from popsnet.sorting.zero_one import SortingVerdict, check_network

__all__ = ["MOST_WIRES", "Examined", "examine"]

MOST_WIRES = 2**20


@dataclass(frozen=True, eq=False)
class Examined:
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


def examine(
    name: str,
    n: int,
    *,
    seed: int = 0,
    check: bool = False,
    growth: bool = False,
    progress: Callable[[str], None] = lambda doing: None,
) -> Examined:
    """Make the network of that name, and check it or measure how its depth grows if asked to."""
    if n > MOST_WIRES:
        raise InputError(f"n = {n:,}: give at most {MOST_WIRES:,} wires.")
    network = make_network(name, n, seed)
    if growth and name != "bag-tree":
        raise InputError(f"growth compares bag-tree with merge-exchange; {name} is known exactly.")
    grown = verdict = None
    if growth:
        largest = n.bit_length() - 1
        grown = measure_growth(largest, watch=lambda row: progress(f"2^{row.exponent} wires"))
    if check:
        verdict = check_network(
            network, seed=seed, watch=lambda passes: progress(f"{passes} passes done")
        )
    return Examined(network, seed, NETWORKS[name].proved, verdict, grown)
