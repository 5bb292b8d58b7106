"""Verdicts: whether the printed values and ours agree.

Every printed value is of a hundred runs and has a sampling error, like ours.

Means have two tests that count both errors: Welch's t test, with an allowance for rounding to two
decimals, and resampling of means of a hundred of our runs. A mean differs only if both reject.
Where the tail is heavy the t test is not valid, and resampling decides alone. Standard deviations
are resampled, too. Maxima have an exact test of ranks, and no sample has values farther from its
mean than √runs standard deviations, so a printed maximum that is farther is wrong.

The comparisons with the paper are one family: mean, standard deviation and maximum of the steps
and the mean of the slots, in each row. By Holm's method the family-wise error rate is
:data:`LEVEL`. The paper's two tables are compared with each other in a second family, at
:data:`DOUBT_LEVEL`.

Where the tail is heavy, a value that is not rejected is undecidable and does not count as
agreement. The kurtosis of our steps is then above a hundred, and no sample of a hundred values has
one as large. So a hundred runs never have the shape of the distribution: their mean, sd and maximum
depend on whether a run that stalls happens to be among them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from popsnet.base.stats import inference
from popsnet.base.stats.inference import Estimate, MeanComparison, Summary
from popsnet.engines import Tally
from popsnet.model.network import Network
from popsnet.paper.plan import heavy_tailed
from popsnet.paper.published import RUNS, SLOTS_A_STEP, PrintedRow, printed_rows

LEVEL = 0.01
"""The family-wise error rate of the comparisons with the paper."""

DOUBT_LEVEL = 0.05
"""The family-wise error rate of the comparisons of the paper's two tables."""

AGREES, DIFFERS, OPEN, UNDECIDABLE = "agrees", "differs", "too few runs", "undecidable"
"""The verdicts."""

MEAN, SLOTS_MEAN, SD, MAX = "mean", "mean slots", "sd", "max"
"""What is compared: of steps, if nothing else is said."""

FEWEST_FOR_A_TAIL = 1000
"""The fewest runs for a verdict where the tail is heavy: a smaller sample may miss the tail."""


class VerdictRows(ABC):
    """Rows with verdicts."""

    @property
    @abstractmethod
    def verdicts(self) -> list[str]:
        """The verdicts of all rows that are compared."""

    @property
    def comparisons(self) -> int:
        """How many have enough runs to be compared."""
        return len(self.verdicts) - self.verdicts.count(OPEN)

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return self.verdicts.count(DIFFERS)

    @property
    def undecidable(self) -> int:
        """How many of them neither differ nor show that they agree."""
        return self.verdicts.count(UNDECIDABLE)


@dataclass(frozen=True, slots=True)
class PrintedNumber:
    """A printed number that is compared with ours."""

    network: Network
    statistic: str
    p: float
    verdict: str

    def record(self) -> dict[str, int | float | str]:
        """Return the network, what is compared, and its p-value."""
        d, g, n = self.network.d, self.network.g, self.network.n
        return {"d": d, "g": g, "n": n, "statistic": self.statistic, "p": self.p}

    @property
    def improbable(self) -> bool:
        """Whether it would be rejected by itself and is not in the family."""
        return self.verdict in (AGREES, UNDECIDABLE) and self.p <= LEVEL

    def __str__(self) -> str:
        return f"{self.network}, {self.statistic} (p = {self.p:.2g})"


@dataclass(frozen=True, slots=True)
class Pair:
    """A row of the paper and our runs of it."""

    printed: PrintedRow
    tally: Tally

    @property
    def network(self) -> Network:
        """The network of both."""
        return self.printed.network

    @property
    def summary(self) -> Summary:
        """Our steps."""
        return inference.summarize_counts(self.tally.steps)

    @property
    def ours(self) -> Estimate:
        """Our mean of steps."""
        summary, runs = self.summary, self.tally.runs
        return Estimate(summary.mean, max(sd_of(summary), inference.least_sd(runs)), runs)

    @property
    def our_slots(self) -> Estimate:
        """Our mean of slots, as the paper counts them."""
        return self.ours.times(SLOTS_A_STEP)

    def has_enough_runs(self, statistic: str) -> bool:
        """Return whether our runs have the tail; for an sd they must be as many as the paper's."""
        fewest = RUNS if statistic == SD else 0
        return self.tally.runs >= (FEWEST_FOR_A_TAIL if heavy_tailed(self.network) else fewest)


