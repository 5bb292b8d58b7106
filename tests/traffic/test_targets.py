"""Destinations from single words: the edges of ranges, where a distribution would not show them."""

import numpy as np
import pytest

from popsnet.traffic.targets import Anyone, Hot, Others, Rows, Targets, Weighted, thresholds_of

SMALLEST, LARGEST = 0, 2**64 - 1


def drawn(targets: Targets, word: int, source: int) -> int:
    found = targets.draw(np.array([word], np.uint64), np.array([source], np.int32))
    assert found.dtype == np.int32
    return int(found[0])


def test_thresholds_split_the_range_in_proportion() -> None:
    found = thresholds_of(np.array([0, 1, 0, 2, 1, 0], np.float64))
    assert found.tolist() == [0, 2**51, 2**51, 3 * 2**51, 2**53, 2**53]


def test_a_word_at_a_threshold_belongs_to_the_next_entry() -> None:
    weighted = Weighted(thresholds_of(np.array([1, 1, 2, 0], np.float64)))
    for place, begin, end in ((0, 0, 2**62), (1, 2**62, 2**63), (2, 2**63, 2**64)):
        assert drawn(weighted, begin, 3) == drawn(weighted, end - 1, 3) == place


def test_entries_without_weight_are_never_drawn() -> None:
    rows = Rows.of(np.array([[0.0, 1, 0], [1, 0, 1], [0, 0, 0]]), 1)
    assert drawn(rows, SMALLEST, 0) == drawn(rows, LARGEST, 0) == 1
    assert (drawn(rows, SMALLEST, 1), drawn(rows, LARGEST, 1)) == (0, 2)
    assert (drawn(rows, 2**63 - 1, 1), drawn(rows, 2**63, 1)) == (0, 2)


@pytest.mark.parametrize("n", [2, 3, 2**31 - 1])
def test_uniform_draws_reach_both_ends(n: int) -> None:
    assert (drawn(Anyone(n), SMALLEST, 0), drawn(Anyone(n), LARGEST, 0)) == (0, n - 1)
    assert (drawn(Others(n), SMALLEST, 0), drawn(Others(n), LARGEST, 0)) == (1, n - 1)
    assert (drawn(Others(n), SMALLEST, n - 1), drawn(Others(n), LARGEST, n - 1)) == (0, n - 2)


def test_the_lower_half_of_a_word_decides_whether_a_hot_processor_is_drawn() -> None:
    hot = Hot(8, 2, 2**31)
    assert drawn(hot, 2**31 - 1, 1) == 0
    assert drawn(hot, (2**32 - 1) << 32, 1) == 4
    assert drawn(hot, ((2**32 - 1) << 32) + 2**31, 1) == 7
    assert drawn(hot, SMALLEST, 0) == 4
