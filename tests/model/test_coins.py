from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from popsnet import Coins, InputError

GOLDEN = [368, 855, 944, 7, 698]
GOLDEN_RUN = 7738043063379141719

SEEDS = st.integers(0, 2**64 - 1)


def test_words_are_those_of_splitmix64(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first outputs of splitmix64 from state 1234567, as published with the algorithm."""
    monkeypatch.setattr(Coins, "key", lambda *_: 1234567)
    published = [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]
    assert Coins(0).words("any", 0, np.arange(5)).tolist() == published


def test_draws_do_not_change_between_versions() -> None:
    """Seeds in papers must give the same runs for ever."""
    assert Coins(0).draws(1000, "golden", 3, np.arange(5)).tolist() == GOLDEN
    assert Coins(0).for_run(7).seed == GOLDEN_RUN


@given(
    seed=SEEDS,
    bound=st.integers(1, 2**31),
    step=st.integers(0, 10**6),
    processor=st.integers(0, 2**31),
)
def test_scalar_and_array_draws_are_the_same(
    seed: int, bound: int, step: int, processor: int
) -> None:
    coins = Coins(seed)
    number = coins.draw(bound, "test", step, processor)
    assert number == coins.draws(bound, "test", step, np.array([processor]))[0]
    assert 0 <= number < bound


@given(seed=SEEDS, order=st.permutations(range(30)))
def test_a_draw_does_not_depend_on_who_draws_with_it(seed: int, order: list[int]) -> None:
    coins = Coins(seed)
    together = coins.draws(97, "test", 5, np.arange(30))
    assert coins.draws(97, "test", 5, np.array(order)).tolist() == together[order].tolist()


def test_seed_purpose_step_and_run_all_matter() -> None:
    processors = np.arange(100)
    drawn = {
        tuple(coins.draws(2**31, purpose, step, processors).tolist())
        for coins in (Coins(1), Coins(2), Coins(1).for_run(0), Coins(1).for_run(1))
        for purpose in ("a", "b")
        for step in (0, 1)
    }
    assert len(drawn) == 16


@pytest.mark.parametrize("bound", [2, 3, 7, 64])
def test_draws_are_uniform_over_processors_and_over_steps(bound: int) -> None:
    """Fails for good coins with probability 10^-6 a test, over the choice of the seed."""
    coins = Coins(2024)
    samples = (
        coins.draws(bound, "uniform", 0, np.arange(200_000)),
        np.array([coins.draw(bound, "uniform", step, 17) for step in range(20_000)]),
        np.array([coins.for_run(run).draw(bound, "uniform", 0, 17) for run in range(20_000)]),
    )
    for sample in samples:
        assert chisquare(np.bincount(sample, minlength=bound)).pvalue > 1e-6


def test_neighbours_are_independent() -> None:
    """Pairs of draws of neighbours fill their 64 cells evenly; error rate 10^-6."""
    drawn = Coins(99).draws(8, "pairs", 0, np.arange(200_000))
    pairs = np.bincount(drawn[::2] * 8 + drawn[1::2], minlength=64)
    assert chisquare(pairs).pvalue > 1e-6


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_seeds_outside_the_range_are_refused(seed: int) -> None:
    with pytest.raises(InputError, match=f"seed = {seed}"):
        Coins(seed)
