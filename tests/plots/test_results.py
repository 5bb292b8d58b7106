"""Figures of results."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure

from popsnet import Experiment, InputError, Store, Sweep, collect, simulate
from popsnet.plots import draw_load_curves, draw_results
from popsnet.plots.style import save_one
from popsnet.sweeps import Selection
from popsnet.sweeps.curves import result_curves
from tests.each import sampled
from tests.project.pages import routers_kept


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plots") / "r.sqlite"
    sweep = Sweep.of_grid(
        shapes=[[4, 4], [8, 8], [16, 16]], routers=["mei-rizzi", "direct"], runs=20
    )
    collect(sweep, store=path, progress=False)
    collect([Experiment(8, 4, max_steps=3)], 20, path, progress=False)
    return path


def drawn(store: Path, **options: object) -> Figure:
    with Store(store) as opened:
        return draw_results(opened, **options)  # type: ignore[arg-type]


def bars_of(axes: Axes) -> list[ErrorbarContainer]:
    return [bars for bars in axes.containers if isinstance(bars, ErrorbarContainer)]


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_line_per_router_with_intervals_and_the_number_of_runs(store: Path) -> None:
    figure = drawn(store, only=Selection(variant=["published", "standard"]))
    (axes,) = figure.axes
    assert labels(figure) == ["direct", "mei-rizzi"]
    assert axes.get_title() == "d = g, permutation random, 120 runs, 20 per point"
    assert axes.get_xscale() == "log"
    assert axes.get_yscale() == "linear"
    assert axes.get_ylabel() == "slots: mean, 95 % interval"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["16", "64", "256"]
    direct, other = bars_of(axes)
    assert np.asarray(direct.lines[0].get_ydata()).tolist() == [4, 8, 16]
    low, high = axes.get_ylim()
    assert (low, high > 30) == (0, True)
    bars = [segment[1][1] - segment[0][1] for segment in other.lines[2][0].get_segments()]
    assert all(bar > 0 for bar in bars)


def test_means_of_capped_runs_are_marked_and_have_no_interval(store: Path) -> None:
    figure = drawn(store, only=Selection(d=8, g=4))
    assert "↑ lower bound: some runs were capped" in labels(figure)
    container, _ = bars_of(figure.axes[0])
    ((low, high),) = container.lines[2][0].get_segments()
    assert low[1] == high[1]
    assert "↑ lower bound: some runs were capped" not in labels(drawn(store, only=Selection(d=4)))


def test_lower_bounds_are_hollow_and_in_the_colour_of_their_line(store: Path) -> None:
    figure = drawn(store, only=Selection(router="mei-rizzi", d=8), x="g")
    (axes,) = figure.axes
    assert labels(figure)[-1] == "↑ lower bound: some runs were capped"
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    arrows = [line for line in axes.lines if line.get_marker() == r"$\uparrow$"]
    colours = [bars.lines[0].get_color() for bars in bars_of(axes)[:-1]]
    assert [line.get_color() in colours for line in (hollow[0], arrows[0])] == [True, True]


FILE = """
from popsnet import Slot, register

@register("mine", summary="", slots="", buffers=2)
def mine(network, destination, coins, memory):
    for step in range(9):
        yield Slot(step=step)
