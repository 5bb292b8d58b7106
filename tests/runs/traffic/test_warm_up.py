from __future__ import annotations

import numpy as np

from popsnet.runs.batch_means import Cut, find_cut
from tests.each import each


def by_definition(y: np.ndarray) -> int:
    scores = [np.var(y[c:]) / (len(y) - c) for c in range(3 * len(y) // 4 + 1)]
    return int(np.argmin(scores))


@each("seed", range(10))
def test_the_cut_minimizes_the_squared_standard_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=150) + 20 * np.exp(-np.arange(150) / rng.integers(1, 30))
    assert find_cut(y).batches == by_definition(y)


def test_a_transient_is_cut() -> None:
    # exp(-t/20) times 10 is below a tenth of the noise after 92 batches; the cut lies where the
    # rest of it hardly matters. 50 series, none of which may be wrong.
    for seed in range(50):
        y = np.random.default_rng(seed).normal(size=800) - 10 * np.exp(-np.arange(800) / 20)
        cut = find_cut(y)
        assert 30 <= cut.batches <= 250
        assert not cut.is_late


def test_growth_has_no_end() -> None:
    assert find_cut(np.arange(400.0)).is_late


def test_a_constant_series_needs_no_warm_up() -> None:
    assert find_cut(np.zeros(200)) == Cut(0, False)


def test_zeros_at_the_end_do_not_win() -> None:
    # A nearly idle network: the last batches are empty by chance.
    y = (np.random.default_rng(1).random(400) < 0.1).astype(float)
    y[-20:] = 0
    assert not find_cut(y).is_late


def test_a_few_batches_are_too_few() -> None:
    assert find_cut(np.zeros(19)) == Cut(19, True)