@cache
def doubted_rows() -> frozenset[Network]:
    """Return the networks where the paper's two tables differ by more than chance."""
    rows = printed_rows()
    pairs = ((row.steps.times(SLOTS_A_STEP), row.slots_in_print) for row in rows)
    p_values = [inference.compare_means(*pair).p for pair in pairs]
    rejected = inference.holm(p_values, DOUBT_LEVEL)
    return frozenset(row.network for row, no in zip(rows, rejected, strict=True) if no)


def sd_of(summary: Summary) -> float:
    """Return the standard deviation, which exists because runs come by tens."""
    assert summary.sd is not None
    return summary.sd


def compare_with_print(pair: Pair, ours: Estimate, printed: Estimate) -> MeanComparison:
    """Compare steps or slots: the larger p of Welch's t and of resampling, or the latter alone.

    Most rows have two or three different values, one of them rare, and a mean of a hundred is not
    quite normal. Where the tail is heavy the t test is not valid, and our sd, which includes the
    tail, is used for the printed one.
    """
    heavy = heavy_tailed(pair.network)
    theirs = replace(printed, sd=max(ours.sd, printed.sd)) if heavy else printed
    comparison = inference.compare_means(ours, theirs)
    if not heavy and comparison.p > LEVEL:
        return comparison  # a larger p would say the same
    excess = max(0.0, abs(comparison.difference) - ours.rounding - printed.rounding)
    in_steps = -math.copysign(excess, comparison.difference) * pair.ours.mean / ours.mean
    p = inference.resampled_p(pair.tally.steps, in_steps, printed.runs)
    return replace(comparison, p=p if heavy else max(p, comparison.p))


def sd_p(pair: Pair) -> float:
    """Compare the standard deviations of steps."""
    printed, steps = pair.printed, pair.tally.steps
    return inference.resampled_sd_p(steps, printed.sd_steps, RUNS, printed.steps.rounding)


def maximum_p(pair: Pair) -> float:
    """Compare the maxima of steps; one that the printed mean and sd exclude has no probability."""
    printed, rounding = pair.printed, pair.printed.steps.rounding
    farthest = printed.mean_steps + rounding + math.sqrt(RUNS) * (printed.sd_steps + rounding)
    p = inference.maximum_p(pair.tally.steps, printed.max_steps, RUNS)
    return 0.0 if printed.max_steps > farthest else p


def judge(pairs: Sequence[Pair], p_values: Mapping[str, Sequence[float]]) -> dict[str, list[str]]:
    """Judge all comparisons with the paper together: verdicts of all pairs, by statistic."""
    enough = [pair.has_enough_runs(name) for name in p_values for pair in pairs]
    verdicts = iter(verdicts_of([p for some in p_values.values() for p in some], enough))
    return {name: [_open_to_doubt(next(verdicts), pair) for pair in pairs] for name in p_values}


def _open_to_doubt(verdict: str, pair: Pair) -> str:
    return UNDECIDABLE if verdict == AGREES and heavy_tailed(pair.network) else verdict


def verdicts_of(p_values: Sequence[float], can_be_judged: Sequence[bool]) -> list[str]:
    """Judge all rows with enough runs together, by Holm's method, and leave the others open."""
    judged = [p for p, can in zip(p_values, can_be_judged, strict=True) if can]
    rejected = iter(inference.holm(judged, LEVEL))
    return [(DIFFERS if next(rejected) else AGREES) if can else OPEN for can in can_be_judged]
