"""Statistics of samples of integers, and comparisons of means. Knows nothing of networks.

The distributions come from :mod:`scipy.special`: :mod:`scipy.stats` has the same tests and takes
more than a second to import.

Also the regression of means with known standard errors on a model that need not be exact.

Means of many runs may be more precise than any simple model is accurate. Weights by their standard
errors alone would then let the most precise means decide, and attribute every misfit to random
error. So the model gets an error of its own: value i is normal about the model with variance
sᵢ² + τ², where sᵢ is its standard error and τ, one for all, is estimated with the coefficients by
maximum likelihood. It is the regression of random effects (DerSimonian and Laird, Controlled
Clinical Trials, 1986; Thompson and Sharp, Statistics in Medicine, 1999). With τ = 0 it is least
squares weighted by standard errors, with large τ it is ordinary least squares. Models are compared
by AICc (Hurvich and Tsai, Biometrika, 1989). The misfits of different values are assumed to be
independent.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, require_several

_DRAWS = 50_000
"""Means that are drawn to compare with a printed one."""

_MOST_SDS, _BATCH, _ENOUGH = 200_000, 1000, 50
"""Standard deviations that are drawn at most, in batches, until this many are as extreme."""


_BEYOND, _SMALLEST = 20, 1e-9
"""Values above a sample that are taken to be possible, and the least weight of one."""


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
    >>> from popsnet.base.stats import Summary
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
    numbers, counts = np.unique(values, return_counts=True)
    return summarize_counts(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))


def summarize_counts(histogram: Mapping[int, int]) -> Summary:
    """Summarize a sample given as a histogram, which maps values to their frequencies."""
    values = _values(histogram)
    runs, total, squares = (_power_sum(histogram, power) for power in (0, 1, 2))
    sd = math.sqrt((runs * squares - total**2) / (runs * (runs - 1))) if runs > 1 else None
    return Summary(total / runs, sd, values[0], values[-1])


def quantile(histogram: Mapping[int, int], share: float) -> int:
    """Return the smallest value that at least this share of the sample does not exceed."""
    values = _values(histogram)
    weights = [histogram[value] for value in values]
    return int(np.quantile(values, share, weights=weights, method="inverted_cdf"))


def confidence_interval(estimate: Estimate, confidence: float = 0.95) -> tuple[float, float]:
    """Return bounds that contain the true mean with this confidence, by Student's t."""
    from scipy.special import stdtrit

    reach = float(stdtrit(estimate.runs - 1, (1 + confidence) / 2)) * estimate.standard_error
    return estimate.mean - reach, estimate.mean + reach


