"""The public bijections: bijective, as good as uniform where it matters, different by the group."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi2

from popsnet import Coins, Network, Outcome
from popsnet.model.slot import Ints
from popsnet.programs.routers.relay.bijection import ROUNDS, Bijection, multipliers
from popsnet.programs.routers.relay.state import RelayState
from tests.conftest import permutation
from tests.each import each
from tests.programs.routers.relay.staged import route

SIZES = [*range(2, 25), 31, 37, 48, 63, 64, 65, 100]
KEYS = 20_000
"""Independent bijections for a test of a size: groups of one stage."""
ERROR = 1e-6
"""How often all tests of a size together fail by chance, each at this rate over their number."""


def in_plain_words(
    rows: npt.NDArray[np.uint64], value: int, size: int, rounds: int
) -> tuple[Ints, Ints]:
    """Where a value goes under each key, and how often it was walked, by the documentation."""
    bits = max(5, (size - 1).bit_length())
    mask, half = np.uint64(2**bits - 1), np.uint64((bits + 1) // 2)
    x = np.full(len(rows), value, dtype=np.uint64)
    walks, left = np.zeros(len(rows), dtype=np.int64), np.arange(len(rows))
    while left.size:
        y = x[left]
        for row in rows[left].T[:rounds]:
            y = (y * row + (row >> np.uint64(32))) & mask
            y ^= y >> half
        x[left] = y
        walks[left] += 1
        left = left[y >= size]
    return x.astype(np.int64), walks


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_each_is_a_bijection_of_every_size(seed: int) -> None:
    groups = 3
    for size in [*range(1, 400), 1000, 1023, 1024, 1025, 4097]:
        for number in (0, 1, 7):
            bijection = Bijection(seed, number, groups, size)
            values = np.tile(np.arange(size), groups)
            places = bijection(np.repeat(np.arange(groups), size), values).reshape(groups, size)
            assert (np.sort(places, axis=1) == np.arange(size)).all(), (size, number)


@each("size", [1, 2, 3, 5, 16, 24, 25, 100, 1000, 2**20, 2**20 + 1])
def test_it_is_what_the_documentation_says(size: int) -> None:
    rows = multipliers(9, 4, 50)
    for value in {0, size // 3, size - 1}:
        expected, _ = in_plain_words(rows, value, size, ROUNDS)
        found = Bijection(9, 4, 50, size)(np.arange(50), np.full(50, value))
        assert found.tolist() == expected.tolist()


def test_seed_number_and_group_each_give_another_one() -> None:
    """64! permutations are so many that none of 2,000 should come twice."""
    values = np.tile(np.arange(64), 20)
    groups = np.repeat(np.arange(20), 64)
    drawn = [
        tuple(row)
        for seed in range(10)
        for number in range(10)
        for row in Bijection(seed, number, 20, 64)(groups, values).reshape(20, 64).tolist()
    ]
    assert len(set(drawn)) == len(drawn) == 2000


def test_a_place_takes_fewer_than_two_walks_on_average() -> None:
    """All walks of a bijection together visit each of 2^m < 2·size numbers at most once.

    For sizes up to 16 there are 32 such numbers.
    """
    rows = multipliers(3, 0, 40)
    most = 0.0
    for size in [*range(17, 40), 65, 129, 257]:
        walks = np.mean([in_plain_words(rows, v, size, ROUNDS)[1] for v in range(size)], axis=0)
        assert walks.max() < 2
        most = max(most, float(walks.mean()))
    assert most > 1.5  # sizes just above a power of two need nearly two


def p_values(size: int, rounds: int, seed: int = 5) -> Iterator[float]:
    """Of places, of places of two values, and of one value in two groups: against uniform ones.

    Keys are independent, so that each count is multinomial, and its chi-square statistic has the
    textbook's distribution: at least 20 are expected in nearly every cell.
    """
    rows = multipliers(seed, 0, KEYS)
    values = range(size) if size <= 24 else (0, 1, 2, size // 2, size - 1)
    places = {value: in_plain_words(rows, value, size, rounds)[0] for value in values}
    for value in values:
        yield p_value(places[value], size)
        neighbours = places[value][0::2] * size + places[value][1::2]
        if size <= 24:
            yield p_value(neighbours, size * size)
    for first, second in combinations(values, 2):
        if size > 2:
            after = (places[second] - places[first]) % size - 1
            yield p_value(places[first] * (size - 1) + after, size * (size - 1))


def p_value(drawn: Ints, cells: int) -> float:
    expected = len(drawn) / cells
    counts = np.bincount(drawn, minlength=cells)
    return float(chi2.sf(((counts - expected) ** 2).sum() / expected, cells - 1))


@each("size", SIZES)
def test_places_and_pairs_of_places_are_uniform(size: int) -> None:
    found = list(p_values(size, ROUNDS))
    assert min(found) * len(found) > ERROR


@pytest.mark.parametrize("size", [22, 23, 24, 64])
def test_the_same_statistic_finds_that_four_rounds_are_too_few(size: int) -> None:
    found = list(p_values(size, 4))
    assert min(found) * len(found) < ERROR


NETWORK = Network(32, 32)
Fresh = Callable[[RelayState, int], Callable[[Ints, Ints], Ints]]


def rotations(by_group: bool) -> Fresh:
    """Rotations instead of bijections: one for all groups, or one a group."""

    def fresh(state: RelayState, size: int) -> Callable[[Ints, Ints], Ints]:
        state._bijections += 1
        groups = np.arange(state.network.g)
        by = Coins(state.seed).draws(size, "rotation", state._bijections, groups * by_group)
        return lambda groups, values: ((values + by[groups]) % size).astype(np.int32)

    return fresh


def one_for_all(state: RelayState, size: int) -> Callable[[Ints, Ints], Ints]:
    """The bijection of group 0 for all groups."""
    state._bijections += 1
    bijection = Bijection(state.seed, state._bijections, 1, size)
    return lambda groups, values: bijection(np.zeros_like(groups), values)


@pytest.mark.parametrize("fresh", [rotations(by_group=False), one_for_all])
@pytest.mark.parametrize("schedule", ["P1", "S", "P2 P1"])
def test_one_for_all_groups_livelocks_even_on_random_permutations(
    fresh: Fresh, schedule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packets of a group for the same index in two groups meet in every stage."""
    monkeypatch.setattr(RelayState, "fresh_bijection", fresh)
    for seed in range(3):
        outcome = route(NETWORK, permutation(NETWORK.n, seed), schedule, seed, max_steps=100)
        assert (outcome.lost, outcome.capped) == (0, True)
        assert outcome.survivors[5:] == outcome.survivors[-1:] * 95
        assert outcome.survivors[-1] > NETWORK.n / 4
    monkeypatch.undo()
    assert not route(NETWORK, permutation(NETWORK.n, 0), schedule, 0, max_steps=100).capped


