"""Every text of every figure lies inside it, with data as long as people have."""

from __future__ import annotations

import csv
import doctest
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from matplotlib.figure import Figure

import popsnet
from popsnet import Coins, Experiment, Network, Store, Sweep, collect, plots
from popsnet.paper.figures import paper_figures
from popsnet.paper.rows import PaperRows, RelayRow, RouterRow, SlotsRow, StepsRow
from popsnet.plots import FigureLayout
from popsnet.runs.phase_analysis import analyse_phases
from popsnet.studies.adversaries import (
    attack_rigid,
    check_conflict_free,
    measure_congestion,
    measure_separation,
)
from popsnet.theory.exact import exact_steps
from popsnet.theory.sorting import merge_exchange
from popsnet.trace import Event
from tests.each import rarely, sampled
from tests.plots import test_plots
from tests.plots.texts import texts_of, texts_outside

COMMITTED = Path(__file__).parents[2] / "results" / "paper"
AnyRow = TypeVar("AnyRow")


def read_rows(name: str, kind: type[AnyRow]) -> tuple[AnyRow, ...]:
    """The rows of a committed table."""
    with (COMMITTED / f"{name}.csv").open(newline="") as file:
        texts = {field for field, of in kind.__annotations__.items() if of == "str"}
        rows = [
            {field: cell if cell or field in texts else None for field, cell in row.items()}
            for row in csv.DictReader(file)
        ]
    missing = {"sd_p": 1.0, "max_p": 1.0, "sd_verdict": "agrees", "max_verdict": "agrees"}
    rows = [{**missing, **row} for row in rows] if "sd_p" in kind.__annotations__ else rows
    return msgspec.convert(rows, tuple[kind, ...], strict=False)  # type: ignore[valid-type]


def committed() -> PaperRows:
    """The committed tables, with variants of relay that are planned for each network."""
    relay = tuple(row for row in read_rows("relay", RelayRow) if row.n <= 1024)
    plan = popsnet.find_router("relay").choose_variant
    routers = [  # the committed plans are those of the release that made them
        replace(row, variant=plan(None, row.network)) if row.variant.startswith("P") else row
        for row in read_rows("routers", RouterRow)
    ]
    survive = [
        replace(row, variant=f"{family}: V(7,5,{row.n}) VF VF | VF VF V8", mean=2 * row.mean)
        for row in routers for family in ("survive", "survive-flooded") if row.variant == "census"
    ]  # fmt: skip
    return PaperRows(
        read_rows("steps", StepsRow), read_rows("slots", SlotsRow), (*routers, *survive), relay
    )


LONG = "survive-flooded: V(7,5,4) VF VF VF VF VF VF VF VF VF VF VF | VF VF VF VF V8"
"""A schedule as the planner writes it, by which a variant is named."""


def slot() -> Figure:
    events: list[Event] = []
    popsnet.route(12, 3, router="relay", variant="S", observers=[events.append])
    figure = Figure(figsize=(5.0, 4.6), layout="constrained")
    plots.draw_slot(figure.add_subplot(), Network(12, 3), *events[0].records())
    return figure


def trace() -> Figure:
    popsnet.route(3, 3, router="relay", variant="S", trace="run.jsonl")
    return plots.draw_trace("run.jsonl", range(1, 5))


def results() -> Figure:
    names = ["mei-rizzi", "direct", "relay:S", f"relay:{LONG}", "datta", "batcher", "offline"]
    sweep = Sweep.of_grid(shapes=[[8, 8], [16, 16]], routers=names, runs=10)
    collect(sweep, store="r.sqlite", progress=False)
    with Store("r.sqlite") as store:
        return plots.draw_results(store)


