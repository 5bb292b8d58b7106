"""A sorting network examined: its measures, whether it sorts, and how its depth grows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from statistics import mean

from popsnet.errors import InputError
from popsnet.progress import patient_progress
from popsnet.report import Column, Fact, Report, Reported, Table
from popsnet.sorting.catalogue import NETWORKS, make_network
from popsnet.sorting.comparators import ComparatorNetwork
from popsnet.sorting.growth import SMALLEST, DepthGrowth, measure_growth
from popsnet.sorting.zero_one import SortingVerdict, check_network

__all__ = ["MOST_WIRES", "Examination", "examine"]

MOST_WIRES = 2**20
_SHOWN = 64
"""Digits of an input that is not sorted."""


@dataclass(frozen=True, repr=False)
class Examination(Reported):
    """A sorting network, and what is known about it."""

    network: ComparatorNetwork
    seed: int
    verdict: SortingVerdict | None
    """Of the check by zeros and ones, if there was one."""
    growth: DepthGrowth | None
    """The depths for all powers of two up to its wires, if they were asked for."""

    @property
    def known(self) -> str:
        """Whether it sorts, as far as that is known, in words."""
        if self.verdict is not None and not self.verdict.sorts:
            return "which does not sort"
        if NETWORKS[self.network.name].proved:
            return "proved to sort"
        if self.verdict is not None and self.verdict.exhaustive:
            return "proved to sort by trying all inputs"
        return "not proved to sort"

    def report(self) -> Report:
        """Return what is known about the network as it is shown."""
        network, verdict = self.network, self.verdict
        sizes = network.stage_sizes or [0]
        stages = {"min": min(sizes), "mean": mean(sizes), "max": max(sizes)}
        facts = (
            Fact("network", network.name),
            Fact("wires", network.wires),
            Fact("seed", self.seed),
            Fact("proved", NETWORKS[network.name].proved),
            Fact("depth", network.depth),
            Fact("size", network.size),
            Fact("stage_comparators", stages),
            Fact("check", None if verdict is None else asdict(verdict)),
        )
        each = "; {min:,} to {max:,} per stage, {mean:,.1f} on average".format(**stages)
        title = (
            f"{network.name} on {network.wires:,} wires, {self.known}\n"
            f"depth {network.depth:,}, size {network.size:,} comparators"
            f"{each if network.stage_sizes else ''}"
        )
        report = Report(
            title,
            facts,
            verdict="" if verdict is None else _in_words(verdict),
            ok=verdict is None or verdict.sorts,
        )
        return report if self.growth is None else report.plus(*_growth(self.growth))


def _growth(growth: DepthGrowth) -> tuple[Fact, Table]:
    slope, intercept = growth.line
    line = {"slope": slope, "intercept": intercept, "crossover_log2_n": growth.crossover}
    columns = (
        Column("exponent", "n", show=lambda row: f"2^{row['exponent']}"),
        Column("depth", "depth of bag-tree", "integer"),
        Column("batcher_depth", "of merge-exchange", "integer"),
        Column("size", "comparators of bag-tree", "integer"),
    )
    caption = (
        f"depth = {slope:.1f} log2 n {'-' if intercept < 0 else '+'} {abs(intercept):.0f} by least "
        f"squares from 2^{SMALLEST} on; extrapolated,\nit is below t(t + 1)/2 from log2 n = "
        f"{growth.crossover:.0f} on."
    )
    rows = [{**asdict(row), "batcher_depth": row.batcher} for row in growth.rows]
    return Fact("growth_line", line), Table("growth", "", columns, rows, caption)


def _in_words(verdict: SortingVerdict) -> str:
    if verdict.sorts and verdict.exhaustive:
        return (
            f"OK: all {verdict.inputs:,} inputs of zeros and ones are sorted, and so is every "
            "input, by the 0-1 principle."
        )
    if verdict.sorts:
        return (
            f"OK: {verdict.inputs:,} inputs of zeros and ones are sorted: random, nearly sorted, "
            "arranged, and sought by an adversary. That is a test, not a proof."
        )
    assert verdict.counterexample is not None
    digits = "".join(map(str, verdict.counterexample[:_SHOWN]))
    more = "…" if len(verdict.counterexample) > _SHOWN else ""
    return f"FAILED: this input is not sorted (wire 0 first): {digits}{more}"


def examine(
    name: str, n: int, *, seed: int = 0, check: bool = False, growth: bool = False
) -> Examination:
    """Make a sorting network, measure it, and try whether it sorts.

    Parameters
    ----------
    name : {"merge-exchange", "bitonic", "bag-tree"}
        The sorting network.
    n : int
        Its wires, at most 2^20.
    seed : int
        The seed of the bag tree's matchings, and of the inputs that are tried.
    check : bool
        Whether to try inputs of zeros and ones: all for n ≤ 20, some above.
    growth : bool
        Whether to measure the depths of bag trees for all powers of two up to n.

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
    return Examination(
        network, seed, _check(network, seed) if check else None, _measure(n) if growth else None
    )


def _measure(n: int) -> DepthGrowth:
    with patient_progress("making bag trees", None) as update:
        return measure_growth(
            n.bit_length() - 1, watch=lambda row: update(0, f"2^{row.exponent} wires")
        )


def _check(network: ComparatorNetwork, seed: int) -> SortingVerdict:
    with patient_progress(f"checking {network.name}", None) as update:
        return check_network(
            network, seed=seed, watch=lambda passes: update(0, f"{passes} passes done")
        )
