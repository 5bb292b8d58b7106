"""Computed permutations: bijections, and as good as uniform ones where it matters."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from popsnet import Coins, route, summarize
from popsnet.workloads.permutations.keyed import KeyedPermutation
from tests.each import each, sampled

SEEDS = st.integers(0, 2**64 - 1)


@each("n", [*range(1, 70), 255, 256, 257, 1000, 4096, 5000, 65536])
def test_it_is_a_permutation_of_any_size(n: int) -> None:
    assert np.sort(KeyedPermutation(n, Coins(n)).array()).tolist() == list(range(n))


@given(n=st.integers(1, 2**40), seed=SEEDS, data=st.data())
def test_it_can_be_undone_on_any_size(n: int, seed: int, data: st.DataObject) -> None:
    keyed = KeyedPermutation(n, Coins(seed))
    i = data.draw(st.integers(0, n - 1))
    assert 0 <= keyed.place(i) < n
    assert keyed.source(keyed.place(i)) == i
    assert keyed.place(keyed.source(i)) == i


@given(n=st.integers(1, 200), seed=SEEDS)
def test_one_at_a_time_and_all_at_once_are_the_same(n: int, seed: int) -> None:
    keyed = KeyedPermutation(n, Coins(seed))
    assert keyed.array().tolist() == [keyed.place(i) for i in range(n)]


@pytest.mark.parametrize("n", [3, 4])
def test_small_ones_are_uniform_over_all_permutations(n: int) -> None:
    """Chi-square over n! cells; error rate 10^-6."""
    drawn: dict[tuple[int, ...], int] = {}
    for seed in range(1000 * math.factorial(n)):
        permutation = tuple(KeyedPermutation(n, Coins(seed)).array().tolist())
        drawn[permutation] = drawn.get(permutation, 0) + 1
    counts = list(drawn.values()) + [0] * (math.factorial(n) - len(drawn))
    assert chisquare(counts).pvalue > 1e-6


FAMILY_ERROR = 1e-3
SIZES = [16, 32, 64, 128, 256]
"""g = d, so that n = 2^8 … 2^16."""


def steps(g: int, permutation: str, runs: int) -> tuple[float, float, float, float]:
    """Mean steps and mean deliveries of the first step, each with its standard error."""
    done = route(g, g, permutation=permutation, engine="fused", seed=1, runs=runs).outcomes
    taken = summarize([outcome.steps for outcome in done])
    first = summarize([g * g - outcome.survivors[0] for outcome in done])
    assert taken.sd is not None
    assert first.sd is not None
    return taken.mean, taken.sd / math.sqrt(runs), first.mean, first.sd / math.sqrt(runs)


def compare_with_uniform(g: int, runs: int) -> None:
    """Two comparisons a size; all of them together fail by chance once in a thousand times."""
    bound = NormalDist().inv_cdf(1 - FAMILY_ERROR / (2 * 2 * len(SIZES)))
    keyed, uniform = steps(g, "keyed", runs), steps(g, "random", runs)
    for k in (0, 2):
        z = (keyed[k] - uniform[k]) / math.hypot(keyed[k + 1], uniform[k + 1])
        assert abs(z) < bound


@pytest.mark.parametrize("g", sampled(SIZES, 2))
def test_routing_takes_as_many_steps_as_on_uniform_permutations(g: int) -> None:
    compare_with_uniform(g, runs=2000 if g <= 64 else 400)


def test_first_step_survivors_are_those_of_theory() -> None:
    """Slot-1 survivors do not depend on the permutation: n(1 - 1/g)^(d-1) on average."""
    g, runs = 32, 2000
    done = route(g, g, permutation="keyed", engine="fused", max_steps=1, runs=runs).outcomes
    alone = summarize([outcome.messages - g * g - 3 * outcome.delivered for outcome in done])
    assert alone.sd is not None
    expected = g * g * (1 - 1 / g) ** (g - 1)
    assert abs(alone.mean - expected) < 5 * alone.sd / math.sqrt(runs)
