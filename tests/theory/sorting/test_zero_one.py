"""The check by zeros and ones: it proves what sorts, and finds out what does not."""

from __future__ import annotations

from itertools import product

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
    check_network,
    merge_exchange,
)
from popsnet.theory.sorting.zero_one import every_input, pack, sample_words, unpack
from tests.each import each, examples


def without(network: ComparatorNetwork, number: int) -> ComparatorNetwork:
    """The network with one comparator taken out."""
    stages = list(network)
    for place, stage in enumerate(stages):
        if number < len(stage):
            stages[place] = ComparatorStage(
                np.delete(stage.low, number), np.delete(stage.high, number)
            )
            break
        number -= len(stage)
    return ComparatorNetwork("with a hole", network.wires, lambda: stages)


@pytest.mark.parametrize("wires", [1, 3, 6, 9])
def test_every_input_is_every_input(wires: int) -> None:
    bits = np.stack([unpack(row) for row in every_input(wires)])[:, : 2**wires]
    assert sorted(map(tuple, bits.T.tolist())) == sorted(product((False, True), repeat=wires))


def test_inputs_are_packed_and_unpacked() -> None:
    inputs = np.random.default_rng(0).integers(0, 2, (128, 7)).astype(np.bool_)
    words = pack(inputs)
    assert words.shape == (7, 2)
    assert np.array_equal(np.stack([unpack(row) for row in words]).T, inputs)


@each("n", range(1, 17))
def test_merge_exchange_sorts_everything(n: int) -> None:
    verdict = check_network(merge_exchange(n))
    assert (verdict.sorts, verdict.exhaustive, verdict.inputs) == (True, True, 2**n)


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])
def test_the_bitonic_sorter_sorts_everything(n: int) -> None:
    assert check_network(bitonic(n)).sorts


@each("n", [5, 12, 16])
@each("block", [2, 4, 8])
def test_small_bag_trees_sort_everything(n: int, block: int) -> None:
    """With small blocks there are bags, and still few enough inputs for a proof."""
    verdict = check_network(bag_tree(n, 1, BagTree(block=block)))
    assert verdict.sorts
    assert verdict.exhaustive


def test_twenty_wires_are_still_proved() -> None:
    for network in (merge_exchange(20), bag_tree(20, 0, BagTree(block=4))):
        verdict = check_network(network)
        assert (verdict.sorts, verdict.exhaustive, verdict.inputs) == (True, True, 2**20)
    assert not check_network(merge_exchange(21)).exhaustive


@given(st.integers(2, 20), st.data())
@examples(60)
def test_any_missing_comparator_is_found_and_shown(n: int, data: st.DataObject) -> None:
    """Batcher's networks have none to spare at these sizes."""
    holed = without(merge_exchange(n), data.draw(st.integers(0, merge_exchange(n).size - 1)))
    verdict = check_network(holed)
    assert not verdict.sorts
    assert verdict.counterexample is not None
    keys = np.array(verdict.counterexample)
    assert not np.array_equal(holed.sort(keys), np.sort(keys))


@pytest.mark.parametrize("n", [21, 24, 40, 64])
def test_missing_comparators_are_found_above_twenty_wires(n: int) -> None:
    network = merge_exchange(n)
    for number in range(0, network.size, network.size // 12):
        holed = without(network, number)
        verdict = check_network(holed)
        assert not verdict.sorts, number
        keys = np.array(verdict.counterexample)
        assert not np.array_equal(holed.sort(keys), np.sort(keys))


def test_the_adversary_finds_what_samples_do_not() -> None:
    """With one sample of each kind, the rest is left to it."""
    network = merge_exchange(64)
    found = [
        check_network(without(network, number), samples=1, rounds=12)
        for number in range(0, network.size, 60)
    ]
    assert any(not verdict.sorts and verdict.inputs > 64 for verdict in found)


@pytest.mark.parametrize(("n", "seed"), [(33, 0), (64, 1), (100, 2), (256, 3), (1000, 4)])
def test_the_bag_tree_sorts_what_is_tried(n: int, seed: int) -> None:
    verdict = check_network(bag_tree(n, seed), samples=512, rounds=3, seed=seed)
    assert (verdict.sorts, verdict.exhaustive, verdict.inputs) == (True, False, 512 + 3 * 256)


@pytest.mark.long
@pytest.mark.parametrize(("exponent", "seed"), [(8, 5), (10, 6), (12, 7), (14, 8), (16, 9)])
def test_large_bag_trees_sort_what_is_tried(exponent: int, seed: int) -> None:
    assert check_network(bag_tree(2**exponent, seed), seed=seed).sorts


def test_separators_of_one_matching_are_found_out() -> None:
    """The depth of a halver matters, and the check sees it."""
    assert not check_network(bag_tree(1024, 0, BagTree(matchings=1)), rounds=0).sorts


def test_samples_are_the_same_for_a_seed() -> None:
    words = sample_words(50, 128, Coins(3))
    assert np.array_equal(words, sample_words(50, 128, Coins(3)))
    assert not np.array_equal(words, sample_words(50, 128, Coins(4)))


def test_there_must_be_something_to_try() -> None:
    with pytest.raises(InputError, match="samples = 0"):
        check_network(merge_exchange(30), samples=0)
