"""Whether what the paper prints and what we got agree.

Every figure in print is the mean of a hundred runs and has an error of its own, like ours. Both
errors are in the tests: Welch's t of the two means, less what rounding to two decimals may be, and
the means of a hundred of our runs, drawn again and again. Both have to reject. Where the tail is
heavy the t test is no good, and the latter decides alone. The comparisons of ours with the
paper, steps and slots, are one family: by Holm's method the chance that any row of a true table
is said to differ is at most :data:`LEVEL`. The paper's two tables are held against each other in
a second family, at :data:`DOUBT_LEVEL`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from popsnet.engines import Tally
from popsnet.network import Network
from popsnet.paper.plan import heavy_tailed
from popsnet.paper.published import SLOTS_A_STEP, Printed, printed_rows
from popsnet.stats.inference import (
    Estimate,
    MeanComparison,
    Summary,
    compare_means,
    holm,
    least_sd,
    resampled_p,
    summarize_counts,
)

LEVEL = 0.01
"""The probability that any row is said to differ from a paper that is right."""

DOUBT_LEVEL = 0.05
"""The probability that any row of the paper is said to differ from the paper's other table."""

AGREES, DIFFERS, OPEN = "agrees", "differs", "too few runs"
"""The verdicts."""

FEWEST_FOR_A_TAIL = 1000
"""With fewer runs a sample may lack its tail, and says nothing about one that has it."""


class Judged(ABC):
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

    printed: Printed
    tally: Tally

    @property
    def network(self) -> Network:
        """The network of both."""
        return self.printed.network

    @property
    def summary(self) -> Summary:
        """Our steps."""
        return summarize_counts(self.tally.steps)

    @property
    def ours(self) -> Estimate:
        """Our mean of steps."""
        summary, runs = self.summary, self.tally.runs
        return Estimate(summary.mean, max(sd_of(summary), least_sd(runs)), runs)

    @property
    def our_slots(self) -> Estimate:
        """Our mean of slots, as the paper counts them."""
        return self.ours.times(SLOTS_A_STEP)

    @property
    def can_be_judged(self) -> bool:
        """Whether our runs are enough to have the tail."""
        return not heavy_tailed(self.network) or self.tally.runs >= FEWEST_FOR_A_TAIL


@cache
def doubted_rows() -> frozenset[Network]:
    """Return the networks where the paper's two tables differ by more than chance."""
    rows = printed_rows()
    p_values = [compare_means(row.slots_from_steps, row.slots_in_print).p for row in rows]
    rejected = holm(p_values, DOUBT_LEVEL)
    return frozenset(row.network for row, no in zip(rows, rejected, strict=True) if no)


def sd_of(summary: Summary) -> float:
    """Return the standard deviation: runs come by tens, so that there is one."""
    assert summary.sd is not None
    return summary.sd


def compare_with_print(pair: Pair, ours: Estimate, printed: Estimate) -> MeanComparison:
    """Compare steps or slots: the larger p of Welch's t and of resampling, or the latter alone.

    Most rows have two or three different values, one of them rare, and a mean of a hundred is not
    quite normal. Where the tail is heavy the t test is no good at all, and our sd, which has the
    tail, stands for the printed one.
    """
    heavy = heavy_tailed(pair.network)
    found = compare_means(ours, replace(printed, sd=max(ours.sd, printed.sd)) if heavy else printed)
    if not heavy and found.p > LEVEL:
        return found  # a larger p would say the same
    excess = max(0.0, abs(found.difference) - ours.rounding - printed.rounding)
    in_steps = -math.copysign(excess, found.difference) * pair.ours.mean / ours.mean
    p = resampled_p(pair.tally.steps, in_steps, printed.runs)
    return replace(found, p=p if heavy else max(p, found.p))


def verdicts_of(p_values: Sequence[float], can_be_judged: Sequence[bool]) -> list[str]:
    """Judge all that can be judged together, by Holm's method; leave the others open."""
    judged = [p for p, can in zip(p_values, can_be_judged, strict=True) if can]
    rejected = iter(holm(judged, LEVEL))
    return [(DIFFERS if next(rejected) else AGREES) if can else OPEN for can in can_be_judged]
