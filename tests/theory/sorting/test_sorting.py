"""Networks of comparators: what they are, how deep and large, and that they sort keys."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from functools import partial
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import InputError
from popsnet.model.coins import Coins
from popsnet.theory.sorting import (
    BagTree,
    ComparatorNetwork,
    ComparatorStage,
    bag_tree,
    bitonic,
    make_network,
    measure_growth,
    merge_exchange,
    merge_exchange_depth,
    sort_certified,
)
from popsnet.theory.sorting.bag_tree import (
    Matchings,
    halvings,
    is_settled,
    move,
    put_in_root,
    separator,
)
from popsnet.theory.sorting.batcher import odd_even_merge
from popsnet.theory.sorting.comparators import standard_form
from tests.each import each, examples

PRINTED_SIZES = [0, 1, 3, 5, 9, 12, 16, 19, 26, 31, 37, 41, 48, 53, 59, 63]
"""Comparators of Batcher's networks, n = 1 … 16: Knuth 5.3.4, table 1; OEIS A006282."""

DEPTHS = {6: 142, 7: 261, 8: 370, 9: 507, 10: 631, 11: 756, 12: 871}


def network_of(wires: int, *stages: list[tuple[int, int]]) -> ComparatorNetwork:
    """A network written with lists of pairs."""
    made = [
        ComparatorStage(*(np.array(ends) for ends in zip(*stage, strict=True))) for stage in stages
    ]
    return ComparatorNetwork("by hand", wires, lambda: made)