def binomial_interval(
    successes: npt.ArrayLike, trials: int, confidence: float = 0.95
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return bounds that contain a probability with at least this confidence (Clopper–Pearson).

    The bounds are exact for any number of successes: the probability of as many successes, or
    more, is (1 - confidence)/2 at the lower bound, and that of as many or fewer is the same at the
    upper bound. With no success the lower bound is 0, and with no failure the upper bound is 1.
    """
    from scipy.special import betainccinv, betaincinv

    count, miss = np.asarray(successes, dtype=np.float64), (1 - confidence) / 2
    least, failures = np.maximum(count, 1), np.maximum(trials - count, 1)
    low = np.where(count > 0, betaincinv(least, trials - count + 1, miss), 0.0)
    return low, np.where(count < trials, betainccinv(count + 1, failures, miss), 1.0)


def compare_means(left: Estimate, right: Estimate) -> MeanComparison:
    """Compare two means by Welch's two-sided t test, after subtracting what rounding explains.

    The means must be approximately normal. The mean of a hundred runs is not if one run in a few
    hundred is many times longer than the rest: a hundred runs then mostly miss the tail, and
    their mean and sd are both too small. A large skewness compared with √n indicates this, and
    :func:`resampled_p` is then the better test.
    """
    from scipy.special import stdtr

    difference = left.mean - right.mean
    excess = math.copysign(max(0.0, abs(difference) - left.rounding - right.rounding), difference)
    parts = [side.standard_error**2 for side in (left, right)]
    error = math.sqrt(sum(parts))
    if error == 0:
        far = math.copysign(math.inf, difference) if excess else 0.0
        return MeanComparison(difference, far, 0.0 if excess else 1.0)
    weights = [part**2 / (side.runs - 1) for part, side in zip(parts, (left, right), strict=True)]
    freedom = sum(parts) ** 2 / sum(weights)
    p = 2 * float(stdtr(freedom, -abs(excess / error)))
    return MeanComparison(difference, excess / error, p)


def resampled_p(histogram: Mapping[int, int], difference: float, runs: int) -> float:
    """Return how often the mean of ``runs`` values of a sample differs this much from its mean.

    Two-sided: twice the smaller tail. Means of ``runs`` values are drawn from the sample again and
    again, so they need not be normal. The sample's own mean has a normal error, so the sample must
    be large, and it must contain the tail that fewer runs may miss. The draws are the same in
    every call.
    """
    values, times = np.array(list(histogram)), np.array(list(histogram.values()))
    total = times.sum()
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(runs, times / total, _DRAWS) @ values / runs
    center = (values * times).sum() / total
    spread = math.sqrt((times * (values - center) ** 2).sum() / total)
    errors = drawn - center + rng.normal(0, spread / math.sqrt(total), _DRAWS)
    smaller = min(np.count_nonzero(errors <= difference), np.count_nonzero(errors >= difference))
    return min(1.0, 2 * (1 + int(smaller)) / (1 + _DRAWS))


def resampled_sd_p(
    histogram: Mapping[int, int], sd: float, runs: int, rounding: float = 0.0
) -> float:
    """Return how often ``runs`` values of a sample's distribution have an sd this far from its own.

    Two-sided: twice the smaller tail. The distribution is not known, only the sample, so each draw
    takes another one from its posterior (Bayesian bootstrap; Rubin, Annals of Statistics, 1981).
    Half a value is added just below the sample's range, and half a value above it, where the
    probabilities fall off exponentially on the scale of the sd: a sample does not show that other
    values never occur. The sample should have at least as many values as ``runs``. The draws are
    the same in every call. They end when the smaller tail is known well (Besag and Clifford,
    Biometrika, 1991).
    """
    seen = _values(histogram)
    beyond = np.arange(1, _BEYOND + 1)
    falling = np.exp(-beyond / max(summarize_counts(histogram).sd or 0.0, least_sd(runs)))
    values = np.array([-1, *(value - seen[0] for value in seen), *(seen[-1] - seen[0] + beyond)])
    unseen = np.maximum(0.5 * falling / falling.sum(), _SMALLEST)
    weights = [0.5, *(histogram[value] for value in seen), *unseen]
    rng = np.random.default_rng(0)
    drawn = below = above = 0
    while drawn < _MOST_SDS and min(below, above) < _ENOUGH:
        counts = rng.multinomial(runs, rng.dirichlet(weights, _BATCH))
        sums, squares = counts @ values, counts @ values**2
        sds = np.sqrt((runs * squares - sums**2) / (runs * (runs - 1)))
        below += int(np.count_nonzero(sds <= sd + rounding))
        above += int(np.count_nonzero(sds >= sd - rounding))
        drawn += _BATCH
    return min(1.0, 2 * (1 + min(below, above)) / (1 + drawn))


def maximum_p(histogram: Mapping[int, int], maximum: int, runs: int) -> float:
    """Return the p-value of the maximum of ``runs`` more values of a sample's distribution.

    Exact for every continuous distribution, and conservative where values are equal: each choice
    of the ``runs`` values from all is as probable. Two-sided: twice the smaller tail. A maximum
    that is too large is hardly ever found, as the sample shows nothing beyond its own: p is then
    about 2·runs divided by the size of the sample.

    Examples
    --------
    >>> maximum_p({1: 50, 2: 50}, maximum=1, runs=10) < 0.01
    True
    >>> round(maximum_p({1: 50, 2: 50}, maximum=9, runs=10), 3)
    0.182
    """
    size = sum(histogram.values())
    larger = sum(times for value, times in histogram.items() if value > maximum)
    others = sum(times for value, times in histogram.items() if value >= maximum)

    def without(top: int) -> float:
        """Return the probability that none of the largest ``top`` values is among the ``runs``."""
        return math.comb(size, top) / math.comb(size + runs, top)

    return min(1.0, 2 * without(larger), 2 * (1 - without(others + 1)))


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
    for before, which in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
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


Numbers = npt.NDArray[np.float64]

_GRID = 200
"""Values of τ² that are tried, before the best of them is refined."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A model fitted to values."""

    coefficients: tuple[float, ...]
    errors: tuple[float, ...]
    """Their standard errors."""
    misfit: float
    """τ, the standard deviation of exact values from the model."""
    rss: float
    """The sum of squared residuals."""
    chi2: float
    """The least sum of squared residuals over standard errors, for a model without misfit."""
    freedom: int
    """The degrees of freedom, values minus coefficients: the mean of chi2 without misfit."""
    aicc: float


class _Solution(NamedTuple):
    """The best coefficients for some τ²."""

    coefficients: Numbers
    covariance: Numbers
    residuals: Numbers
    log_likelihood: float


def fewest_values(coefficients: int) -> int:
    """Return how many values AICc needs for this many coefficients, with τ as a parameter."""
    return coefficients + 3


def fit(design: npt.ArrayLike, values: npt.ArrayLike, errors: npt.ArrayLike) -> Fit:
    """Fit coefficients, one per column of ``design``, and τ by maximum likelihood.

    A design without columns is a model without coefficients, whose predictions are 0. The maximum
    likelihood estimate of the variance is too small on average, by (N - p)/N if τ dominates. The
    standard errors correct for this, so they are rather too large if τ is small.
    """
    x, y, s = (np.asarray(part, dtype=np.float64) for part in (design, values, errors))
    count, coefficients = x.shape
    if count < fewest_values(coefficients):
        raise ValueError(
            f"{count} values: a model with {coefficients} coefficients needs at least "
            f"{fewest_values(coefficients)}."
        )
    if not (s > 0).all():
        raise ValueError("Every standard error must be above 0: the weight would be infinite.")
    variance = _most_likely(x, y, s)
    best, sharp = _solve(x, y, s, variance), _solve(x, y, s, 0.0)
    parameters = coefficients + 1
    correction = 2 * parameters * (parameters + 1) / (count - parameters - 1)
    spread = np.sqrt(np.diag(best.covariance) * count / (count - coefficients))
    rss, chi2 = (float((off**2).sum()) for off in (best.residuals, sharp.residuals / s))
    aicc = 2 * parameters - 2 * best.log_likelihood + correction
    estimates, spreads = (tuple(part.tolist()) for part in (best.coefficients, spread))
    return Fit(estimates, spreads, math.sqrt(variance), rss, chi2, count - coefficients, aicc)


def akaike_weights(aicc: Sequence[float]) -> list[float]:
    """Return the Akaike weights: shares of exp(-Δ/2), Δ from the least AICc, that sum to 1."""
    likelihoods = np.exp(-(np.asarray(aicc) - min(aicc)) / 2)
    shares: list[float] = (likelihoods / likelihoods.sum()).tolist()
    return shares


def _solve(x: Numbers, y: Numbers, s: Numbers, variance: float) -> _Solution:
    """Solve weighted least squares."""
    weights = 1 / (s**2 + variance)
    covariance: Numbers = np.linalg.inv(x.T * weights @ x).astype(np.float64)
    coefficients = covariance @ (x.T * weights @ y)
    residuals = y - x @ coefficients
    likelihood = (np.log(weights) - weights * residuals**2 - math.log(2 * math.pi)).sum() / 2
    return _Solution(coefficients, covariance, residuals, float(likelihood))


def _most_likely(x: Numbers, y: Numbers, s: Numbers) -> float:
    """Return τ²: the best of a grid, as there may be several peaks, refined locally."""
    from scipy.optimize import minimize_scalar

    def badness(variance: float) -> float:
        return -_solve(x, y, s, variance).log_likelihood

    largest = float((_solve(x, y, s, 0.0).residuals ** 2).sum()) + float((s**2).sum())
    grid = [0.0, *np.geomspace(1e-9 * largest, largest, _GRID).tolist()]
    at = min(range(len(grid)), key=lambda number: badness(grid[number]))
    low, high = grid[max(at - 1, 0)], grid[min(at + 1, _GRID)]
    refined = minimize_scalar(
        badness, bounds=(low, high), method="bounded", options={"xatol": 1e-6 * high}
    )
    variance: float = min(grid[at], float(refined.x), key=badness)
    return variance