def survival() -> Figure:
    names = ["direct", "relay:F", "relay:survive", f"relay:{LONG}", "mei-rizzi", "datta"]
    found = [popsnet.survival(d, 8, routers=names[: 9 - d // 4], numbers=[0, 1, 4], runs=2)
             for d in (8, 16)]  # fmt: skip
    return plots.draw_survival(found)


def load_curves() -> Figure:
    names = ("rotor", "tdm", "relay")
    return plots.draw_load_curves([
        popsnet.simulate(d, 4, scheduler=name, load=load, slots=1000, progress=False)
        for d in (1, 2, 4, 8) for name in names for load in (0.02, 0.1)
    ])  # fmt: skip


def one_step() -> Figure:
    experiment = Experiment(9, 9)
    steps = analyse_phases(experiment.network, experiment.destination(0), Coins(0).for_run(0))
    return plots.draw_conflicts(next(iter(steps)))


def undelivered() -> Figure:
    names = ("relay", f"relay ({LONG[:40]})", "randomized")
    curves = [plots.Decline(name, (4, 7), (0.63, 0.3), (0.632, 0.296)) for name in names]
    return plots.draw_undelivered({"d = g": curves, "d = 4g": curves}, 1e-3)


def dots() -> Figure:
    rows = {f"POPS({d}, 16)\nd = {d // 16}g": [
        plots.Dot(f"relay ({LONG[:30]} {number})", 10.0 * 3**number, number, number, "12% lost")
        for number in range(7)
    ] for d in (16, 64)}  # fmt: skip
    return plots.draw_dots(rows)


def schedule(d: int = 4, g: int = 3, wavelengths: int = 1) -> Figure:
    return plots.draw_schedule(popsnet.schedule(Network(d, g, wavelengths)).schedule)


def comparison() -> Figure:
    names = ["direct", "mei-rizzi", "relay", f"relay:{LONG}"]
    return plots.draw_comparison(popsnet.compare(16, 16, routers=names, runs=2))


FIGURES: dict[str, tuple[Callable[[], Figure], ...]] = {
    "draw_arrivals": (lambda: plots.draw_arrivals(check_conflict_free("direct", None, 8, 8)),),
    "draw_comparison": (comparison,),
    "draw_conflicts": (test_plots.conflicts, one_step),
    "draw_congestion": (lambda: plots.draw_congestion(measure_congestion(16, 2)),),
    "draw_distributions": (test_plots.distributions,),
    "draw_dots": (test_plots.dots, dots),
    "draw_exact": (lambda: plots.draw_exact(exact_steps(3, 3)),),
    "draw_fits": (test_plots.fits,),
    "draw_growth": (lambda: plots.draw_growth(attack_rigid("batcher", None, Network(8, 8), None)),),
    "draw_journey": (test_plots.journey,),
    "draw_load_curves": (load_curves,),
    "draw_losses": (
        test_plots.losses,
        lambda: plots.draw_losses([replace(test_plots.MEASURED, label=f"relay ({LONG[:40]})")] * 2),
    ),
    "draw_network": (test_plots.comparators, lambda: plots.draw_network(merge_exchange(3))),
    "draw_phases": (test_plots.phases,),
    "draw_results": (results,),
    "draw_runs": (
        lambda: plots.draw_runs(popsnet.route(4, 4, runs=20)),
        lambda: plots.draw_runs(
            popsnet.route(8, 8, router="relay", variant="P2 P1 P1 Q Q Q S S S S S S", runs=9)
        ),
    ),
    "draw_schedule": (
        schedule,
        partial(schedule, 3, 12),
        partial(schedule, 64, 64),
        partial(schedule, 4, 3, 2),
        partial(schedule, 16, 16, 2),
    ),
    "draw_separation": (test_plots.separated,),
    "draw_separation_study": (lambda: plots.draw_separation_study(measure_separation(16, 2)),),
    "draw_slot": (slot,),
    "draw_slots": (test_plots.slots,),
    "draw_steps": (test_plots.steps,),
    "draw_survival": (survival,),
    "draw_tails": (
        lambda: plots.draw_tails(
            [popsnet.distribution(d, 4, runs=100, progress=False) for d in (4, 8)]
        ),
    ),
    "draw_trace": (trace,),
    "draw_undelivered": (undelivered,),
}


def test_every_function_that_draws_has_a_figure_here() -> None:
    assert set(FIGURES) == {name for name in dir(plots) if name.startswith("draw_")}


@pytest.mark.parametrize("few", [True, *rarely([False])])
def test_every_text_is_inside_its_figure(
    few: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one figure of each function, or in all, those of the examples and those of the paper.

    They are as popsnet draws them, and some or all in a column with a long title and a long name.
    """
    monkeypatch.chdir(tmp_path)
    drawn = {f"{name} {number}": draw() for name, several in FIGURES.items()
             for number, draw in enumerate(several[:1] if few else several)}  # fmt: skip
    if not few:
        drawn |= {part.stem: part.figure for part in paper_figures(committed())}
        drawn |= examples(monkeypatch)
    outside = {name: found for name, figure in drawn.items() if (found := texts_outside(figure))}
    assert outside == {}
    columns = sampled(drawn.items(), 10)
    narrow = {name: texts_outside(column(figure)) for name, figure in columns}
    assert {name: found for name, found in narrow.items() if found} == {}


def examples(monkeypatch: pytest.MonkeyPatch) -> dict[str, Figure]:
    """The figures of the examples of all functions that draw, so that a new one is here, too."""
    drawn: dict[str, Figure] = {}
    for name in (name for name in dir(plots) if name.startswith("draw_")):
        original = getattr(plots, name)

        def noted(*given: Any, original: Any = original, name: str = name, **options: Any) -> Any:
            figure = original(*given, **options)
            drawn[f"{name}, example"] = figure or given[0].figure
            return figure

        monkeypatch.setattr(plots, name, noted)
        names: dict[str, object] = {}
        for example in doctest.DocTestParser().get_examples(original.__doc__):
            exec(example.source, names)
        monkeypatch.setattr(plots, name, original)
        assert f"{name}, example" in drawn, name
    return drawn


TITLE = "Slots of the routers of this thesis on networks as large as those of the paper"


def column(figure: Figure) -> Figure:
    """The figure in a column of a page, with a long title and a long name."""
    texts = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    labels = {texts[0]: f"{texts[0]} as in the second chapter, with {LONG}"} if texts else {}
    return FigureLayout(width="3.5in", title=TITLE, labels=labels).apply(figure)


@pytest.mark.parametrize(("width", "font_size"), [(1.0, 40.0), (2.0, 20.0)])
def test_a_label_is_broken_until_it_fits_or_its_lines_are_short(
    width: float, font_size: float
) -> None:
    """There is an end of it, also where the lines are the shortest and are still too long."""
    figure = test_plots.losses()
    label = "d = 2g, as in the second chapter"
    (text,) = (text.get_text() for text in figure.legends[0].get_texts())
    layout = FigureLayout(width=width, height=1.0, font_size=font_size, labels={text: label})
    with pytest.raises(popsnet.InputError) as refused:
        layout.apply(figure)
    size = f"{width:.1f} × 1.0 inches"
    text = f"A figure of {size} is too small for its text; give a larger one."
    assert str(refused.value) == text
    (shown,) = (text.get_text() for text in figure.legends[0].get_texts())
    assert shown.split() == label.split()
    assert max(map(len, shown.splitlines())) <= 8


def test_a_text_that_is_cut_is_found() -> None:
    figure = Figure(figsize=(2, 2))
    figure.text(0.9, 0.5, "too long for its place")
    figure.text(0.1, 0.5, "inside")
    assert texts_outside(figure) == ["too long for its place"]


def test_a_router_has_one_entry_and_one_marker_for_a_family_of_variants() -> None:
    (figure,) = (part.figure for part in paper_figures(committed()) if part.stem == "routers")
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert {"relay (survive)", "relay (survive-flooded)", "mei-rizzi (deferred)"} <= set(lines)
    looks = {(line.get_marker(), line.get_fillstyle()) for line in lines.values()}
    assert len(looks) == len(lines)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == list(lines)
    assert set(texts) <= {text.get_text() for text in texts_of(figure)}
