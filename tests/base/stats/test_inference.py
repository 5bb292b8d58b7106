from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from popsnet import InputError, route, summarize
from popsnet.base.stats.inference import (
    Estimate,
    compare_means,
    confidence_interval,
    holm,
    least_sd,
    maximum_p,
    quantile,
    resampled_p,
    resampled_sd_p,
    summarize_counts,
)
from tests.each import each, sampled

SAMPLES = st.lists(st.integers(0, 10**6), min_size=2, max_size=50)
ESTIMATES = st.builds(Estimate, st.floats(-1e3, 1e3), st.floats(0.01, 1e3), st.integers(2, 10**4))


@given(SAMPLES)
@pytest.mark.filterwarnings("ignore:Precision loss:RuntimeWarning")
def test_summaries_agree_with_scipy(sample: list[int]) -> None:
    summary = summarize(sample)
    assert summary.mean == pytest.approx(stats.tmean(sample))
    assert summary.sd == pytest.approx(stats.tstd(sample))
    assert (summary.min, summary.max) == (min(sample), max(sample))
    assert summarize_counts(Counter(sample)) == summary


def test_runs_have_a_summary_of_their_own() -> None:
    with pytest.raises(InputError, match=r"use runs\.summary\(\)"):
        summarize(route(2, 2, router="direct", runs=2))  # type: ignore[arg-type]


def test_one_value_has_no_spread() -> None:
    assert (summarize([7]).mean, summarize([7]).sd) == (7.0, None)


def test_values_that_never_came_do_not_count() -> None:
    assert summarize_counts({1: 0, 5: 2, 9: 0}).max == 5
    assert quantile({1: 0, 5: 2, 9: 0}, 0) == 5


@given(SAMPLES, st.floats(0, 1))
def test_quantiles_agree_with_numpy(sample: list[int], share: float) -> None:
    expected = np.quantile(sample, share, method="inverted_cdf")
    assert quantile(Counter(sample), share) == expected


@given(ESTIMATES, st.floats(0.5, 0.999))
def test_confidence_intervals_agree_with_scipy(estimate: Estimate, confidence: float) -> None:
    expected = stats.t.interval(
        confidence, estimate.runs - 1, estimate.mean, estimate.standard_error
    )
    assert confidence_interval(estimate, confidence) == pytest.approx(expected)


@given(ESTIMATES, ESTIMATES)
def test_comparisons_agree_with_scipy(left: Estimate, right: Estimate) -> None:
    t, p = stats.ttest_ind_from_stats(
        left.mean, left.sd, left.runs, right.mean, right.sd, right.runs, equal_var=False
    )
    found = compare_means(left, right)
    assert found.standard_errors == pytest.approx(t)
    assert found.p == pytest.approx(p, abs=1e-12)


def test_rounding_is_taken_from_the_difference() -> None:
    printed = Estimate(3.15, 1.0, 100, rounding=0.005)
    assert compare_means(Estimate(3.154, 1.0, 100), printed).p == 1
    expected = compare_means(Estimate(3.3, 1.0, 100), Estimate(3.155, 1.0, 100))
    assert compare_means(Estimate(3.3, 1.0, 100), printed).p == pytest.approx(expected.p)
    assert compare_means(Estimate(3.0, 1.0, 100), printed).standard_errors < 0


def test_means_without_any_spread_are_the_same_or_are_not() -> None:
    eight = Estimate(8.0, 0.0, 100)
    assert compare_means(eight, eight).p == 1
    found = compare_means(Estimate(7.0, 0.0, 100), eight)
    assert (found.standard_errors, found.p) == (-math.inf, 0.0)


def test_resampling_agrees_with_the_t_test_where_means_are_normal() -> None:
    sample = np.random.default_rng(0).poisson(50, 10**5)
    for mean in (49, 49.5, 50, 50.8, 51.5):
        expected = 2 * stats.norm.sf(abs(mean - sample.mean()), scale=sample.std() / 10)
        found = resampled_p(Counter(sample.tolist()), mean - sample.mean(), 100)
        assert found == pytest.approx(expected, abs=0.02)


