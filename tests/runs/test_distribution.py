"""Histograms of many runs: equal to those of single runs, beside exact probabilities."""

from __future__ import annotations

import pickle
from collections import Counter
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import popsnet
from popsnet import Experiment, InputError, Network, distribution, route
from popsnet.base.stats.inference import binomial_interval
from popsnet.engines import ENGINES
from popsnet.runs.distribution import RunsDistribution
from popsnet.runs.expected_tails import Measure
from tests.each import each, examples, sampled

MEASURES: tuple[Measure, Measure] = ("slots", "steps")

EXPERIMENTS = (
    Experiment(3, 3, seed=5),
    Experiment(4, 2, variant="deferred", permutation_seed=3),
    Experiment(4, 2, variant="published"),
    Experiment(8, 4, router="relay", variant="P2 P1 R1", seed=2),
    Experiment(4, 4, router="relay", variant="S", permutation="transpose"),
    Experiment(3, 5, router="relay"),
)


def counted_one_by_one(experiment: Experiment, runs: int, first: int = 0) -> list[Counter[int]]:
    found = [route(experiment, first=first + number)[0] for number in range(runs)]
    return [Counter(getattr(run, measure) for run in found) for measure in MEASURES]


@each("experiment", sampled(EXPERIMENTS, 3))
@each("first", [0, 1000])
def test_counts_are_those_of_single_runs(experiment: Experiment, first: int) -> None:
    found = distribution(experiment, runs=60, first=first, engine="slots", exact=False)
    slots, steps = counted_one_by_one(experiment, 60, first)
    assert (found.tally.slots, found.tally.steps) == (slots, steps)
    for measure, histogram in zip(MEASURES, (slots, steps), strict=True):
        for row in found.tail(measure):
            assert row.runs == histogram[row.at_least]
            assert row.reached == sum(histogram[k] for k in histogram if k >= row.at_least)
            assert row.probability == row.reached / 60
        assert found.tail(measure)[-1].reached == 0


COMPILED = [one for one in EXPERIMENTS if ENGINES["fused"].supports(one) is None]


def test_most_experiments_are_compiled() -> None:
    assert len(COMPILED) == 4


@pytest.mark.parametrize("experiment", COMPILED, ids=str)
def test_engines_agree(experiment: Experiment) -> None:
    slots, fused = (
        distribution(experiment, runs=100, engine=engine, exact=False)
        for engine in ("slots", "fused")
    )
    for measure in MEASURES:
        assert slots.tail(measure) == fused.tail(measure)
    assert slots.undelivered == fused.undelivered


def test_threads_and_blocks_change_nothing() -> None:
    runs = 40_000  # more than a block of the compiled engine
    one, two = (distribution(2, 2, runs=runs, threads=threads) for threads in (1, 2))
    assert one == two
    assert one.tally == route(2, 2, runs=runs, engine="fused").tally


def test_parts_can_be_added_and_pickled() -> None:
    whole = distribution(3, 3, runs=900, engine="fused")
    parts = [distribution(3, 3, runs=300, first=first, engine="fused") for first in (600, 0, 300)]
    there = pickle.loads(pickle.dumps(parts[2]))
    assert parts[0] + parts[1] + there == whole
    apart = parts[0] + parts[1]
    assert apart.numbers == (range(300), range(600, 900))
    with pytest.raises(InputError, match=r"300 runs from number 0 on would be counted twice"):
        apart + parts[1]
    with pytest.raises(InputError, match="add results of one experiment only"):
        whole + distribution(3, 3, runs=300, first=900, seed=1)
    with pytest.raises(InputError, match="the same confidence"):
        whole + distribution(3, 3, runs=300, first=900, confidence=0.9)
    other = distribution(3, 3, runs=10, first=900, engine="slots", exact=False)
    assert (whole + other).engine == "fused, slots"
    assert (other + whole).expected.exact is not None


