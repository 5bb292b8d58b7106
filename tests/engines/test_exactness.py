"""The number of steps, against exact values and against the paper's second table."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import permutations, product
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from popsnet import Coins, Network, route, summarize
from popsnet.engines import ENGINES, Instance
from popsnet.model.slot import Ints
from popsnet.programs.router import get_router
from popsnet.trace import Event

EXACT_POPS_2_2 = Fraction(136, 45)

PUBLISHED = {4: (4.43, 1.03), 8: (5.39, 0.79), 16: (6.10, 0.57), 32: (6.50, 0.53)}
"""By g = d: mean and standard deviation of the steps over 100 runs, Mei and Rizzi, table 2."""


class Scripted(Coins):
    """Coins that fall as they are told: one row of groups a step."""

    script: tuple[tuple[int, ...], ...]

    def __init__(self, script: tuple[tuple[int, ...], ...]) -> None:
        super().__init__(0)
        object.__setattr__(self, "script", script)

    def draws(self, bound: int, purpose: str, step: int, processors: Ints) -> npt.NDArray[np.int32]:
        return np.array([self.script[step][i] for i in processors.tolist()], dtype=np.int32)

    def draw(self, bound: int, purpose: str, step: int, processor: int) -> int:
        return self.script[step][processor]


def still_pending(
    engine: str, destination: Ints, script: tuple[tuple[int, ...], ...]
) -> frozenset[int]:
    """The sources without an ack after the scripted steps, seen by who would send next."""
    spare = ((0,) * len(destination),) * 2  # coins of steps that are drawn and not executed
    senders: list[frozenset[int]] = []

    def watch(event: Event) -> None:
        if event.phase.startswith("1"):
            senders.append(frozenset(send[0] for send in event.records()[0]))

    router, coins = get_router("mei-rizzi"), Scripted(script + spare)
    instance = Instance(Network(2, 2), router, "published", destination, coins, len(script) + 1)
    ENGINES[engine].execute(instance, [watch])
    return senders[len(script)] if len(senders) > len(script) else frozenset()


def expected_steps(engine: str, destination: Ints) -> Fraction:
    """The exact mean over all coins, from the engine itself, executed once for every outcome.

    The packets that are pending form a Markov chain; every transition of it is found by running
    the engine from the start along coins that lead there. A step delivers some or none.
    """
    everything = frozenset(range(4))
    way: dict[frozenset[int], tuple[tuple[int, ...], ...]] = {everything: ()}

    @cache
    def mean(pending: frozenset[int]) -> Fraction:
        if not pending:
            return Fraction(0)
        stay, total = Fraction(0), Fraction(1)
        choices = list(product(range(2), repeat=len(pending)))
        for choice in choices:
            groups = dict(zip(sorted(pending), choice, strict=True))
            script = (*way[pending], tuple(groups.get(i, 0) for i in range(4)))
            after = still_pending(engine, destination, script)
            way.setdefault(after, script)
            if after == pending:
                stay += Fraction(1, len(choices))
            else:
                total += Fraction(1, len(choices)) * mean(after)
        return total / (1 - stay)

    return mean(everything)


@pytest.mark.parametrize("engine", ["objects", "slots"])
def test_the_mean_on_pops_2_2_is_exactly_136_45(engine: str) -> None:
    """No sample and no error: every permutation and every coin."""
    means = [expected_steps(engine, np.array(pi, dtype=np.int32)) for pi in permutations(range(4))]
    assert sum(means, Fraction(0)) / len(means) == EXACT_POPS_2_2


def z_of_difference(mean: float, sd: float, runs: int, expected: float, error: float) -> float:
    return (mean - expected) / math.sqrt(sd**2 / runs + error**2)


def sample(d: int, g: int, runs: int) -> tuple[float, float]:
    summary = summarize(route(d, g, seed=1, runs=runs, engine="slots").steps.tolist())
    assert summary.sd is not None
    return summary.mean, summary.sd


def test_the_sampled_mean_on_pops_2_2_agrees_with_the_exact_one() -> None:
    """Fails for a right router with probability 10^-5, over the choice of the seed."""
    runs = 1000
    mean, sd = sample(2, 2, runs)
    z = z_of_difference(mean, sd, runs, float(EXACT_POPS_2_2), 0)
    assert abs(z) < NormalDist().inv_cdf(1 - 1e-5 / 2)


FAMILY_ERROR = 1e-3
"""The chance that any of the four comparisons below fails though paper and router agree."""


def assert_agrees_with_the_paper(g: int, runs: int) -> None:
    published, sd_published = PUBLISHED[g]
    mean, sd = sample(g, g, runs)
    rounding = 0.01 / math.sqrt(12)
    error = math.hypot(sd_published / math.sqrt(100), rounding)
    z = z_of_difference(mean, sd, runs, published, error)
    assert abs(z) < NormalDist().inv_cdf(1 - FAMILY_ERROR / (2 * len(PUBLISHED)))


@pytest.mark.parametrize("g", PUBLISHED)
def test_means_agree_with_the_papers_second_table(g: int) -> None:
    assert_agrees_with_the_paper(g, runs=400)


@pytest.mark.long
@pytest.mark.parametrize("g", PUBLISHED)
def test_means_of_many_runs_agree_with_the_papers_second_table(g: int) -> None:
    assert_agrees_with_the_paper(g, runs=20_000)


def test_the_comparison_notices_coins_that_are_slightly_unfair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The test above can fail: with one intermediate group in eight never drawn, it does."""
    fair = Coins.draws

    def unfair(
        self: Coins, bound: int, purpose: str, step: int, processors: Ints
    ) -> npt.NDArray[np.int32]:
        return fair(self, max(bound * 7 // 8, 1), purpose, step, processors)

    monkeypatch.setattr(Coins, "draws", unfair)
    with pytest.raises(AssertionError):
        assert_agrees_with_the_paper(32, runs=400)