def test_resampling_knows_that_a_hundred_runs_may_miss_a_tail() -> None:
    sample = Counter({10: 990, 1000: 10})
    assert compare_means(Estimate(10, 0.1, 100), Estimate(19.9, 98.5, 1000)).p < 0.01
    assert resampled_p(sample, 10 - 19.9, 100) > 0.3
    assert resampled_p(sample, 300 - 19.9, 100) < 1e-4


def test_resampling_counts_the_error_of_the_sample_too() -> None:
    """As many runs on both sides: the difference has twice the variance of one mean."""
    sample = np.random.default_rng(0).poisson(50, 1000)
    found = resampled_p(Counter(sample.tolist()), 1.0, 1000)
    error = sample.std() * np.sqrt(2 / 1000)
    assert found == pytest.approx(2 * stats.norm.sf(1.0 / error), abs=0.005)


def test_resampled_sds_agree_with_chi_square_where_values_are_normal() -> None:
    sample = np.random.default_rng(0).poisson(50, 10**5)
    for sd in sampled((6.0, 5.0, 7.07, 8.0, 12.0, 8.6), 2):
        chi2 = 99 * (sd / sample.std()) ** 2
        expected = 2 * min(stats.chi2.cdf(chi2, 99), stats.chi2.sf(chi2, 99))
        found = resampled_sd_p(Counter(sample.tolist()), sd, 100)
        assert found == pytest.approx(expected, rel=0.35, abs=1e-4)
        assert found == resampled_sd_p(Counter(sample.tolist()), sd, 100)


def test_equal_values_do_not_show_that_all_are_equal() -> None:
    """Ten equal values are few, a thousand are not."""
    assert resampled_sd_p({8: 10}, 0.0, 100) > 0.05
    assert resampled_sd_p({8: 10}, 0.27, 100) > 0.05
    assert resampled_sd_p({8: 1000}, 0.0, 100) > 0.5
    assert resampled_sd_p({8: 1000}, 0.27, 100) < 0.001


Draws: TypeAlias = Callable[[np.random.Generator, int], npt.NDArray[np.int64]]


@each(
    "draw",
    [
        lambda rng, size: rng.poisson(1, size),
        lambda rng, size: rng.poisson(0.05, size),
        lambda rng, size: rng.geometric(0.3, size),
    ],
)
def test_sds_and_maxima_are_rejected_no_more_often_than_stated(draw: Draws) -> None:
    """At 5%, 10 of 200 are expected; more than 20 have probability 0.1%. None is at 0.01%."""
    rng = np.random.default_rng(4)
    p_values: dict[str, list[float]] = {"sd": [], "maximum": []}
    for _ in range(200):
        sample, values = Counter(draw(rng, 1000).tolist()), draw(rng, 100)
        sd = round(float(values.std(ddof=1)), 2)
        p_values["sd"].append(resampled_sd_p(sample, sd, 100, 0.005))
        p_values["maximum"].append(maximum_p(sample, int(values.max()), 100))
    for found in p_values.values():
        assert sum(p <= 0.05 for p in found) <= 20
        assert min(found) > 1e-4


@given(st.permutations(range(12)), st.integers(1, 11))
def test_maxima_have_the_probabilities_of_ranks(order: list[int], runs: int) -> None:
    """All choices of runs values among twelve are counted."""
    values, sample = order[:runs], Counter(order[runs:])
    maxima = [max(choice) for choice in combinations(range(12), runs)]
    share = [
        sum(map(side, maxima)) / len(maxima) for side in (max(values).__ge__, max(values).__le__)
    ]
    assert maximum_p(sample, max(values), runs) == pytest.approx(min(1.0, 2 * min(share)))


def test_the_least_sd_is_that_of_one_run_off_by_one() -> None:
    assert least_sd(100) == pytest.approx(np.std([8] * 99 + [9], ddof=1))


@given(st.lists(st.floats(0, 1), max_size=20), st.sampled_from([0.01, 0.05, 0.5]))
def test_holm_agrees_with_adjusted_p_values(p_values: list[float], level: float) -> None:
    """The textbook's other form: adjusted p-values, made monotone, against the level."""
    order = np.argsort(p_values, kind="stable")
    scaled = np.array(p_values)[order] * (len(p_values) - np.arange(len(p_values)))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(scaled) if len(scaled) else scaled
    close = np.abs(adjusted - level) < 1e-12
    agree = np.array(holm(p_values, level)) == (adjusted <= level)
    assert np.all(agree | close)