def test_capped_runs_count_as_at_least_what_they_had() -> None:
    """Whatever the capped runs would have taken, the counts lie between reached and possible."""
    capped = distribution(3, 3, runs=2000, max_steps=3)
    free = distribution(3, 3, runs=2000)
    assert capped.capped == free.tail("steps", 4)[0].reached > 0
    assert capped.failed
    for measure in MEASURES:
        wanted = [row.at_least for row in free.tail(measure)]
        pairs = zip(capped.tail(measure, wanted), free.tail(measure, wanted), strict=True)
        for cut, whole in pairs:
            assert cut.reached <= whole.reached <= cut.possible
            assert cut.low <= whole.low
            assert whole.high <= cut.high
            known = cut.at_least <= (3 if measure == "steps" else 15)
            assert (cut.reached == cut.possible == whole.reached) == known
    ended = sum(row.runs for row in capped.tail("steps"))
    assert ended == 2000 - capped.capped
    assert "FAILED" in str(capped)
    assert f"{capped.capped:,} runs were stopped by max_steps = 3" in capped.report().cure


def test_packets_that_are_lost_are_stated() -> None:
    found = distribution(8, 2, variant="published", runs=50)
    runs = route(8, 2, variant="published", runs=50)
    assert found.undelivered == runs.undelivered > 0
    assert not found.report().ok


CHAINS = (
    (Experiment(2, 2), True),
    (Experiment(3, 3, variant="idealized"), True),
    (Experiment(3, 3, permutation="reversal"), True),
    (Experiment(4, 2, variant="idealized"), True),
    (Experiment(4, 2, variant="deferred"), False),
    (Experiment(2, 2, router="relay", variant="S"), True),
    (Experiment(4, 2, router="relay", variant="S"), True),
    (Experiment(3, 3, router="relay", variant="S", permutation="shift"), True),
    (Experiment(2, 2, router="relay", variant="S T2"), True),
)


LARGE = pytest.mark.long  # the exact chain takes seconds


@pytest.mark.parametrize(
    ("experiment", "slots"),
    [
        pytest.param(*chain, marks=LARGE if chain[0].network == Network(3, 3) else ())
        for chain in CHAINS
    ],
    ids=str,
)
def test_exact_probabilities_are_inside_all_intervals(experiment: Experiment, slots: bool) -> None:
    """If the chain is right, a test fails with probability 10^-6 at most (Bonferroni)."""
    runs, measures = 20_000, MEASURES if slots else MEASURES[1:]
    found = distribution(experiment, runs=runs)
    assert found.expected.exact is not None
    rows = sum(len(found.tail(measure)) for measure in measures)
    strict = distribution(experiment, runs=runs, confidence=1 - 1e-6 / rows)
    for measure in measures:
        for row in strict.tail(measure):
            assert row.exact is not None
            assert row.low <= row.exact <= row.high, row
    if not slots:
        assert all(row.exact is None for row in found.tail("slots"))


@each(("experiment", "slots"), CHAINS)
def test_the_exact_tail_of_slots_has_the_exact_mean(experiment: Experiment, slots: bool) -> None:
    """The mean is the sum of P(at least k) over k ≥ 1, which stops where it is not listed."""
    exact = distribution(experiment, runs=1).expected.exact
    assert exact is not None
    total, k = Fraction(0), 1
    while (tail := exact.slots_at_least(k)) is not None and (tail or exact.left == 0):
        total, k = total + tail, k + 1
        if not tail:
            break
    assert float(total) == pytest.approx(float(exact.mean_slots), rel=1e-6)


@each(
    "experiment",
    [
        Experiment(5, 2, variant="deferred"), Experiment(3, 3, permutation="keyed"),
        Experiment(3, 3, permutation="group-permutation"), Experiment(2, 4, router="relay"),
        Experiment(4, 4, router="direct"), Experiment(3, 3, variant="published+or"),
    ],
)  # fmt: skip
def test_nothing_is_expected_where_no_model_applies(experiment: Experiment) -> None:
    for measure in MEASURES:
        for row in distribution(experiment, runs=20).tail(measure):
            assert (row.exact, row.fluid, row.bound) == (None, None, None)


def test_a_large_network_has_the_fluid_limit_alone() -> None:
    """The limit is an approximation: here it differs by less than 0.3."""
    found = distribution(64, 64, runs=2000)
    assert found.expected.exact is None
    for row in found.tail("steps"):
        assert row.fluid is not None
        assert abs(row.fluid - row.probability) < 0.3
    assert [row.fluid for row in found.tail("slots")][:-1] == [
        row.fluid for row in found.tail("steps")
    ][:-1]
    bound = found.expected.bound
    assert bound is not None
    assert bound.fails_at_most > 1
    assert "says nothing" in str(found)