@each(
    ("low", "high", "complaint"),
    [
        ([0, 1], [1, 2], "share a wire"),
        ([0, 0], [1, 2], "share a wire"),
        ([2], [1], r"Comparator \(2, 1\)"),
        ([1], [1], r"Comparator \(1, 1\)"),
        ([-1], [1], r"Comparator \(-1, 1\)"),
        ([0, 1], [2], "low has 2 wires and high 1"),
        ([[0]], [[1]], "low has dtype"),
        ([0.0], [1.0], "low has dtype"),
    ],
)
def test_a_stage_is_disjoint_comparators_downwards(
    low: list[int], high: list[int], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        ComparatorStage(np.array(low), np.array(high))


def test_a_network_has_only_its_own_wires() -> None:
    assert network_of(2, [(0, 1)]).depth == 1
    with pytest.raises(InputError, match="uses wire 2, but wires are numbered 0 to 1"):
        list(network_of(2, [(0, 2)]))
    with pytest.raises(InputError, match="n = 0"):
        network_of(0)
    with pytest.raises(InputError, match="wires = 3: the network has 2"):
        network_of(2).first(3)
    with pytest.raises(InputError, match=r"shape \(3,\); the last axis must have length 2"):
        network_of(2).sort(np.arange(3))


def test_a_stage_that_compares_nothing_is_none() -> None:
    cut = network_of(4, [(0, 1)], [(2, 3)], [(1, 2)]).first(2)
    assert (cut.depth, cut.size, cut.stage_sizes) == (1, 1, (1,))


def test_keys_are_sorted_by_batches_and_the_input_stays() -> None:
    keys = np.random.default_rng(0).normal(size=(3, 4, 11))
    before = keys.copy()
    assert np.array_equal(merge_exchange(11).sort(keys), np.sort(keys))
    assert np.array_equal(keys, before)


def test_no_key_is_lost_even_if_it_compares_with_nothing() -> None:
    keys = np.array([3.0, np.nan, 1.0, 2.0])
    assert sorted(map(str, merge_exchange(4).sort(keys))) == sorted(map(str, keys))


def test_sizes_and_depths_of_merge_exchange_are_those_in_print() -> None:
    assert [merge_exchange(n).size for n in range(1, 17)] == PRINTED_SIZES
    for t in range(1, 11):
        network = merge_exchange(2**t)
        assert network.size == (t * t - t + 4) * 2**t // 4 - 1
        assert network.depth == t * (t + 1) // 2


@given(st.integers(1, 300))
def test_the_depth_of_merge_exchange_is_known_for_any_n(n: int) -> None:
    assert merge_exchange(n).depth == merge_exchange_depth(n)


@each("t", range(9))
def test_the_bitonic_sorter_fills_every_stage(t: int) -> None:
    network = bitonic(2**t)
    assert network.depth == t * (t + 1) // 2
    assert set(network.stage_sizes) <= {2**t // 2}
    keys = np.random.default_rng(t).integers(0, 99, (20, 2**t))
    assert np.array_equal(network.sort(keys), np.sort(keys))


@pytest.mark.parametrize("n", [0, -4, 3, 12])
def test_the_bitonic_sorter_needs_a_power_of_two(n: int) -> None:
    with pytest.raises(InputError, match="power of two"):
        bitonic(n)


@given(st.integers(1, 200), st.integers(0, 2**32), st.sampled_from(["merge-exchange", "bag-tree"]))
@examples(40)
def test_any_number_of_keys_is_sorted(n: int, seed: int, name: str) -> None:
    keys = np.random.default_rng(seed).integers(0, 50, (8, n))
    assert np.array_equal(make_network(name, n, seed).sort(keys), np.sort(keys))


def test_names_are_told_when_one_is_not_there() -> None:
    with pytest.raises(InputError, match="Give one of: merge-exchange, bitonic, bag-tree"):
        make_network("bubble", 4)
    for name in ("merge-exchange", "bag-tree"):
        with pytest.raises(InputError, match="n = 0"):
            make_network(name, 0)


def test_two_sorted_runs_are_merged() -> None:
    for run in (1, 2, 4, 8):
        network = ComparatorNetwork("merge", 2 * run, partial(odd_even_merge, run))
        assert network.depth == run.bit_length()
        for first, second in product(range(run + 1), repeat=2):
            keys = np.concatenate((np.arange(run) >= first, np.arange(run) >= second))
            assert np.array_equal(network.sort(keys), np.sort(keys))


def test_the_standard_form_sorts_what_the_network_did() -> None:
    """Bubble sort of three keys, the wrong way round, in standard form."""
    pairs = [(np.array([low]), np.array([high])) for low, high in ((1, 0), (2, 1), (1, 0))]
    network = ComparatorNetwork("turned", 3, lambda: standard_form(3, pairs))
    assert (network.depth, network.size) == (3, 3)
    for keys in permutations(range(3)):
        assert network.sort(np.array(keys)).tolist() == [0, 1, 2]


def test_a_separator_halves_until_the_ends_are_small() -> None:
    assert [halvings(64, fringe) for fringe in (0, 1, 4, 32, 64)] == [1, 6, 4, 1, 1]
    assert halvings(100, 7) == 4
    for m, fringe in ((1000, 62), (1001, 0), (999, 30)):
        stages = list(separator(m, fringe, 5, Matchings(Coins(1))))
        assert len(stages) == 5 * halvings(m, fringe)
        for low, high in stages:
            ComparatorStage(low, high)
    assert len(list(separator(16, 1, 5, Matchings(Coins(1))))) == 10, "Batcher's is no deeper"


def test_a_separator_brings_the_extremes_outwards() -> None:
    m, fringe = 2048, 128
    keys = np.random.default_rng(0).permutation(m)
    for low, high in separator(m, fringe, 5, Matchings(Coins(2))):
        ComparatorStage(low, high).exchange(keys)
    assert (keys[: m // 2] < m // 2).mean() > 0.85
    smallest, largest = np.arange(fringe // 4), np.arange(m - fringe // 4, m)
    assert np.isin(smallest, keys[:fringe]).all()
    assert np.isin(largest, keys[-fringe:]).all()


def test_wires_move_through_bags_and_none_is_lost() -> None:
    bags = put_in_root(64, 2)
    assert not is_settled(bags)
    bags = move(bags, {0: 10})
    assert [len(bag) for level in bags for bag in level] == [0, 32, 32, 0, 0, 0, 0]
    bags = move(bags, {1: 3})
    assert [len(bag) for level in bags for bag in level] == [12, 0, 0, 13, 13, 13, 13]
    assert bags[2][0].tolist() == list(range(3, 16))
    bags = move(bags, {0: 0, 2: 7})
    assert [len(bag) for level in bags for bag in level] == [0, 32, 32, 0, 0, 0, 0]
    assert sorted(np.concatenate(bags[1]).tolist()) == list(range(64))
    assert is_settled(move(move(bags, {1: 0}), {0: 0, 2: 0}))


def test_the_depth_of_the_bag_tree_is_linear_in_log_n() -> None:
    growth = measure_growth(12)
    assert {row.exponent: row.depth for row in growth.rows} == DEPTHS
    slope, intercept = growth.line
    assert 118 < slope < 128
    for row in growth.rows:
        one_step = 20
        assert row.depth == pytest.approx(slope * row.exponent + intercept, abs=one_step)
    assert growth.rows[0].batcher_depth == 21
    assert 230 < growth.crossover < 250
    with pytest.raises(InputError, match="2\\^7"):
        measure_growth(6)


@pytest.mark.long
def test_the_bag_tree_grows_to_2_16_as_the_documents_say() -> None:
    growth = measure_growth(16)
    assert [row.depth for row in growth.rows[7:]] == [995, 1133, 1246, 1379]
    assert growth.line[0] == pytest.approx(123.9, abs=0.1)
    assert growth.crossover == pytest.approx(242, abs=1)


def test_a_seed_is_a_network() -> None:
    def comparators(seed: int) -> Iterator[list[int]]:
        return (np.concatenate((stage.low, stage.high)).tolist() for stage in bag_tree(100, seed))

    assert list(comparators(5)) == list(comparators(5))
    assert list(comparators(5)) != list(comparators(6))
    assert bag_tree(128, 5).depth == bag_tree(128, 6).depth


def test_a_small_bag_tree_is_batchers() -> None:
    assert (bag_tree(32).depth, bag_tree(32).size) == (15, merge_exchange(32).size)


@each(
    "constants",
    [
        {"growth": 1}, {"decay": 1}, {"decay": 0}, {"share": 0.5}, {"rounding": 1},
        {"matchings": 0}, {"block": 12}, {"block": 1},
    ],
)  # fmt: skip
def test_constants_that_make_no_tree_are_refused(constants: dict[str, float]) -> None:
    with pytest.raises(InputError):
        BagTree(**constants)  # type: ignore[arg-type]


def test_stages_are_not_kept() -> None:
    """The whole network would be 8 bytes a comparator: 3 MB."""
    network = bag_tree(2**11)
    assert 8 * network.size > 3e6
    tracemalloc.start()
    for stage in network:
        assert len(stage) <= 2**10
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e6


def test_what_a_network_leaves_unsorted_is_repaired() -> None:
    keys = np.array([[0, 1, 2, 3], [3, 2, 1, 0], [1, 0, 3, 2]])
    done, repaired = sort_certified(keys, network_of(4, [(0, 1), (2, 3)]))
    assert (done == np.arange(4)).all()
    assert repaired.tolist() == [False, True, False]
    done, repaired = sort_certified(np.arange(4)[::-1], network_of(4))
    assert done.tolist() == [0, 1, 2, 3]
    assert repaired
