"""Examine a sorting network: its size and depth, a check, and the growth of its depth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from math import sqrt
from statistics import fmean
from typing import NamedTuple

import numpy as np

from popsnet.base.errors import abbreviated, require_text, unknown, wrong
from popsnet.base.progress import Progress, patient_progress
from popsnet.base.report import Column, Fact, Report, Reported, Table, facts_of
from popsnet.theory.sorting.bag_tree import BagTree, bag_tree
from popsnet.theory.sorting.batcher import bitonic, merge_exchange, merge_exchange_depth
from popsnet.theory.sorting.comparators import ComparatorNetwork
from popsnet.theory.sorting.zero_one import SortingVerdict, check_network


class NetworkFamily(NamedTuple):
    """A function that builds a network of n wires with a seed, and whether it is proved to sort."""

    make: Callable[[int, int], ComparatorNetwork]
    proved: bool


NETWORKS: Mapping[str, NetworkFamily] = {
    "merge-exchange": NetworkFamily(lambda n, seed: merge_exchange(n), proved=True),
    "bitonic": NetworkFamily(lambda n, seed: bitonic(n), proved=True),
    "bag-tree": NetworkFamily(bag_tree, proved=False),
}
"""The families of sorting networks, by name."""


def make_network(name: str, n: int, seed: int = 0) -> ComparatorNetwork:
    """Build the sorting network of this name.

    Parameters
    ----------
    name : {"merge-exchange", "bitonic", "bag-tree"}
        The name of the family.
    n : int
        The number of wires.
    seed : int
        The random seed; only the bag tree depends on it.

    Returns
    -------
    ComparatorNetwork
        The network.

    Examples
    --------
    >>> from popsnet.theory.sorting import make_network
    >>> make_network("merge-exchange", 8).depth
    6
    """
    require_text("name", name)
    if not isinstance(n, int) or n < 1:
        raise wrong("n", abbreviated(n))("a network needs at least one wire; give n >= 1.")
    if name not in NETWORKS:
        raise unknown("sorting network", name, NETWORKS)
    return NETWORKS[name].make(n, seed)


MOST_WIRES = 2**20

SMALLEST = 6
"""The logarithm of the first size; the bag tree of 2^5 wires is merge exchange itself."""

_SHOWN = 64
"""The digits to show of an input that is not sorted."""


@dataclass(frozen=True)
class DepthRow:
    """Depth and size of the bag tree on n = 2^exponent wires, and the depth of merge exchange."""

    exponent: int
    depth: int
    size: int
    batcher_depth: int


@dataclass(frozen=True)
class DepthGrowth:
    """Measured depths of the bag tree, and the line fitted to them.

    Examples
    --------
    >>> from popsnet.theory.sorting import measure_growth
    >>> slope, intercept = measure_growth(8).line
    >>> round(slope), round(intercept)
    (114, -540)
    """

    rows: tuple[DepthRow, ...]

    @cached_property
    def line(self) -> tuple[float, float]:
        """Slope and intercept of the depth over log2 n, by least squares."""
        exponents = [row.exponent for row in self.rows]
        slope, intercept = np.polyfit(exponents, [row.depth for row in self.rows], 1)
        return float(slope), float(intercept)

    @property
    def crossover(self) -> float:
        """The log2 n beyond which the line is below t(t + 1)/2, by extrapolation."""
        slope, intercept = self.line
        b = slope - 0.5
        return b + sqrt(b * b + 2 * intercept)


def measure_growth(
    largest: int,
    constants: BagTree | None = None,
    watch: Callable[[DepthRow], None] = lambda row: None,
) -> DepthGrowth:
    """Measure the depth of bag trees on 2^6 … 2^largest wires.

    Parameters
    ----------
    largest : int
        The logarithm of the largest number of wires, at least 7.
    constants : BagTree, optional
        The constants of the construction.
    watch : function
        A function that is called with each row.

    Returns
    -------
    DepthGrowth
        The depths and the line fitted to them.

    Examples
    --------
    >>> from popsnet.theory.sorting import measure_growth
    >>> [row.depth for row in measure_growth(8).rows]
    [142, 261, 370]
    """
    if largest <= SMALLEST:
        raise wrong("largest", largest)(
            f"a line needs at least two sizes, 2^{SMALLEST} and 2^{SMALLEST + 1} wires; give "
            f"{SMALLEST + 1} or more."
        )
    rows = []
    for exponent in range(SMALLEST, largest + 1):
        n = 2**exponent
        network = bag_tree(n, constants=constants)
        rows.append(DepthRow(exponent, network.depth, network.size, merge_exchange_depth(n)))
        watch(rows[-1])
    return DepthGrowth(tuple(rows))


@dataclass(frozen=True, eq=False, repr=False)
class NetworkExamination(Reported):
    """A sorting network, its size and depth, and what is known about whether it sorts.

    Examples
    --------
    >>> from popsnet.theory.sorting import examine
    >>> examine("merge-exchange", 100).status
    'proved to sort'
    """

    network: ComparatorNetwork
    seed: int
    proved: bool
    """Whether all networks of this name are proved to sort."""
    verdict: SortingVerdict | None
    """The outcome of the zero-one check; None if it was not asked for."""
    growth: DepthGrowth | None
    """The depths at smaller sizes; None if they were not asked for."""

    @property
    def stage_comparators(self) -> dict[str, float]:
        """The minimum, mean and maximum number of comparators of a stage."""
        sizes = self.network.stage_sizes or (0,)
        return {"min": min(sizes), "mean": fmean(sizes), "max": max(sizes)}

    @property
    def status(self) -> str:
        """What is known about whether the network sorts, in words."""
        if self.verdict is not None and not self.verdict.sorts:
            return "which does not sort"
        if self.proved:
            return "proved to sort"
        if self.verdict is not None and self.verdict.exhaustive:
            return "proved to sort by trying all inputs"
        return "not proved to sort"

    def report(self) -> Report:
        """Return size, depth, verdict and growth as a report."""
        network, verdict = self.network, self.verdict
        facts = (
            *facts_of(network, "name", "wires", "depth", "size"),
            *facts_of(self, "seed", "proved", "stage_comparators"),
            Fact("check", None if verdict is None else asdict(verdict)),
        )
        each = "; {min:,} to {max:,} per stage, {mean:,.1f} on average".format(
            **self.stage_comparators
        )
        title = (
            f"{network.name} on {network.wires:,} wires, {self.status}\ndepth {network.depth:,}, "
            f"size {network.size:,} comparators{each if network.depth else ''}"
        )
        words = "" if verdict is None else _in_words(verdict)
        report = Report(title, facts, verdict=words, ok=verdict is None or verdict.sorts)
        return report if self.growth is None else report.plus(*_growth(self.growth))


Examined = NetworkExamination
"""The old name."""


def examine(
    name: str,
    n: int,
    *,
    seed: int | None = None,
    check: bool = False,
    growth: bool = False,
    progress: Progress = None,
) -> NetworkExamination:
    """Build a sorting network by name, and check it or measure the growth of its depth.

    Parameters
    ----------
    name : {"merge-exchange", "bitonic", "bag-tree"}
        The name of the network.
    n : int
        The number of wires, at most 2^20.
    seed : int, optional
        The random seed of the bag tree and of the check, by default 0.
    check : bool
        Whether to run the zero-one check: all inputs for n ≤ 20, a sample above.
    growth : bool
        Whether to measure the depth of the bag tree at all powers of two from 64 to n.
    progress : function, bool or None
        A function that is called with the work done and a description. None shows a progress bar
        on a terminal after two seconds, False shows nothing.

    Returns
    -------
    NetworkExamination
        The network and what was found, which prints as a report.

    Examples
    --------
    >>> from popsnet.theory.sorting import examine
    >>> print(examine("bitonic", 8, check=True))
    bitonic on 8 wires, proved to sort
    depth 6, size 24 comparators; 4 to 4 per stage, 4.0 on average
    OK: all 256 inputs of zeros and ones are sorted, and so is every input, by the
    0-1 principle.
    """
    if n > MOST_WIRES:
        raise wrong("n", f"{n:,}")(f"it is too large; give at most {MOST_WIRES:,} wires.")
    if seed is not None and name != "bag-tree" and not check:
        raise wrong("seed", seed)(
            f"it is for bag-tree and for the check, and {name} without a check draws nothing. "
            "Leave it out."
        )
    seed = seed or 0
    network = make_network(name, n, seed)
    if growth and name != "bag-tree":
        raise wrong("growth", True)(
            f"it measures the depth of bag-tree; that of {name} is known exactly, t(t + 1)/2 with "
            "t = ⌈log2 n⌉. Give bag-tree, or leave it out."
        )
    if growth and n < 2 ** (SMALLEST + 1):
        raise wrong("growth", True)(
            f"with n = {n} there is one size, and a line needs at least two, {2**SMALLEST} and "
            f"{2 ** (SMALLEST + 1)} wires; give n >= {2 ** (SMALLEST + 1)}."
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
    return NetworkExamination(network, seed, NETWORKS[name].proved, verdict, grown)


def _growth(growth: DepthGrowth) -> tuple[Fact, Table]:
    slope, intercept = growth.line
    line = {"slope": slope, "intercept": intercept, "crossover_log2_n": growth.crossover}
    columns = (
        Column("exponent", "n", show=lambda row: f"2^{row.exponent}"),
        Column("depth", "depth of bag-tree", "integer"),
        Column("batcher_depth", "of merge-exchange", "integer"),
        Column("size", "comparators of bag-tree", "integer"),
    )
    caption = (
        f"depth = {slope:.1f} log2 n {'-' if intercept < 0 else '+'} {abs(intercept):.0f} by least "
        f"squares from 2^{SMALLEST} on; extrapolated,\nit is below t(t + 1)/2 from log2 n = "
        f"{growth.crossover:.0f} on."
    )
    return Fact("growth_line", line), Table("growth", "", columns, growth.rows, caption)


def _in_words(verdict: SortingVerdict) -> str:
    if verdict.counterexample is not None:
        digits = "".join(map(str, verdict.counterexample[:_SHOWN]))
        more = "…" if len(verdict.counterexample) > _SHOWN else ""
        return f"FAILED: this input is not sorted (wire 0 first): {digits}{more}"
    tried = (
        f"OK: {'all ' * verdict.exhaustive}{verdict.inputs:,} inputs of zeros and ones are sorted"
    )
    if verdict.exhaustive:
        return f"{tried}, and so is every input, by the 0-1 principle."
    return (
        f"{tried}: random, nearly sorted, arranged, and chosen by an adversary. This is a test, "
        "not a proof."
    )