def test_a_bound_below_one_is_shown() -> None:
    from popsnet.runs.expected_tails import ExpectedTails, TailBound

    expected = ExpectedTails((0, 5), bound=TailBound(4, 0.25))
    assert expected.bounded_tail("steps", 4) is None
    assert expected.bounded_tail("steps", 5) == 0.25
    assert expected.bounded_tail("slots", 20) is None
    assert expected.bounded_tail("slots", 21) == 0.25


def test_an_interruption_keeps_finished_runs() -> None:
    def stop(done: int, total: int) -> None:
        if done >= 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        distribution(3, 3, runs=100, engine="slots", progress=stop)
    kept = stopped.value.distribution  # type: ignore[attr-defined]
    assert isinstance(kept, RunsDistribution)
    assert kept.runs == 30
    rest = distribution(3, 3, runs=70, first=30, engine="slots")
    assert kept + rest == distribution(3, 3, runs=100, engine="slots")


@each(
    ("parameters", "words"),
    [
        ({"runs": 0}, "runs = 0"), ({"first": -1}, "first = -1"), ({"threads": 0}, "threads = 0"),
        ({"confidence": 1}, "confidence = 1: it must be between 0 and 1"),
        ({"confidence": 95}, "confidence = 95"), ({"engine": "fast"}, "no such engine"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        distribution(2, 2, **parameters)  # type: ignore[arg-type]


def test_a_wrong_measure_is_refused() -> None:
    with pytest.raises(InputError, match="it must be slots or steps"):
        distribution(2, 2, runs=5).tail("messages")  # type: ignore[arg-type]


def test_memory_does_not_grow_with_the_runs() -> None:
    """A result of a hundred times as many runs has histograms of about the same size."""
    few, many = (distribution(2, 2, runs=runs, engine="fused") for runs in (2000, 200_000))
    assert many.runs == 100 * few.runs
    assert len(pickle.dumps(many)) < 3 * len(pickle.dumps(few))


def exact_tail(n: int, x: int, p: Fraction) -> Fraction:
    """P(at least x successes in n trials), summed exactly."""
    return sum((comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(x, n + 1)), Fraction(0))


@examples(60)
@given(st.data())
def test_intervals_end_where_binomial_sums_are_half_the_error(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 60))
    x = data.draw(st.integers(0, n))
    confidence = data.draw(st.sampled_from([0.5, 0.9, 0.95, 0.999]))
    low, high = (float(end) for end in binomial_interval(x, n, confidence))
    if x == 0:
        assert low == 0
    else:
        assert float(exact_tail(n, x, Fraction(low))) == pytest.approx((1 - confidence) / 2)
    if x == n:
        assert high == 1
    else:
        above = 1 - exact_tail(n, x + 1, Fraction(high))
        assert float(above) == pytest.approx((1 - confidence) / 2)


def test_intervals_without_successes_are_known() -> None:
    for n in (10, 10**6, 10**9):
        _, high = binomial_interval(0, n)
        assert float(high) == pytest.approx(-np.expm1(np.log(0.025) / n), rel=1e-9)
    low, high = binomial_interval([1, 81], 263)
    assert np.round(low[1], 4) == 0.2527  # Newcombe (1998), table I: 0.2527 to 0.3676
    assert np.round(high[1], 4) == 0.3676


def test_intervals_cover_at_least_as_often_as_they_say() -> None:
    """Coverage is summed exactly over all outcomes, so this test has no error rate."""
    for n in (1, 7, 30, 200):
        low, high = binomial_interval(np.arange(n + 1), n, 0.9)
        for p in (Fraction(1, 1000), Fraction(1, 50), Fraction(1, 3), Fraction(1, 2)):
            ways = (
                comb(n, x) * p**x * (1 - p) ** (n - x)
                for x in range(n + 1)
                if low[x] <= p <= high[x]
            )
            assert sum(ways) >= Fraction(9, 10)


def test_it_is_public() -> None:
    assert popsnet.distribution is distribution
    assert popsnet.RunsDistribution is RunsDistribution
