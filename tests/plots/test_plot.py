"""Results have a method that draws them, with the function for such results."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure

import popsnet
from popsnet import plots
from popsnet.base.report import Plotted
from popsnet.studies.adversaries import attack_rigid, check_conflict_free
from popsnet.theory.sorting import make_network
from popsnet.traffic import TrafficExperiment, find_saturations, run_loads

NETWORK = popsnet.Network(4, 4)


def test_the_figure_is_that_of_the_function(tmp_path: Path) -> None:
    runs = popsnet.route(NETWORK, runs=20)
    distribution = popsnet.distribution(NETWORK, runs=50)
    points = [TrafficExperiment(4, 4, scheduler="tdm", load=x, slots=500) for x in (0.2, 0.4)]
    curves, found = run_loads(points), popsnet.compare(NETWORK, routers=["direct"], runs=2)
    survival = popsnet.survival(NETWORK, routers=["direct"], numbers=[0, 1], runs=2)
    made, attack = popsnet.schedule(NETWORK, "reversal"), attack_rigid("batcher", None, NETWORK)
    arrivals = check_conflict_free("direct", None, NETWORK)
    saturations = find_saturations(points[:1], width=0.5)
    popsnet.collect([popsnet.Experiment(4, 4)], 10, tmp_path / "r.sqlite", progress=False)
    store = popsnet.Store(tmp_path / "r.sqlite")
    sorting = make_network("bitonic", 8)
    predicted = popsnet.predict(NETWORK, phases=True)
    exact = popsnet.theory.exact.exact_steps(2, 2)
    cases: list[tuple[Plotted, Figure]] = [
        (runs, plots.draw_runs(runs)),
        (distribution, plots.draw_tails(distribution)),
        (curves, plots.draw_load_curves(curves.results)),
        (curves.results[0], plots.draw_load_curves(curves.results[:1])),
        (found, plots.draw_comparison(found)),
        (survival, plots.draw_survival([survival])),
        (made, plots.draw_schedule(made.schedule)),
        (made.schedule, plots.draw_schedule(made.schedule)),
        (attack, plots.draw_growth(attack)),
        (arrivals, plots.draw_arrivals(arrivals)),
        (saturations, plots.draw_load_curves({"tdm": saturations.brackets["tdm"].points})),
        (store, plots.draw_results(store)),
        (sorting, plots.draw_network(sorting)),
        (predicted, plots.draw_phases(predicted.phases)),
        (exact, plots.draw_exact(exact)),
    ]
    for result, figure in cases:
        assert plots.svg_text(result.plot()) == plots.svg_text(figure), type(result).__name__
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
