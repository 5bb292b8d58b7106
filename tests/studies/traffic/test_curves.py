"""Several points: loads, schedulers, brackets, interruptions, and figures of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import InputError
from popsnet.studies.traffic.saturation import Saturation
from popsnet.traffic import (
    Saturations,
    TrafficExperiment,
    TrafficResult,
    find_saturations,
    read_loads,
    run_loads,
)


def points(scheduler: str, *loads: float) -> list[TrafficExperiment]:
    return [
        TrafficExperiment(3, 3, scheduler=scheduler, load=load, slots=1500, overload=True)
        for load in loads
    ]


def test_points_are_those_of_simulate_in_any_order_and_number_of_workers() -> None:
    wanted = [*points("tdm", 0.3, 0.1), *points("aloha", 0.05)]
    curves = run_loads(wanted, workers=2)
    assert [(one.label, one.load) for one in curves.results] == [
        ("tdm", 0.1), ("tdm", 0.3), ("aloha", 0.05),
    ]  # fmt: skip
    assert curves.results == run_loads(wanted, workers=1).results
    assert curves.results[0] == popsnet.simulate(wanted[1])
    assert list(curves.lines()) == ["tdm", "aloha"]


def test_loads_above_an_unstable_one_are_not_run() -> None:
    curves = run_loads(points("relay", 0.5, 0.7, 0.9))
    assert [one.verdict for one in curves.results] == ["unstable"]
    assert [one.load for one in curves.not_run] == [0.7, 0.9]


def test_an_interruption_keeps_finished_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def stops(experiment: TrafficExperiment, **options: Any) -> object:
        if experiment.load > 0.2:
            raise KeyboardInterrupt
        return popsnet.simulate(experiment, **options)

    monkeypatch.setattr("popsnet.studies.traffic.curves.simulate", stops)
    with pytest.raises(KeyboardInterrupt) as stopped:
        run_loads([*points("relay", 0.19, 0.2), *points("tdm", 0.1, 0.3, 0.5)], workers=1)
    curves = stopped.value.curves  # type: ignore[attr-defined]
    assert [(one.label, one.verdict) for one in curves.results] == [
        ("relay", "unstable"), ("tdm", "stable"),
    ]  # fmt: skip
    assert [one.load for one in curves.not_run] == [0.2]
    assert [one.load for one in curves.unfinished] == [0.3, 0.5]
    report = curves.report()
    assert report.to_dict()["not_run"] == [
        {"scheduler": "relay", "load": 0.2, "reason": "unstable at a smaller load"},
        {"scheduler": "tdm", "load": 0.3, "reason": "interrupted"},
        {"scheduler": "tdm", "load": 0.5, "reason": "interrupted"},
    ]
    assert "relay is unstable at a smaller load, and was not run at 0.2." in str(report)
    assert "tdm is unstable" not in str(report)


def test_an_interrupted_search_for_saturation_keeps_its_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def stops(experiment: TrafficExperiment, **options: Any) -> TrafficResult:
        if experiment.label == "vlb" and experiment.load < 0.4:
            raise KeyboardInterrupt
        return popsnet.simulate(experiment, **options)

    monkeypatch.setattr("popsnet.studies.traffic.curves.simulate", stops)
    with pytest.raises(KeyboardInterrupt) as stopped:
        find_saturations([*points("tdm", 0.1), *points("vlb", 0.1)], width=0.5, workers=1)
    found = stopped.value.saturations  # type: ignore[attr-defined]
    assert list(found.brackets) == ["tdm", "vlb"]
    assert found.unfinished == ("vlb",)
    assert [(one.load, one.verdict) for one in found.brackets["vlb"].points] == [
        (0.47619047619047616, "unstable"), (0.9523809523809523, "unstable"),
    ]  # fmt: skip
    assert "Interrupted before the end of the search: vlb." in str(found.report())
    assert found.report().to_dict()["unfinished"] == ["vlb"]


def test_progress_and_bad_numbers() -> None:
    seen: list[tuple[int, int]] = []
    run_loads(points("tdm", 0.1, 0.3), progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
    with pytest.raises(InputError, match="nothing to run"):
        run_loads([])
    with pytest.raises(InputError, match="workers = 0"):
        run_loads(points("tdm", 0.1), workers=0)


def test_brackets_contain_the_exact_saturation_of_tdm() -> None:
    """On a permutation it is 1/n. A bracket of 2 % that misses it is an error of a verdict."""
    experiment = TrafficExperiment(
        3, 3, scheduler="tdm", load=0.01, pattern="shift:d", slots=60_000
    )
    (bracket,) = find_saturations([experiment]).brackets.values()
    assert bracket.stable is not None
    assert bracket.unstable is not None
    assert bracket.stable < 1.01 / 9
    assert bracket.unstable > 0.99 / 9


def test_a_bracket_that_contradicts_the_formula_is_noted() -> None:
    point = popsnet.simulate(points("vlb", 0.1)[0])
    brackets = {
        name: Saturation(low, high, (0.9,), (replace(point, load=low),))
        for name, low, high in (("low", 0.4, 0.45), ("high", 0.55, 0.6), ("right", 0.49, 0.499))
    }
    report = Saturations(brackets, dict.fromkeys(brackets, 0.5)).report()
    (low, high) = (part for part in report.parts if isinstance(part, str))
    assert low.startswith("low: 0.45 was judged unstable, and the formula gives 0.5.")
    assert high.startswith("high: 0.55 was judged stable, and the formula gives 0.5.")
    assert [row["formula"] for row in report.to_dict()["saturation"]] == [0.5] * 3
    assert "undecided at" in str(report)


def test_verdicts_of_a_repeated_load_are_shown() -> None:
    first = replace(popsnet.simulate(points("vlb", 0.1)[0]), verdict="unstable")
    again = replace(first, verdict="undecided", setting=replace(first.setting, arrival_seed=1))
    report = Saturations({"vlb": Saturation(None, None, (0.1,), (first, again))}).report()
    assert "vlb at 0.1 is unstable with arrival seed 0, and undecided with arrival seed 1." in str(
        report
    )
    assert "vlb: no load up to 0.1 was unstable; more slots may decide." in report.parts
    assert [row["arrival_seed"] for row in report.to_dict()["points"]] == [0, 1]


def test_a_search_for_saturation_repeats_with_other_arrivals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result, seeds = popsnet.simulate(points("tdm", 0.1)[0]), []

    def judged(experiment: TrafficExperiment, **_: Any) -> TrafficResult:
        seeds.append(experiment.arrival_seed)
        is_unstable = experiment.load < 0.7 and experiment.arrival_seed == 7
        verdict = "unstable" if is_unstable else "undecided"
        return replace(result, load=experiment.load, verdict=verdict)  # type: ignore[arg-type]

    monkeypatch.setattr("popsnet.studies.traffic.curves.simulate", judged)
    (experiment,) = points("tdm", 0.1)
    (bracket,) = find_saturations([experiment.replaced(arrival_seed=7)]).brackets.values()
    assert bracket.unstable is None
    assert set(seeds) == {7, 8}


def test_texts_of_loads() -> None:
    assert read_loads("0.5, 0.1,0.5") == [0.1, 0.5]
    assert read_loads("0.2:0.4:3") == [0.2, 0.3, 0.4]
    for text in ("", "a:b:3", "0.1:0.5:1", "0.1:0.5", "0:0.5:3", "nan", "0.1,1.1"):
        with pytest.raises(InputError, match="loads = "):
            read_loads(text)


def test_the_figure_has_a_line_per_scheduler_and_marks_what_is_unstable() -> None:
    curves = run_loads([*points("tdm", 0.1, 0.5), *points("relay", 0.02, 0.5)])
    (axes,) = popsnet.plots.draw_load_curves(curves.results).axes
    labels = axes.get_legend_handles_labels()[1]
    assert {"tdm", "relay", "unstable"} <= set(labels)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")  # delays: a factor of 8
    dotted = [np.asarray(line.get_xdata()) for line in axes.lines if line.get_linewidth() == 0.8]
    assert 0.5 in np.concatenate(dotted)
    wide = run_loads(points("tdm", 0.1, 0.9)).results
    (axes,) = popsnet.plots.draw_load_curves(wide).axes
    assert (axes.get_xscale(), axes.get_yscale()) == ("linear", "log")
    with pytest.raises(InputError, match="Every point is unstable"):
        popsnet.plots.draw_load_curves(run_loads(points("relay", 0.9)).results)


def test_the_figure_has_an_axis_of_times_if_there_is_a_timing() -> None:
    results = run_loads(points("tdm", 0.1, 0.5)).results
    timing = popsnet.Timing("20ns", fibre="10m")
    slots, times = (popsnet.plots.draw_load_curves(results, one).axes[0] for one in (None, timing))
    assert times.get_ylabel() == "delay in ns: mean, 95 % interval; p99"
    for before, after in zip(slots.lines[:3], times.lines[:3], strict=True):
        lengthened = 20 * (np.asarray(before.get_ydata(), dtype=float) + 3)  # one hop: + τ
        assert np.allclose(np.asarray(after.get_ydata(), dtype=float), lengthened)
