from __future__ import annotations

import numpy as np
import pytest

from popsnet.runs.batch_means import BatchMeans, Sums, batch_means, lag1_correlation


def autoregressive(rng: np.random.Generator, length: int, r: float) -> np.ndarray:
    """Stationary AR(1) with mean 0 and variance 1."""
    from scipy.signal import lfilter

    noise = rng.normal(size=length) * np.sqrt(1 - r * r)
    noise[0] = rng.normal()
    found: np.ndarray = lfilter([1.0], [1.0, -r], noise)
    return found


def found(values: np.ndarray, counts: np.ndarray | None = None) -> BatchMeans:
    one = batch_means(values, counts)
    assert one is not None
    return one


@pytest.mark.parametrize("pieces", [(5000,), (1, 4999), (17,) * 294 + (2,), (2048, 1, 2951)])
def test_sums_do_not_depend_on_the_pieces(pieces: tuple[int, ...]) -> None:
    values = np.random.default_rng(1).integers(0, 9, 5000)
    sums = Sums(5, 64)
    for piece in np.split(values, np.cumsum(pieces)[:-1]):
        sums.add(piece)
    assert (sums.width, sums.slots) == (80, 5000)
    assert sums.means.tolist() == [values[k : k + 80].mean() for k in range(0, 4960, 80)]


def test_no_slots_add_nothing() -> None:
    sums = Sums()
    sums.add(np.empty(0, np.int64))
    assert not len(sums.means)
    assert not sums.slots


@pytest.mark.parametrize("r", [0.0, 0.9, 0.98])
def test_the_interval_covers_the_mean_of_correlated_values(r: float) -> None:
    # 400 intervals of 20,000 values: the correlation is over after about 100. If 95 % cover, fewer
    # than 359 do with probability 1e-5; they are a little wider, so that up to 97 % cover.
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        one = found(autoregressive(rng, 20_000, r) + 3)
        covered += abs(one.mean - 3) <= one.half_width
    assert 359 <= covered < 400


def test_long_correlations_are_noticed() -> None:
    # A correlation time of 2,000 in 20,000 values: batches of 1,000 have a correlation of about
    # 0.7, which 20 of them show to be positive in nearly all of 100 series.
    rng = np.random.default_rng(3)
    noticed = [found(autoregressive(rng, 20_000, 0.9995)) for _ in range(100)]
    assert sum(not one.independent for one in noticed) >= 80
    assert {one.batches for one in noticed if not one.independent} == {20}


def test_intervals_of_correlated_batches_are_wider() -> None:
    # As above. Widened intervals cover in about 80 % of such series, narrow ones in half of them:
    # fewer than 130 of 200 with probability 1e-6.
    rng = np.random.default_rng(6)
    covered = 0
    for _ in range(200):
        one = found(autoregressive(rng, 20_000, 0.9995))
        covered += abs(one.mean) <= one.half_width
    assert covered >= 130


def test_independent_values_pass_the_test_of_correlation() -> None:
    # Each of three tests has level 5 %, so a series fails all with probability at most 5 %: more
    # than 40 of 400 with probability below 1e-4.
    rng = np.random.default_rng(4)
    failed = sum(not found(rng.normal(size=900)).independent for _ in range(400))
    assert failed <= 40


def test_batches_with_unequal_counts_give_the_ratio() -> None:
    # Counts differ by a factor of 5, and the mean of batch means would be biased if sums grow
    # with counts. The mean of all values is 10; 4 standard errors are checked (6e-5).
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 6, 1000)
    sums = np.array([rng.normal(10, 2, k).sum() for k in counts])
    one = found(sums, counts)
    assert one.mean == pytest.approx(sums.sum() / counts.sum())
    assert abs(one.mean - 10) < 4 * 2 / np.sqrt(counts.sum())
    assert one.half_width == pytest.approx(2.05 * 2 / np.sqrt(counts.sum()), rel=0.6)


def test_empty_batches_are_allowed() -> None:
    counts = np.tile([0, 1], 50)
    assert found(7 * counts, counts).mean == 7


def test_constant_values_have_an_interval_of_width_0() -> None:
    one = found(np.full(100, 4.0))
    assert (one.mean, one.half_width, one.lag1, one.independent) == (4.0, 0.0, 0.0, True)


@pytest.mark.parametrize("values", [np.ones(19), np.empty(0)])
def test_too_few_values_have_no_interval(values: np.ndarray) -> None:
    assert batch_means(values) is None


def test_no_packets_have_no_mean() -> None:
    assert batch_means(np.zeros(100), np.zeros(100)) is None


def test_lag1_of_an_alternating_series_is_negative() -> None:
    assert lag1_correlation(np.tile([1.0, -1.0], 50)) == pytest.approx(-0.99)
