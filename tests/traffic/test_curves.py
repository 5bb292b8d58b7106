"""Several points: loads, schedulers, brackets, interruptions, and figures of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import InputError
from popsnet.traffic import TrafficExperiment, find_saturations, read_loads, run_loads


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

    monkeypatch.setattr("popsnet.traffic.curves.simulate", stops)
    with pytest.raises(KeyboardInterrupt) as stopped:
        run_loads(points("tdm", 0.1, 0.3, 0.5))
    assert [one.load for one in stopped.value.curves.results] == [0.1]  # type: ignore[attr-defined]


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
    assert axes.get_yscale() == axes.get_xscale() == "log"
    dotted = [np.asarray(line.get_xdata()) for line in axes.lines if line.get_linewidth() == 0.8]
    assert 0.5 in np.concatenate(dotted)
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
