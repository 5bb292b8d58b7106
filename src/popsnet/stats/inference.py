"""Statistics of samples of whole numbers, and of means in print. Knows nothing of networks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = [
    "Estimate",
    "MeanComparison",
    "Summary",
    "compare_means",
    "confidence_interval",
    "holm",
    "least_sd",
    "quantile",
    "resampled_p",
    "skewness",
    "summarize",
    "summarize_array",
    "summarize_counts",
]


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean, spread and range of a sample."""

    mean: float
    sd: float | None
    """Sample standard deviation (n - 1 in the denominator); None for a single value."""
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean of so many independent runs, and their standard deviation."""

    mean: float
    sd: float
    runs: int
    rounding: float = 0.0
    """How far the mean may be from the true mean of the runs because it is rounded."""

    def __post_init__(self) -> None:
        if self.runs < 2:
            raise ValueError(f"runs = {self.runs}: a spread needs at least 2.")

    @property
    def standard_error(self) -> float:
        return self.sd / math.sqrt(self.runs)


@dataclass(frozen=True, slots=True)
class MeanComparison:
    """How far one mean is from another."""

    difference: float
    standard_errors: float
    """What rounding does not explain of the difference, in its standard errors."""
    p: float
    """Probability of a difference at least as large if the true means are the same."""


def summarize(sample: Sequence[int]) -> Summary:
    """The summary of a sample that is not empty."""
    return summarize_counts(Counter(sample))


def summarize_array(values: npt.NDArray[np.integer[Any]]) -> Summary:
    """The summary of a sample in an array; exact, as the sample is of integers."""
    found, counts = np.unique(values, return_counts=True)
    return summarize_counts(dict(zip(found.tolist(), counts.tolist(), strict=True)))


def summarize_counts(histogram: Mapping[int, int]) -> Summary:
    """The summary of a sample that is given as value: how often."""
    there = _values(histogram)
    runs, total, squares = (_power_sum(histogram, power) for power in (0, 1, 2))
    sd = None
    if runs > 1:
        sd = math.sqrt((runs * squares - total**2) / (runs * (runs - 1)))
    return Summary(total / runs, sd, there[0], there[-1])


def quantile(histogram: Mapping[int, int], share: float) -> int:
    """The smallest value that at least such a share of the sample does not exceed."""
    wanted = share * _power_sum(histogram, 0)
    reached = 0
    for value in _values(histogram):
        reached += histogram[value]
        if reached >= wanted:
            break
    return value


def skewness(histogram: Mapping[int, int]) -> float:
    """The third moment about the mean over the sd cubed; 0 if all values are alike.

    A mean of n values is about normal only if this is small beside √n.
    """
    runs, total = _power_sum(histogram, 0), _power_sum(histogram, 1)
    second, third = (
        math.fsum(times * (value - total / runs) ** power for value, times in histogram.items())
        / runs
        for power in (2, 3)
    )
    return third / second**1.5 if second else 0.0


def confidence_interval(one: Estimate, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds that hold the true mean with that confidence, by Student's t."""
    from scipy.special import stdtrit

    reach = float(stdtrit(one.runs - 1, (1 + confidence) / 2)) * one.standard_error
    return one.mean - reach, one.mean + reach


def compare_means(one: Estimate, other: Estimate) -> MeanComparison:
    """Welch's t test of two means, two-sided, of what rounding does not explain.

    It needs means that are about normal. The mean of a hundred runs is not if one run in a few
    hundred is many times longer than the rest: a hundred runs then mostly miss the tail, and
    their mean and their sd are both too small. A large :func:`skewness` tells, and
    :func:`resampled_p` is the better test.
    """
    from scipy.special import stdtr

    difference = one.mean - other.mean
    excess = math.copysign(max(0.0, abs(difference) - one.rounding - other.rounding), difference)
    parts = [side.standard_error**2 for side in (one, other)]
    error = math.sqrt(sum(parts))
    if error == 0:
        far = math.copysign(math.inf, difference) if excess else 0.0
        return MeanComparison(difference, far, 0.0 if excess else 1.0)
    weights = [part**2 / (side.runs - 1) for part, side in zip(parts, (one, other), strict=True)]
    freedom = sum(parts) ** 2 / sum(weights)
    p = 2 * float(stdtr(freedom, -abs(excess / error)))
    return MeanComparison(difference, excess / error, p)


def resampled_p(
    histogram: Mapping[int, int], difference: float, runs: int, draws: int = 50_000
) -> float:
    """How often so many values from a sample have a mean that differs as much from the sample's.

    Two-sided: twice the smaller tail. The means of the few are drawn again and again from the
    sample, so they need not be normal; the sample's own mean has a normal error, for which it has
    to be large, and it needs the tail that fewer runs may miss. The draws are the same whenever
    it is called.
    """
    values, times = np.array(list(histogram)), np.array(list(histogram.values()))
    total = times.sum()
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(runs, times / total, draws) @ values / runs
    center = (values * times).sum() / total
    spread = math.sqrt((times * (values - center) ** 2).sum() / total)
    errors = drawn - center + rng.normal(0, spread / math.sqrt(total), draws)
    smaller = min(np.count_nonzero(errors <= difference), np.count_nonzero(errors >= difference))
    return min(1.0, 2 * (1 + int(smaller)) / (1 + draws))


def least_sd(runs: int) -> float:
    """The sd of whole numbers if one of the runs is off by one and the rest are alike.

    Runs that all came to the same number do not say that every run does. Taking at least this
    for the sd of either side keeps a comparison honest.
    """
    return 1 / math.sqrt(runs)


def holm(p_values: Sequence[float], level: float) -> list[bool]:
    """Which hypotheses to reject so that all wrong rejections together have at most this chance.

    Holm's method: the smallest p-value is held against level / m, the next against
    level / (m - 1), until one is not below. It holds whatever the tests have to do with each other.
    """
    rejected = [False] * len(p_values)
    ordered = sorted(range(len(p_values)), key=p_values.__getitem__)
    for before, which in enumerate(ordered):
        if p_values[which] > level / (len(p_values) - before):
            break
        rejected[which] = True
    return rejected


def _values(histogram: Mapping[int, int]) -> list[int]:
    values = sorted(value for value, times in histogram.items() if times)
    if not values:
        raise ValueError("A sample without values has no statistics.")
    return values


def _power_sum(histogram: Mapping[int, int], power: int) -> int:
    return sum(int(value) ** power * times for value, times in histogram.items())
