from __future__ import annotations

import numpy as np
import pytest

from popsnet.base.stats.inference import akaike_weights, fewest_values, fit
from tests.each import sampled

G = 2.0 ** np.arange(1, 13)
LOG_LOG = np.column_stack([np.ones(12), np.log2(np.log2(G))])
LOG = np.column_stack([np.ones(12), np.log2(G)])
ERRORS = np.geomspace(0.3, 0.03, 12)


def test_known_coefficients_are_recovered() -> None:
    """Over 200 samples the mean of b is within five of its standard errors."""
    rng = np.random.default_rng(1)
    noise = rng.normal(0, np.hypot(ERRORS, 0.5), (200, 12))
    fits = [fit(LOG_LOG, LOG_LOG @ [15.0, 6.0] + errors, ERRORS) for errors in noise]
    slopes = np.array([model.coefficients[1] for model in fits])
    assert abs(slopes.mean() - 6) < 5 * slopes.std() / 200**0.5
    assert 0.4 < np.median([model.misfit for model in fits]) < 0.55


@pytest.mark.parametrize("misfit", sampled([0.5, 0.0], 1))
def test_standard_errors_cover_as_they_should(misfit: float) -> None:
    """95 % of the true slopes are within two; fewer than 88 % of 300 have a chance of 10^-5."""
    rng = np.random.default_rng(2)
    noise = rng.normal(0, np.hypot(ERRORS, misfit), (300, 12))
    fits = [fit(LOG_LOG, LOG_LOG @ [15.0, 6.0] + errors, ERRORS) for errors in noise]
    assert sum(abs(model.coefficients[1] - 6) < 2 * model.errors[1] for model in fits) >= 0.88 * 300


def test_without_misfit_it_is_weighted_least_squares() -> None:
    values = LOG @ [3.0, 2.0] + 0.1 * ERRORS * (-1) ** np.arange(12)
    found = fit(LOG, values, ERRORS)
    weighted = np.polynomial.polynomial.polyfit(LOG[:, 1], values, 1, w=1 / ERRORS)
    assert found.misfit == pytest.approx(0, abs=1e-4)
    assert found.coefficients == pytest.approx(weighted.tolist(), rel=1e-6)
    assert found.chi2 < 0.01 * found.freedom * 12


def test_where_the_misfit_is_large_it_is_least_squares() -> None:
    values = LOG @ [3.0, 2.0] + 50 * (-1) ** np.arange(12)
    found = fit(LOG, values, ERRORS)
    plain = np.polynomial.polynomial.polyfit(LOG[:, 1], values, 1)
    residuals = values - LOG @ plain
    assert found.coefficients == pytest.approx(plain.tolist(), rel=1e-3)
    assert found.rss == pytest.approx((residuals**2).sum(), rel=1e-4)
    assert found.misfit == pytest.approx((found.rss / 12) ** 0.5, rel=1e-3)
    assert found.chi2 > 1000 * found.freedom


def test_aicc_is_that_of_the_likelihood() -> None:
    """Without coefficients all can be worked out by hand: five values, each off by one."""
    found = fit(np.empty((5, 0)), np.ones(5), np.full(5, 0.6))
    assert found.misfit == pytest.approx(0.8, rel=1e-4)
    assert found.aicc == pytest.approx(5 * np.log(2 * np.pi) + 5 + 2 + 4 / 3, rel=1e-6)


def test_a_coefficient_that_does_nothing_costs() -> None:
    rng = np.random.default_rng(3)
    values = 20 + rng.normal(0, 1, (100, 12))
    better = [fit(LOG[:, :1], y, ERRORS).aicc < fit(LOG, y, ERRORS).aicc for y in values]
    assert sum(better) > 70


def test_weights_are_shares() -> None:
    assert akaike_weights([10.0, 10.0]) == [0.5, 0.5]
    first, second = akaike_weights([100.0, 104.0])
    assert first + second == pytest.approx(1)
    assert second / first == pytest.approx(np.exp(-2))


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(ValueError, match="4 values"):
        fit(LOG[:4], np.ones(4), np.ones(4))
    with pytest.raises(ValueError, match="standard error"):
        fit(LOG, np.ones(12), np.zeros(12))
    assert fewest_values(2) == 5
