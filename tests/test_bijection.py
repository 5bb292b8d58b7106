"""The public bijections of relay: near enough to uniform, and different in each group."""

from __future__ import annotations

import numpy as np
import pytest

from popsnet import Point
from popsnet.routing.relay import Bijection, bijection

SEEDS = 4000


def places(seed: int, groups: int, size: int, number: int = 0) -> np.ndarray:
    """A row a group: the place of each value."""
    everywhere = np.arange(groups * size, dtype=np.int32)
    found = Bijection(seed, number, groups, size)(everywhere // size, everywhere % size)
    return found.reshape(groups, size)


def excess(counts: np.ndarray) -> float:
    """Pearson's statistic against equal counts, in standard deviations from its mean."""
    expected, free = counts.sum() / counts.size, counts.size - 1
    statistic = ((counts - expected) ** 2).sum() / expected
    return float((statistic - free) / (2 * free) ** 0.5)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 24, 100, 257])
def test_each_group_has_a_bijection_of_its_own(size: int) -> None:
    rows = places(7, 20, size)
    assert (np.sort(rows, axis=1) == np.arange(size)).all()
    if size >= 24:
        assert len(np.unique(rows, axis=0)) == 20


@pytest.mark.parametrize("size", [3, 8, 12, 24])
def test_places_and_pairs_of_places_are_uniform(size: int) -> None:
    """Of one value, of two values of a group, and of one value in two groups."""
    one = np.zeros(size)
    within, between = np.zeros((size, size)), np.zeros((size, size))
    for seed in range(SEEDS):
        first, second = places(seed, 2, size)
        one[first[1]] += 1
        within[first[0], first[1]] += 1
        between[first[0], second[0]] += 1
    assert abs(excess(one)) < 5
    assert abs(excess(within[~np.eye(size, dtype=bool)])) < 5
    assert abs(excess(between)) < 5


def test_one_bijection_for_all_groups_lets_packets_meet_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = Point.of(16, 16, router="relay", variant="S", max_steps=200)
    assert not point.execute(0).outcome.capped
    own = bijection.multipliers

    def common(seed: int, number: int, groups: int) -> bijection.U64:
        return np.repeat(own(seed, number, 1), groups, axis=0)

    monkeypatch.setattr(bijection, "multipliers", common)
    assert point.execute(0).outcome.capped
