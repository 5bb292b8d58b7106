"""Destinations from single words: the edges of ranges, where a distribution would not show them."""

import numpy as np
import pytest

from popsnet.workloads.targets import (
    Targets,
    by_rows,
    draw_anyone,
    draw_hot,
    draw_others,
    draw_weighted,
    thresholds_of,
)

SMALLEST, LARGEST = 0, 2**64 - 1


def drawn(targets: Targets, word: int, source: int) -> int:
    found = targets.draw(np.array([word], np.uint64), np.array([source], np.int32))
    assert found.dtype == np.int32
    return int(found[0])


def test_thresholds_split_the_range_in_proportion() -> None:
    found = thresholds_of(np.array([0, 1, 0, 2, 1, 0], np.float64))
    assert found.tolist() == [0, 2**51, 2**51, 3 * 2**51, 2**53, 2**53]


def test_a_word_at_a_threshold_belongs_to_the_next_entry() -> None:
    thresholds = thresholds_of(np.array([1, 1, 2, 0], np.float64))
    weighted = Targets(draw_weighted, (thresholds,))
    for place, begin, end in ((0, 0, 2**62), (1, 2**62, 2**63), (2, 2**63, 2**64)):
        assert drawn(weighted, begin, 3) == drawn(weighted, end - 1, 3) == place


def test_entries_without_weight_are_never_drawn() -> None:
    rows = by_rows(np.array([[0.0, 1, 0], [1, 0, 1], [0, 0, 0]]), 1)
    assert drawn(rows, SMALLEST, 0) == drawn(rows, LARGEST, 0) == 1
    assert (drawn(rows, SMALLEST, 1), drawn(rows, LARGEST, 1)) == (0, 2)
    assert (drawn(rows, 2**63 - 1, 1), drawn(rows, 2**63, 1)) == (0, 2)


@pytest.mark.parametrize("n", [2, 3, 2**31 - 1])
def test_uniform_draws_reach_both_ends(n: int) -> None:
    anyone, others = Targets(draw_anyone, (n,)), Targets(draw_others, (n,))
    assert (drawn(anyone, SMALLEST, 0), drawn(anyone, LARGEST, 0)) == (0, n - 1)
    assert (drawn(others, SMALLEST, 0), drawn(others, LARGEST, 0)) == (1, n - 1)
    assert (drawn(others, SMALLEST, n - 1), drawn(others, LARGEST, n - 1)) == (0, n - 2)


def test_the_lower_half_of_a_word_decides_whether_a_hot_processor_is_drawn() -> None:
    hot = Targets(draw_hot, (8, 2, np.uint64(2**31)))
    assert drawn(hot, 2**31 - 1, 1) == 0
    assert drawn(hot, (2**32 - 1) << 32, 1) == 4
    assert drawn(hot, ((2**32 - 1) << 32) + 2**31, 1) == 7
    assert drawn(hot, SMALLEST, 0) == 4
