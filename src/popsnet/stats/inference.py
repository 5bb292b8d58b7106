"""Statistics of samples of integers, and comparisons of means. Knows nothing of networks.

The distributions come from :mod:`scipy.special`: :mod:`scipy.stats` has the same tests and takes
more than a second to import.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.errors import InputError, require_several


@dataclass(frozen=True, slots=True)
class Summary:
    """Mean, standard deviation and range of a sample.

    Parameters
    ----------
    mean : float
        The mean.
    sd : float or None
        The sample standard deviation (n - 1 in the denominator), None for a single value.
    min, max : int
        The smallest and the largest value.

    Examples
    --------
    >>> from popsnet.stats import Summary
    >>> Summary(mean=2.0, sd=1.0, min=1, max=3).max
    3
    """

    mean: float
    sd: float | None
    min: int
    max: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean and standard deviation of independent runs."""

    mean: float
    sd: float
    runs: int
    rounding: float = 0.0
    """The largest error of the mean due to rounding."""

    def __post_init__(self) -> None:
        if self.runs < 2:
            raise ValueError(f"runs = {self.runs}: it must be at least 2 for a standard deviation.")

    def times(self, factor: int) -> Estimate:
        """Return the estimate of a multiple."""
        return Estimate(factor * self.mean, factor * self.sd, self.runs, factor * self.rounding)

    @property
    def standard_error(self) -> float:
        """The standard error of the mean, sd / √runs."""
        return self.sd / math.sqrt(self.runs)


@dataclass(frozen=True, slots=True)
class MeanComparison:
    """The difference of two means, and its significance."""

    difference: float
    standard_errors: float
    """The part of the difference that rounding does not explain, in its standard errors."""
    p: float
    """Probability of a difference at least as large if the true means are the same."""


def summarize(sample: Sequence[int]) -> Summary:
    """Summarize a sample of integers.

    Parameters
    ----------
    sample : sequence of int
        The values, at least one.

    Returns
    -------
    Summary
        Mean, standard deviation, minimum and maximum.

    Raises
    ------
    ValueError
        If the sample is empty.
    InputError
        If it is not a sample but runs, which have ``runs.summary()``.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.summarize([4, 5, 9])
    Summary(mean=6.0, sd=2.6457513110645907, min=4, max=9)
    """
    if callable(getattr(sample, "summary", None)):
        raise InputError(
            "summarize takes a sequence of integers, such as runs.slots; for all counts of runs "
            "use runs.summary()."
        )
    require_several("sample", sample)
    return summarize_counts(Counter(sample))


def summarize_array(values: npt.NDArray[np.integer[Any]]) -> Summary:
    """Summarize a sample of integers in an array, exactly."""
    found, counts = np.unique(values, return_counts=True)
    return summarize_counts(dict(zip(found.tolist(), counts.tolist(), strict=True)))


def summarize_counts(histogram: Mapping[int, int]) -> Summary:
    """Summarize a sample given as a histogram, which maps values to their frequencies."""
    there = _values(histogram)
    runs, total, squares = (_power_sum(histogram, power) for power in (0, 1, 2))
    sd = None
    if runs > 1:
        sd = math.sqrt((runs * squares - total**2) / (runs * (runs - 1)))
    return Summary(total / runs, sd, there[0], there[-1])


def quantile(histogram: Mapping[int, int], share: float) -> int:
    """Return the smallest value that at least this share of the sample does not exceed."""
    values = _values(histogram)
    weights = [histogram[value] for value in values]
    return int(np.quantile(values, share, weights=weights, method="inverted_cdf"))


def confidence_interval(one: Estimate, confidence: float = 0.95) -> tuple[float, float]:
    """Return bounds that contain the true mean with this confidence, by Student's t."""
    from scipy.special import stdtrit

    reach = float(stdtrit(one.runs - 1, (1 + confidence) / 2)) * one.standard_error
    return one.mean - reach, one.mean + reach


def binomial_interval(
    successes: npt.ArrayLike, trials: int, confidence: float = 0.95
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return bounds that contain a probability with at least this confidence (Clopper–Pearson).

    The bounds are exact for any number of successes: the probability of as many successes, or
    more, is (1 - confidence)/2 at the lower bound, and that of as many or fewer is the same at the
    upper bound. With no success the lower bound is 0, and with no failure the upper bound is 1.
    """
    from scipy.special import betainccinv, betaincinv

    there, miss = np.asarray(successes, dtype=np.float64), (1 - confidence) / 2
    least, failures = np.maximum(there, 1), np.maximum(trials - there, 1)
    low = np.where(there > 0, betaincinv(least, trials - there + 1, miss), 0.0)
    high = np.where(there < trials, betainccinv(there + 1, failures, miss), 1.0)
    return low, high


def compare_means(one: Estimate, other: Estimate) -> MeanComparison:
    """Compare two means by Welch's two-sided t test, after subtracting what rounding explains.

    The means must be approximately normal. The mean of a hundred runs is not if one run in a few
    hundred is many times longer than the rest: a hundred runs then mostly miss the tail, and
    their mean and sd are both too small. A large skewness compared with √n indicates this, and
    :func:`resampled_p` is then the better test.
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
    """Return how often the mean of ``runs`` values of a sample differs this much from its mean.

    Two-sided: twice the smaller tail. Means of ``runs`` values are drawn from the sample again and
    again, so they need not be normal. The sample's own mean has a normal error, so the sample must
    be large, and it must contain the tail that fewer runs may miss. The draws are the same in
    every call.
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
    """Return the sd of integers of which one differs by one from the others, which are equal.

    Runs that all gave the same number do not show that every run does. Using at least this sd for
    both sides keeps a comparison honest.
    """
    return 1 / math.sqrt(runs)


def holm(p_values: Sequence[float], level: float) -> list[bool]:
    """Reject hypotheses with the family-wise error rate bounded by ``level`` (Holm).

    The smallest p-value is compared with level / m, the next with level / (m - 1), until one is
    larger. The bound holds however the tests depend on each other.
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
        raise ValueError("The sample is empty; give at least one value.")
    return values


def _power_sum(histogram: Mapping[int, int], power: int) -> int:
    return sum(int(value) ** power * times for value, times in histogram.items())
