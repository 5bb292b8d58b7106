"""Regression of means with known standard errors on a model that need not be exact.

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

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, pi, sqrt

import numpy as np
import numpy.typing as npt

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


@dataclass(frozen=True, slots=True)
class _Solution:
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
    return Fit(
        coefficients=tuple(best.coefficients.tolist()),
        errors=tuple(spread.tolist()),
        misfit=sqrt(variance),
        rss=float((best.residuals**2).sum()),
        chi2=float(((sharp.residuals / s) ** 2).sum()),
        freedom=count - coefficients,
        aicc=2 * parameters - 2 * best.log_likelihood + correction,
    )


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
    likelihood = (np.log(weights) - weights * residuals**2 - log(2 * pi)).sum() / 2
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