def by_parity(network: Network) -> Ints:
    """Group a sends its even indices to group a + 1, its odd ones to group a + 2."""
    group, index = np.divmod(np.arange(network.n), network.d)
    destination: Ints = (group + 1 + index % 2) % network.g * network.d + index
    return destination.astype(np.int32)


def test_a_rotation_a_group_keeps_the_mean_and_loses_concentration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether the two halves of a group meet is then one coin for all of them together.

    Both ways half of the packets fail in the first stage, on average. With rotations this is 32
    coins (standard deviation 0.5/√32 = 0.088), with bijections many more. The last of 32 coins to
    fall right takes about log2 32 + 4/3 stages, and a hundred runs show its geometric tail.
    """
    runs, destination = 100, by_parity(NETWORK)

    def sample() -> list[Outcome]:
        return [route(NETWORK, destination, "P1", seed) for seed in range(runs)]

    bijections = sample()
    monkeypatch.setattr(RelayState, "fresh_bijection", rotations(by_group=True))
    rotated = sample()
    of_both = [np.array([run.survivors[0] for run in kind]) for kind in (bijections, rotated)]
    fractions = [counts / NETWORK.n for counts in of_both]
    error = 0.088 / np.sqrt(runs)
    assert abs(fractions[0].mean() - fractions[1].mean()) < 5 * error
    assert fractions[1].std() > 3 * fractions[0].std()
    worst = [max(run.slots for run in kind) for kind in (bijections, rotated)]
    assert worst[1] >= 1.5 * worst[0]