"""


def test_a_line_has_the_name_of_its_router_and_a_variant_only_if_it_was_asked_for(
    tmp_path: Path,
) -> None:
    """A file that is not loaded has its name alone, and plans for each network are a family."""
    (tmp_path / "mine.py").write_text(FILE)
    with routers_kept():
        mine = Experiment(4, 4, router=str(tmp_path / "mine.py"), max_steps=3)
        assert str(mine) == "mine (standard) on POPS(4, 4)"
        others = [
            Experiment(g, g, router="relay", variant=name, max_steps=3)
            for g in (4, 8) for name in (None, "survive", "S")
        ]  # fmt: skip
        collect([mine, *others], 10, tmp_path / "r", progress=False)
    names = ["mine", "relay", "relay (S)", "relay (survive)"]
    shown = [label.partition(", ")[0] for label in labels(drawn(tmp_path / "r"))]
    assert shown == [*names, "↑ lower bound: some runs were capped"]
    with Store(tmp_path / "r") as store:
        assert [label.partition(", ")[0] for label in result_curves(store).lines] == names


def test_delays_of_several_networks_have_a_panel_each() -> None:
    points = [
        simulate(d, g, scheduler=name, load=load, slots=200, pattern=pattern, progress=False)
        for d, g in ((4, 2), (2, 2)) for name in ("tdm", "rotor") for load in (0.1, 0.2)
        for pattern in ("uniform", "tornado")
    ]  # fmt: skip
    figure = draw_load_curves(points)
    assert [axes.get_title() for axes in figure.axes] == [
        "POPS(2, 2), bernoulli tornado", "POPS(2, 2), bernoulli uniform",
        "POPS(4, 2), bernoulli tornado", "POPS(4, 2), bernoulli uniform",
    ]  # fmt: skip
    assert labels(figure)[:2] == ["tdm", "rotor"]
    assert "hollow: undecided" in labels(figure)
    assert {axes.get_xscale() for axes in figure.axes} == {"linear"}
    points = [simulate(2, g, load=0.1, slots=50, progress=False) for g in range(2, 9)]
    with pytest.raises(InputError, match="7 panels, one per network and arrivals, and 6 can be"):
        draw_load_curves(points)


def test_a_router_has_one_colour_and_its_lines_differ(tmp_path: Path) -> None:
    sweep = Sweep.of_grid(n=[16, 64], ratio=[1, 4, 16], routers=["mei-rizzi", "direct"])
    collect(sweep, store=tmp_path / "r", progress=False)
    figure = drawn(tmp_path / "r")
    assert labels(figure)[:3] == ["direct, d = g", "direct, d/g = 4", "direct, d/g = 16"]
    lines = [bars.lines[0] for bars in bars_of(figure.axes[0])][:6]
    assert len({line.get_color() for line in lines[:3]}) == 1
    assert len({line.get_color() for line in lines}) == 2
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == len(lines) == 6


def test_labels_of_near_values_do_not_overlap(tmp_path: Path) -> None:
    shapes = [[15, 1], [16, 1], [1000, 1], [1024, 1]]
    sweep = Sweep.of_grid(shapes=shapes, routers="direct")
    collect(sweep, store=tmp_path / "r", progress=False)
    (axes,) = drawn(tmp_path / "r").axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["16", "1,024"]


def test_a_wide_range_has_a_logarithmic_axis_and_lost_packets_none(
    store: Path, tmp_path: Path
) -> None:
    store = Path(shutil.copy(store, tmp_path))
    steps = drawn(store, measure="steps").axes[0]
    assert (steps.get_yscale(), steps.get_ylabel()) == ("linear", "steps: mean, 95 % interval")
    collect([Experiment(128, 2, router="direct")], 10, store, progress=False)
    assert drawn(store, x="d/g").axes[0].get_yscale() == "log"
    lost = drawn(store, measure="lost", only=Selection(router="direct"))
    assert lost.axes[0].get_ylim() == (0, 1)
    assert not any(bars.lines[0].get_clip_on() for bars in bars_of(lost.axes[0]))
    axes = drawn(store, only=Selection(router="direct", n=16)).axes[0]
    assert axes.get_title() == "d = g, permutation random, 20 runs"


def test_too_many_lines_are_refused(tmp_path: Path) -> None:
    experiments = [Experiment(2, 2, router="direct", seed=seed) for seed in range(22)]
    collect(experiments, 10, tmp_path / "r", progress=False)
    with pytest.raises(InputError, match="22 lines, and 21 can be told apart"):
        drawn(tmp_path / "r")


@pytest.mark.parametrize("ending", sampled(["svg", "pdf", "png"], 1))
def test_the_same_figure_has_the_same_bytes(ending: str, store: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_one(drawn(store), tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"a.{ending}").read_bytes() == (tmp_path / f"b.{ending}").read_bytes()
    with pytest.raises(InputError, match=r"ends in \.svg, \.png, \.pdf"):
        save_one(drawn(store), tmp_path / "a.jpg")
