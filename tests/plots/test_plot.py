"""Results have a method that draws them, with the function for such results."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

import popsnet
from popsnet import plots
from popsnet.base.report import Plotted
from popsnet.studies.adversaries import attack_rigid, check_conflict_free
from popsnet.theory.sorting import make_network
from popsnet.traffic import LoadCurves, Saturations, TrafficExperiment, find_saturations, run_loads
from tests.each import each, sampled

NETWORK = popsnet.Network(4, 4)


def curves() -> LoadCurves:
    loads = (0.2, 0.4)
    return run_loads(
        [TrafficExperiment(4, 4, scheduler="tdm", load=load, slots=500) for load in loads]
    )


def saturation() -> Saturations:
    point = TrafficExperiment(4, 4, scheduler="tdm", load=0.2, slots=500)
    return find_saturations([point], width=0.5)


def store() -> popsnet.Store:
    popsnet.collect([popsnet.Experiment(4, 4)], 10, "r.sqlite", progress=False)
    return popsnet.Store("r.sqlite")


RESULTS: dict[str, tuple[Callable[[], Any], Callable[[Any], Figure]]] = {
    "runs": (lambda: popsnet.route(NETWORK, runs=20), plots.draw_runs),
    "curves": (curves, lambda curves: plots.draw_load_curves(curves.results)),
    "point": (lambda: curves().results[0], lambda point: plots.draw_load_curves([point])),
    "comparison": (
        lambda: popsnet.compare(NETWORK, routers=["direct"], runs=2), plots.draw_comparison,
    ),
    "survival": (
        lambda: popsnet.survival(NETWORK, routers=["direct"], numbers=[0, 1], runs=2),
        lambda survival: plots.draw_survival([survival]),
    ),
    "scheduled": (
        lambda: popsnet.schedule(NETWORK, "reversal"),
        lambda scheduled: plots.draw_schedule(scheduled.schedule),
    ),
    "schedule": (
        lambda: popsnet.schedule(NETWORK, "reversal").schedule, plots.draw_schedule,
    ),
    "rigid": (lambda: attack_rigid("batcher", None, NETWORK), plots.draw_growth),
    "conflict-free": (
        lambda: check_conflict_free("direct", None, NETWORK), plots.draw_arrivals,
    ),
    "saturation": (
        saturation, lambda found: plots.draw_load_curves({"tdm": found.brackets["tdm"].points}),
    ),
    "store": (store, plots.draw_results),
    "sorting network": (lambda: make_network("bitonic", 8), plots.draw_network),
    "prediction": (
        lambda: popsnet.predict(NETWORK, phases=True),
        lambda prediction: plots.draw_phases(prediction.phases),
    ),
    "exact": (lambda: popsnet.theory.exact.exact_steps(2, 2), plots.draw_exact),
    "distribution": (lambda: popsnet.distribution(NETWORK, runs=50), plots.draw_tails),
}  # fmt: skip


@each("name", sampled(RESULTS, 5))
def test_the_figure_is_that_of_the_function(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make, draw = RESULTS[name]
    result = make()
    assert plots.svg_text(result.plot()) == plots.svg_text(draw(result))


def test_a_distribution_is_drawn_by_slots_or_by_steps() -> None:
    distribution = popsnet.distribution(NETWORK, runs=50)
    assert distribution.plot("steps").axes[0].get_xlabel() == "steps, k"


def test_a_result_is_drawn_in_the_size_and_with_the_names_that_are_asked_for() -> None:
    found = popsnet.compare(NETWORK, routers=["direct", "relay:S"], runs=2)
    figure = found.plot(width="88.9mm", height=2, title="", labels={"relay": "Ours"})
    assert figure.get_size_inches().tolist() == [3.5, 2]
    (axes,) = figure.axes
    assert axes.get_title() == ""
    assert {label.get_text() for label in axes.get_yticklabels()} == {"direct", "Ours (S)"}
    with pytest.raises(popsnet.InputError, match="width = 3 feet: "):
        found.plot(width="3 feet")
    two = popsnet.predict(NETWORK, phases=True).plot(width=3.5)
    left, right = two.axes
    assert left.get_position().y0 > right.get_position().y1  # below each other


def test_every_result_names_a_function_that_draws() -> None:
    kinds = Plotted.__subclasses__()
    assert len(kinds) >= 15
    for kind in kinds:
        assert callable(getattr(plots, kind._draw)), kind


def test_a_histogram_of_runs() -> None:
    runs = popsnet.route(NETWORK, runs=30)
    (axes,) = runs.plot("steps").axes
    values, counts = runs.histogram("steps")
    bars = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in axes.patches}  # type: ignore[attr-defined]
    assert bars == dict(zip(values.tolist(), counts.tolist(), strict=True))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("steps", "runs")
    with pytest.raises(popsnet.InputError, match="Did you mean 'slots'"):
        runs.plot("slot")


def test_matplotlib_is_needed_when_a_figure_is_asked_for() -> None:
    script = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import importlib.util as util; find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'matplotlib' else find(name, *rest)\n"
        "import popsnet; runs = popsnet.route(2, 2); runs.plot()"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("ImportError: popsnet.plots needs matplotlib. Install popsnet with"), (
        last
    )
