"""A point run several times: its runs are experiments of their own."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import Coins, InputError
from popsnet.traffic import Replications, TrafficExperiment, replicate

POINT = TrafficExperiment(4, 4, scheduler="aloha", load=0.1, slots=1000, seed=3, arrival_seed=7)


def test_run_0_is_the_experiment_and_others_derive_their_seeds() -> None:
    """A run is an experiment, so a store keeps it under its own digest."""
    assert POINT.for_run(0) is POINT
    second = POINT.for_run(2)
    assert second.seed == Coins(3).for_run(2).seed
    assert second.arrival_seed == Coins(7).for_run(2).seed
    assert second == POINT.replaced(seed=second.seed, arrival_seed=second.arrival_seed)
    assert len({POINT.for_run(run).digest for run in range(5)}) == 5
    with pytest.raises(InputError, match="run = -1"):
        POINT.for_run(-1)


def test_faults_are_drawn_again_and_loads_stay_allowed() -> None:
    point = TrafficExperiment(
        4, 4, scheduler="tdm", load=0.9, faults="random:couplers=2", fault_seed=5, overload=True
    )
    assert point.for_run(1).fault_seed == Coins(5).for_run(1).seed
    drawn = {str(point.for_run(run).open_faults().active.faults) for run in range(4)}
    assert len(drawn) > 1


def test_a_list_of_packets_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "packets.csv").write_text("slot,source,destination\n1,0,3\n3,1,2\n")
    point = TrafficExperiment(2, 2, scheduler="aloha", packets=tmp_path / "packets.csv")
    assert point.for_run(1).arrivals == point.arrivals
    assert point.for_run(1).arrival_seed == point.arrival_seed
    assert point.for_run(1).seed == Coins(0).for_run(1).seed


def test_every_run_has_the_result_of_its_experiment() -> None:
    runs = replicate(POINT, 4, progress=False)
    assert list(runs.results) == [0, 1, 2, 3]
    for run, result in runs.results.items():
        assert result == popsnet.simulate(POINT.for_run(run))
    means = [result.delay.mean for result in runs.results.values()]
    assert runs.delay is not None
    assert runs.delay.mean == pytest.approx(np.mean(means))  # type: ignore[arg-type]
    assert runs.delay.sd == pytest.approx(np.std(means, ddof=1))  # type: ignore[arg-type]
    assert runs.verdicts.total() == 4


def test_the_report_has_a_row_and_a_verdict_for_each_run() -> None:
    unstable = TrafficExperiment(4, 4, scheduler="aloha", load=0.5, slots=1000)
    runs = replicate(unstable, 2, progress=False)
    report = runs.report()
    assert [row["verdict"] for row in report.to_dict()["points"]] == ["unstable", "unstable"]
    assert [row["run"] for row in report.to_dict()["points"]] == [0, 1]
    text = str(report)
    assert "Unstable in 2 of 2 runs." in text
    assert "Run 1 is unstable: " in text
    assert "µs" in str(replicate(POINT, 2).report(popsnet.Timing("1us")))


def test_one_run_has_no_spread() -> None:
    runs = replicate(POINT, 1, progress=False)
    assert runs.delay is None
    assert "delay" not in runs.report().to_dict()


def test_an_interrupt_keeps_the_finished_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = importlib.import_module("popsnet.studies.traffic.curves")
    simulate = module.simulate

    def interrupted(experiment: TrafficExperiment, **how: Any) -> Any:
        if experiment == POINT.for_run(2):
            raise KeyboardInterrupt
        while experiment == POINT.for_run(3):  # it may begin before it is stopped
            how["progress"](0, 0)
        return simulate(experiment, **how)

    monkeypatch.setattr(module, "simulate", interrupted)
    with pytest.raises(KeyboardInterrupt) as stop:
        replicate(POINT, 4, workers=1, progress=False)
    runs = stop.value.replications  # type: ignore[attr-defined]
    assert isinstance(runs, Replications)
    assert list(runs.results) == [0, 1]
    assert "2 runs not finished." in str(runs.report())


def test_the_number_of_runs_is_checked() -> None:
    with pytest.raises(InputError, match="runs = 0"):
        replicate(POINT, 0)
