"""Runs until a precision: when it is looked at, when it is reached, and what it biases."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popsnet import Experiment, InputError, Store, Sweep, collect
from popsnet.base.stats.inference import summarize_counts
from popsnet.engines import Tally
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.sweeps.goals import Goals
from popsnet.sweeps.reports import sweep_report
from popsnet.sweeps.shard import Precision
from tests.each import each
from tests.sweeps.edits import results


@each(
    ("given", "share"),
    [("1%", 0.01), (" 0.5 %", 0.005), ("1.96%", 0.0196), ("0.05", 0.05), (1e-3, 1e-3), (0.3, 0.3)],
)
def test_a_precision_is_a_percentage_or_a_share(given: Any, share: float) -> None:
    assert Precision.of(given, None) == Precision(share, 10_000)
    experiment = TrafficExperiment(2, 2, load=0.1, precision=given)
    assert experiment == TrafficExperiment(2, 2, load=0.1, precision=share)


@each("given", ["", "x", "0%", "100%", 0, -1, 2, "1%%", True, "nan", "inf", "1 slot"])
def test_what_is_not_a_precision_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="precision = "):
        Precision.of(given, None)


def test_looks_grow_by_a_quarter_and_end_at_the_limit() -> None:
    for first, most in ((1, 10_000), (77, 5000), (50, 50), (300, 200)):
        looks = list(Precision.of("1%", most).looks(first))
        assert looks[0] >= min(max(first, 50), looks[-1])
        assert looks[-1] == max(most, first)
        assert all(one < other <= 1.25 * one + 10 for one, other in pairwise(looks))
        assert all(one % 10 == 0 for one in looks)


def test_the_interval_is_that_of_the_mean() -> None:
    tally = Tally(runs=100, slots=Counter({10: 50, 12: 50}))  # sd 1.005, error 0.1005, mean 11
    for share, reached in ((0.01791, True), (0.0179, False), ("1.80%", True), ("1.78%", False)):
        assert Precision.of(share, None).reached(tally) is reached


EXPERIMENTS = [Experiment(4, 4), Experiment(8, 8), Experiment(4, 4, router="direct")]


def rows(store: Store) -> list[list[tuple[Any, ...]]]:
    return results(store)


def test_which_runs_are_done_depends_on_nothing_but_results(tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with Store(tmp_path / "1", create=True) as store:
        expected = collect(EXPERIMENTS, precision="3.92%", store=store, workers=1)
        stored = rows(store)
    assert [tally.runs for tally in expected] == [190, 50, 50]
    for tally in expected:
        one = summarize_counts(tally.slots)
        assert one.sd is not None
        assert one.sd <= 0.02 * one.mean * tally.runs**0.5
    with Store(tmp_path / "2", create=True) as store:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                collect(EXPERIMENTS, precision="3.92%", store=store, workers=3, progress=interrupt)
        assert collect(EXPERIMENTS, precision="3.92%", store=store, workers=3) == expected
        assert rows(store) == stored
    for part in (1, 2):
        collect(EXPERIMENTS, precision="3.92%", store=tmp_path / f"part{part}", part=(part, 2))
    with Store(tmp_path / "part1", create=True) as store, Store(tmp_path / "part2") as other:
        store.merge(other)
        assert rows(store) == stored
    collect(EXPERIMENTS, 500, store=tmp_path / "more")
    assert collect(EXPERIMENTS, precision="3.92%", store=tmp_path / "more") == expected


def test_the_limit_ends_what_is_never_precise(tmp_path: Path) -> None:
    wanted = [Experiment(4, 4)]
    (tally,) = collect(wanted, precision=0.0001, max_runs=75, store=tmp_path / "r")
    assert tally.runs == 80
    (tally,) = collect(wanted, runs=200, precision="98%", store=tmp_path / "r")
    assert tally.runs == 200
    for options, complaint in (
        ({"runs": 10, "max_runs": 100}, "max_runs = 100: max_runs needs precision"),
        ({"precision": "1.96%", "max_runs": 10}, "max_runs = 10: it must be at least 50"),
        ({"precision": "1.96%", "max_runs": 100, "runs": 101}, "has 101 runs in any case"),
    ):
        with pytest.raises(InputError, match=complaint):
            collect(wanted, store=tmp_path / "r", **options)


def test_capped_runs_are_never_precise_and_end_early(tmp_path: Path) -> None:
    """All runs are capped at the same slot: the standard error of such values is 0."""
    wanted = [Experiment(8, 8, max_steps=1, permutation="group-permutation")]
    with Store(tmp_path / "r", create=True) as store:
        (tally,) = collect(wanted, precision="1.96%", store=store, progress=False)
        goals = Goals.of(wanted, precision="1.96%")
        assert (tally.runs, tally.capped) == (50, 50)
        goal = goals.goals[wanted[0]]
        assert (goal.missing(store), goal.is_precise(store)) == ([], False)
        said = str(sweep_report(Sweep(tuple(wanted), (10,), ("",)), goals, store))
        assert "0 of 1 experiment reached" in said
        assert "1 experiment has capped runs, so its mean is a lower bound." in said
        assert "limit" not in said
        (row,) = store.to_records()
    assert row["slots_se"] is None
    assert "0.00" not in said


def test_the_bias_of_stopping_is_small() -> None:
    """By simulation: samples of a skewed distribution like that of slots, 5 to 60.

    The tolerances are about five standard deviations of the simulated figures.
    """
    random, precision = np.random.default_rng(3), Precision.of("4%", None)
    mean, ends, covered = 25.0, [], 0
    for _ in range(1000):
        sample = 5 * (1 + random.poisson(4, 10_000))
        for look in precision.looks(1):
            runs = sample[:look]
            if runs.std(ddof=1) <= 0.02 * runs.mean() * look**0.5:
                break
        ends.append(runs.mean())
        covered += abs(runs.mean() - mean) <= 1.96 * runs.std(ddof=1) / look**0.5
    assert abs(np.mean(ends) - mean) < 0.003 * mean
    assert covered > 915
