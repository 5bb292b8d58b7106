"""Verdicts: whether the printed values and ours agree.

Every printed value is the mean of a hundred runs and has a sampling error, like ours. Two tests
count both errors: Welch's t test of the two means, with an allowance for rounding to two decimals,
and resampling of means of a hundred of our runs. A row differs only if both reject. Where the tail
is heavy the t test is not valid, and resampling decides alone. The comparisons with the paper,
steps and slots, are one family: by Holm's method the family-wise error rate is :data:`LEVEL`. The
paper's two tables are compared with each other in a second family, at :data:`DOUBT_LEVEL`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from popsnet.base.stats import inference
from popsnet.base.stats.inference import Estimate, MeanComparison, Summary
from popsnet.engines import Tally
from popsnet.model.network import Network
from popsnet.paper.plan import heavy_tailed
from popsnet.paper.published import SLOTS_A_STEP, PrintedRow, printed_rows

LEVEL = 0.01
"""The family-wise error rate of the comparisons with the paper."""

DOUBT_LEVEL = 0.05
"""The family-wise error rate of the comparisons of the paper's two tables."""

AGREES, DIFFERS, OPEN = "agrees", "differs", "too few runs"
"""The verdicts."""

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
        """How many rows have enough runs to be compared."""
        return len(self.verdicts) - self.verdicts.count(OPEN)

    @property
    def differing(self) -> int:
        """How many of them differ."""
        return self.verdicts.count(DIFFERS)


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

    @property
    def can_be_judged(self) -> bool:
        """Whether our runs are enough to have the tail."""
        return not heavy_tailed(self.network) or self.tally.runs >= FEWEST_FOR_A_TAIL

    @property
    def tables_differ(self) -> bool:
        """Whether the paper's two tables differ by more than chance."""
        return self.network in doubted_rows()


@cache
def doubted_rows() -> frozenset[Network]:
    """Return the networks where the paper's two tables differ by more than chance."""
    rows = printed_rows()
    p_values = [inference.compare_means(row.slots_from_steps, row.slots_in_print).p for row in rows]
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


def verdicts_of(p_values: Sequence[float], can_be_judged: Sequence[bool]) -> list[str]:
    """Judge all rows with enough runs together, by Holm's method, and leave the others open."""
    judged = [p for p, can in zip(p_values, can_be_judged, strict=True) if can]
    rejected = iter(inference.holm(judged, LEVEL))
    return [(DIFFERS if next(rejected) else AGREES) if can else OPEN for can in can_be_judged]
