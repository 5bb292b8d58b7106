"""Reports of stores, experiments and sweeps: the same rows for people and programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popsnet import Experiment, InputError, Store, Sweep, collect, route
from popsnet.sweeps.goals import Goals
from popsnet.sweeps.reports import experiment_report, sweep_report
from popsnet.sweeps.verify import verify


def test_a_sweep_that_is_not_finished_says_what_is_missing(tmp_path: Path) -> None:
    sweep = Sweep.of_grid(d=[4, 8], g=4, routers="direct", runs=25, label="ours")
    first, second = sweep.experiments
    with Store(tmp_path / "r.sqlite", create=True) as store:
        collect([(first, 40), (second, 10)], store=store, progress=False)
        report = sweep_report(sweep, Goals.of(sweep), store)
    done, begun = report.to_dict()["experiments"]
    assert (done["runs_wanted"], done["runs_missing"], done["runs"]) == (25, 0, 30)
    assert (begun["runs_wanted"], begun["runs_missing"], begun["runs"]) == (25, 20, 10)
    assert begun["slots_mean"] == route(second, runs=10).slots.mean()
    text = str(report)
    assert "10 of 30" in text
    assert "ours" in text
    assert "Runs are rounded up to a multiple of 10." in text


def test_capped_runs_are_marked_and_counted(tmp_path: Path) -> None:
    experiment = Experiment(8, 8, max_steps=1, permutation="group-permutation")
    with Store(tmp_path / "r.sqlite", create=True) as store:
        collect([experiment], 10, store, progress=False)
        text = str(store.report())
        shown = " ".join(str(experiment_report(store, experiment.digest)).split())
    assert "slots, mean ≥ 5.00 slots, sd – slots, min 5 slots, max ≥ 5 slots, s.e. –" in shown
    assert "10, 10 capped" in text
    assert "≥ 5.00" in text
    assert "group-permutation" in text
    assert all(len(line) <= 80 for line in text.splitlines() if str(tmp_path) not in line)


def test_an_experiment_is_found_by_the_beginning_of_its_name(tmp_path: Path) -> None:
    one, other = Experiment(4, 4), Experiment(4, 4, seed=1)
    with Store(tmp_path / "r.sqlite", create=True) as store:
        collect([one, other], 10, store, progress=False)
        assert store.find(one.digest[:8]) == one
        with pytest.raises(InputError, match=f"2 experiments .* {other.digest[:6]}"):
            store.find("")
        report = experiment_report(store, other.digest)
    found = report.to_dict()
    assert (found["experiment"], found["seed"]) == (other.digest, 1)
    assert found["slots_histogram"] == {
        str(value): count for value, count in sorted(route(other, runs=10).tally.slots.items())
    }
    assert [shard["shard"] for shard in found["shards"]] == [0]
    assert "Runs by slots: " in str(report)
    assert json.loads(json.dumps(found)) == found


def test_a_verification_shows_itself(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite", create=True) as store:
        collect([Experiment(4, 4)], 20, store, progress=False)
        found = verify(store, progress=False)
    assert str(found).replace("\n", " ").endswith("2 shards run again, with the same results.")
    assert found.report().to_dict()["compared"] == 2


def test_a_long_schedule_is_shortened_and_all_columns_stay(tmp_path: Path) -> None:
    variants = ["P4 P3 P3 P3 P2 P2 P2 P2 P2 P1 P1 P1", "S"]
    sweep = Sweep.of_grid(shapes=[[8, 8]], routers="relay", variants=variants)
    with Store(tmp_path / "r.sqlite", create=True) as store:
        collect(sweep, store=store, progress=False)
        text = str(sweep_report(sweep, Goals.of(sweep), store))
    assert "relay (P4 P3 P3 P3 P2 P2 P…)" in text
    for heading in ("s.e.", "max", "sd", "delivery"):
        assert heading in text


def test_standard_errors_are_there(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite", create=True) as store:
        collect([Experiment(4, 4)], 20, store, progress=False)
        (row,) = store.to_records()
        text = str(store.report())
    assert row["slots_se"] == pytest.approx(row["slots_sd"] / 20**0.5)
    assert f"{row['slots_se']:.2f}" in text
