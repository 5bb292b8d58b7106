"""Fitting a model to means with known errors that it need not describe exactly.

Means of many runs may be sharper than any simple model is right. Weights by their errors alone
would then let the sharpest means decide, and take every misfit for a matter of chance. So the model
gets an error of its own: value i is normal about the model with variance sᵢ² + τ², where sᵢ is its
standard error and τ, one for all, is estimated with the coefficients by maximum likelihood. It is
the regression of random effects (DerSimonian and Laird, Controlled Clinical Trials, 1986; Thompson
and Sharp, Statistics in Medicine, 1999). With τ = 0 it is least squares weighted by standard
errors, with τ large ordinary least squares. Models are compared by AICc (Hurvich and Tsai,
Biometrika, 1989). The misfits of different values are taken to be independent.
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
    """τ: how far the model is off where the values are exact."""
    rss: float
    """The sum of the squares of the residuals."""
    chi2: float
    """The least sum of squares of residuals over standard errors, had the model no misfit."""
    freedom: int
    """Values less coefficients: what chi2 would be on average."""
    aicc: float


@dataclass(frozen=True, slots=True)
class _Solution:
    """The best coefficients for some τ²."""

    coefficients: Numbers
    covariance: Numbers
    residuals: Numbers
    log_likelihood: float


def fewest_values(coefficients: int) -> int:
    """Return how many values AICc needs for this many coefficients; τ is one more parameter."""
    return coefficients + 3


def fit(design: npt.ArrayLike, values: npt.ArrayLike, errors: npt.ArrayLike) -> Fit:
    """The most likely coefficients, one for each column of ``design``, and the most likely τ.

    A design without columns is a model without coefficients, whose predictions are 0. The variance
    that is most likely is too small on average; where τ dominates by (N - p)/N, for which the
    standard errors make up, so that they are rather too large where τ is small.
    """
    x, y, s = (np.asarray(part, dtype=np.float64) for part in (design, values, errors))
    count, coefficients = x.shape
    if count < fewest_values(coefficients):
        raise ValueError(
            f"{count} values: a model with {coefficients} coefficients needs "
            f"{fewest_values(coefficients)}."
        )
    if not (s > 0).all():
        raise ValueError("A standard error is not above 0: the weight would be infinite.")
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
    """Return the share of each model in exp(-Δ/2), Δ from the least AICc; they add up to 1."""
    likelihoods = np.exp(-(np.asarray(aicc) - min(aicc)) / 2)
    shares: list[float] = (likelihoods / likelihoods.sum()).tolist()
    return shares


def _solve(x: Numbers, y: Numbers, s: Numbers, variance: float) -> _Solution:
    """Weighted least squares."""
    weights = 1 / (s**2 + variance)
    covariance: Numbers = np.linalg.inv(x.T * weights @ x).astype(np.float64)
    coefficients = covariance @ (x.T * weights @ y)
    residuals = y - x @ coefficients
    likelihood = (np.log(weights) - weights * residuals**2 - log(2 * pi)).sum() / 2
    return _Solution(coefficients, covariance, residuals, float(likelihood))


def _most_likely(x: Numbers, y: Numbers, s: Numbers) -> float:
    """τ²: the best of a grid, which may have several peaks, refined between its neighbours."""
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
