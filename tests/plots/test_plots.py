from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from popsnet import Coins, Experiment, InputError, Network, route
from popsnet.engines import ENGINES, Instance
from popsnet.plots import (
    CurveKind,
    DistributionBars,
    Dot,
    Fitted,
    Series,
    draw_conflicts,
    draw_distributions,
    draw_dots,
    draw_fits,
    draw_journey,
    draw_losses,
    draw_network,
    draw_phases,
    draw_separation,
    draw_slot,
    draw_slots,
    draw_steps,
    draw_trace,
    save,
    svg_text,
)
from popsnet.plots.conflicts import edges_of
from popsnet.plots.journey import hops_of
from popsnet.plots.style import parts_of, save_one
from popsnet.programs.router import get_router
from popsnet.programs.routers.mei_rizzi import PHASES
from popsnet.runs.phase_analysis import analyse_phases
from popsnet.theory.sorting import ComparatorNetwork, bitonic, merge_exchange
from popsnet.trace import Event
from tests.conftest import permutation
from tests.each import examples, rarely, sampled
from tests.project.pages import words_of_svg

ROOT = Path(__file__).parents[2]
SVG_TEXT = "{http://www.w3.org/2000/svg}text"

PRINTED = np.array([1, 5, 8, 9, 3, 10, 11, 14, 15, 13, 0, 7, 2, 6, 12, 4], dtype=np.int32)
"""The permutation of the paper's conflict graph, on POPS(4, 4)."""

MEASURED = Series("measured", (4, 16, 64), (3.0, 4.4, 5.4), (0.1, 0.1, 0.1))
PUBLISHED = Series("published", (4, 16, 64), (3.1, 4.4, 5.4), kind=CurveKind.PUBLISHED)
FLUID = Series("fluid limit", (4, 16, 64), (3.0, 4.6, 5.4), kind=CurveKind.THEORY)
RIVAL = Series("deterministic", (4, 16, 64), (37, 54, 79), kind=CurveKind.THEORY, look=1)


def first_step(d: int, g: int, seed: int = 0, permutation_seed: int = 0) -> list[Event]:
    events: list[Event] = []
    route(d, g, seed=seed, permutation_seed=permutation_seed, observers=[events.append])
    return events[:5]


def steps() -> Figure:
    return draw_steps({"d = g": [MEASURED, PUBLISHED, FLUID], "d = 4g": [MEASURED]})


def slots() -> Figure:
    return draw_slots({"d = g": [MEASURED, PUBLISHED, FLUID], "d = 4g": [RIVAL]}, log=True)


def dots() -> Figure:
    rows = {
        "POPS(2, 2)": [Dot("direct", 2.0), Dot("published", 15.0, 1, text="10%")],
        "POPS(4, 4)": [Dot("direct", 4.0), Dot("safe", 15.0, 1, variant=1)],
    }
    return draw_dots(rows)


def losses() -> Figure:
    return draw_losses([Series("d = 2g", (32, 128), (0.11, 0.12), (0.01, 0.01))])


def conflicts() -> Figure:
    return draw_conflicts(next(analyse_phases(Network(4, 4), PRINTED, Coins(0))))


def journey() -> Figure:
    return draw_journey(Network(3, 3), first_step(3, 3, seed=13, permutation_seed=5), 5)


def comparators() -> Figure:
    return draw_network(merge_exchange(16))


def phases() -> Figure:
    experiment = Experiment(32, 16)
    network, destination = experiment.network, experiment.destination(0)
    return draw_phases(list(analyse_phases(network, destination, Coins(0).for_run(0))))


def distributions() -> Figure:
    return draw_distributions(
        [DistributionBars("POPS(2, 2)", (0, 0.5, 0.25, 0.125), {1: 52, 2: 23, 3: 15})]
    )


def fits() -> Figure:
    values, curve = (15.0, 22.0, 27.0), ((2.0, 8.0), (14.0, 28.0))
    return draw_fits(
        [
            Fitted("mei-rizzi", column, (2, 4, 8), values, (0.3, 0.2, 0.1), {"log g": curve})
            for column in ("d = g", "d = 4g")
        ],
        "slots",
    )


def separated() -> Figure:
    reached = {"affine": (26, 30), "hashed": (12, 14)}
    return draw_separation(
        (8, 16), reached, (2, 4), (10.2, 11.9), (0.2, 0.1), limit=30, capped=(False, True)
    )


FIGURES = [
    steps, slots, dots, losses, conflicts, journey, comparators, phases, distributions, fits,
    separated,
]  # fmt: skip


def legend_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("several", [[steps], *rarely([[*FIGURES]])], ids=["some", "all"])
def test_the_same_figure_has_the_same_bytes(several: list[Callable[[], Figure]]) -> None:
    """Whatever the user's own settings are; text stays text, and nothing is cut."""
    for draw in several:
        figure = draw()
        text = svg_text(figure)
        assert text == svg_text(figure)
        with rc_context({"font.size": 20, "svg.fonttype": "path"}):
            assert text == svg_text(draw())
        assert "<dc:date>" not in text
        assert ET.fromstring(text).findall(f".//{SVG_TEXT}")
        page, inside = figure.bbox, figure.get_tightbbox()
        assert page.x0 <= inside.x0 * figure.dpi <= inside.x1 * figure.dpi <= page.x1
        assert page.y0 <= inside.y0 * figure.dpi <= inside.y1 * figure.dpi <= page.y1


def test_a_figure_is_saved_as_vectors_and_as_dots(tmp_path: Path) -> None:
    vector, raster = save(losses(), tmp_path, "losses")
    assert vector.read_text().startswith("<svg")
    assert raster.read_bytes().startswith(b"\x89PNG")
    assert sorted(tmp_path.iterdir()) == [raster, vector]


def test_steps_have_a_panel_a_shape_and_one_legend() -> None:
    figure = steps()
    assert [axes.get_title() for axes in figure.axes] == ["d = g", "d = 4g"]
    assert legend_of(figure) == ["measured (± standard error)", "published", "fluid limit"]
    assert [len(axes.containers) for axes in figure.axes] == [3, 1]


def test_published_points_are_hollow_and_limits_have_none() -> None:
    _, published, limit = steps().axes[0].containers
    points, *_ = published
    line, *_ = limit
    assert (points.get_markerfacecolor(), points.get_linestyle()) == ("none", "None")
    assert line.get_marker() == "None"


def test_slots_have_a_panel_for_each_shape_on_one_axis() -> None:
    figure = slots()
    assert [len(axes.containers) for axes in figure.axes] == [3, 1]
    assert {axes.get_yscale() for axes in figure.axes} == {"log"}
    assert len({axes.get_ylim() for axes in figure.axes}) == 1
    figure.canvas.draw()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert {"2²", "2⁴", "2⁶"} <= set(labels)


def test_dots_have_a_row_for_each_network() -> None:
    (axes,) = dots().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["POPS(2, 2)", "POPS(4, 4)"]
    drawn = {line.get_label(): line for line in axes.get_lines()}
    heights = {label: np.asarray(line.get_ydata(), dtype=float) for label, line in drawn.items()}
    assert list(drawn) == ["direct", "published", "safe"]
    assert np.round(heights["direct"]).tolist() == [0, 1]
    assert [text.get_text() for text in axes.texts] == ["10%"]
    assert drawn["published"].get_fillstyle() != drawn["safe"].get_fillstyle()


def test_dots_and_texts_of_a_row_do_not_cover_each_other() -> None:
    slots = {"published": 84.0, "deferred": 85.0, "datta": 115.0, "direct": 16.0, "relay": 16.0}
    row = [Dot(label, mean, text="14% lost" * (mean == 84)) for label, mean in slots.items()]
    figure = draw_dots({"POPS(16, 4)": row})
    (axes,) = figure.axes
    points = [axes.transData.transform(line.get_xydata())[0] for line in axes.lines]
    size = axes.lines[0].get_markersize() * figure.dpi / 72
    for left, right in combinations(points, 2):
        assert np.hypot(*(left - right)) > size
    (text,) = axes.texts
    box = text.get_window_extent().padded(size / 2)
    assert [point for point in points[1:] if box.contains(*point)] == []


@pytest.mark.parametrize(
    ("sizes", "ticks"), [((64,), ["2⁶"]), ((32, 64), ["2⁵", "2⁶"]), ((48, 96), ["48", "96"])]
)
def test_few_sizes_have_a_tick_each(sizes: tuple[int, ...], ticks: list[str]) -> None:
    figure = draw_losses([Series("d = 2g", sizes, (0.1,) * len(sizes))])
    figure.canvas.draw()
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == ticks
    left, right = axes.get_xlim()
    assert left >= sizes[0] / 2
    assert right <= sizes[-1] * 2


def test_parts_of_a_figure_are_apart_and_inside(tmp_path: Path) -> None:
    figure = steps()
    save(figure, tmp_path, "steps")
    parts = parts_of(figure)
    assert [part.name for part in parts] == ["axes_1", "axes_2", *["legend_1"] * 3]
    assert [part.is_panel for part in parts] == [True, True, False, False, False]
    text = (tmp_path / "steps.svg").read_text()
    assert all(f'id="{part.name}"' in text for part in parts)
    width, height = 72 * figure.get_size_inches()
    for part in parts:
        assert -3 < part.left < part.left + part.width < width + 3
        assert -3 < part.top < part.top + part.height < height + 3
    for part, other in combinations(parts, 2):
        beside = other.left - part.left - part.width, part.left - other.left - other.width
        above = other.top - part.top - part.height, part.top - other.top - other.height
        assert max(*beside, *above) > -4  # the room around each


def test_losses_are_parts_of_all_packets() -> None:
    figure = losses()
    figure.canvas.draw()
    assert "10%" in [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_a_series_has_one_length() -> None:
    with pytest.raises(ValueError, match="the same length"):
        Series("short", (1, 2), (1.0, 2.0), (0.1,))


def test_every_curve_of_a_fit_is_named_once() -> None:
    figure = fits()
    assert [axes.get_title() for axes in figure.axes] == ["mei-rizzi, d = g", "mei-rizzi, d = 4g"]
    assert legend_of(figure) == ["measured (± standard error)", "log g"]
    with pytest.raises(ValueError, match="the same length"):
        Fitted("relay", "d = g", (2, 4), (1.0,), (0.1,), {})


def test_the_separation_shows_what_looks_random_alone() -> None:
    both, alone = separated().axes
    assert len(both.lines) > len(alone.lines)
    labels = legend_of(separated())
    assert {"affine: delayed by", "hashed: delayed by"} < set(labels)


def test_a_law_without_runs_is_refused() -> None:
    with pytest.raises(ValueError, match="of 0 runs"):
        DistributionBars("nothing", (0.5, 0.5), {})


@examples(60)
@given(g=st.integers(1, 8), k=st.integers(1, 3), seed=st.integers(0, 2**64 - 1))
def test_conflict_graphs_leave_whom_the_engine_leaves(g: int, k: int, seed: int) -> None:
    network, destination, coins = Network(k * g, g), permutation(k * g * g, seed), Coins(seed)
    router = get_router("mei-rizzi")
    instance = Instance(network, router, "idealized", destination, coins, 50)
    outcome = ENGINES["slots"].execute(instance, ())
    pending = network.n
    steps = analyse_phases(network, destination, coins)
    for left, step in zip(outcome.survivors, steps, strict=False):
        pending -= len(edges_of(step)[2])
        assert pending == left


def test_the_papers_conflict_graph_has_its_ends() -> None:
    edges, _, _ = edges_of(next(analyse_phases(Network(4, 4), PRINTED, Coins(0))))
    assert [edge.packet for edge in edges] == list(range(16))
    assert [edge.source for edge in edges] == [packet // 4 for packet in range(16)]
    ends = [1, 1, 0, 1, 3, 2, 3, 2, 3, 1, 0, 3, 2, 2, 0, 0]  # printed with the figure
    assert [edge.temporary for edge in edges] == ends


def test_each_panel_shows_the_packets_that_are_left() -> None:
    left = edges_of(next(analyse_phases(Network(4, 4), PRINTED, Coins(0))))
    for axes, expected in zip(conflicts().axes, left, strict=True):
        shown = [patch.get_gid() for patch in axes.patches if patch.get_gid()]
        assert shown == [f"packet {edge.packet}" for edge in expected]


def test_a_journey_is_the_papers_example() -> None:
    """Packet 5 goes to processor 1 by way of groups 2 and 1; acks come back."""
    hops = hops_of(Network(3, 3), first_step(3, 3, seed=13, permutation_seed=5))
    way = [(hop.sender, hop.receivers, hop.kind) for hop in hops if hop.packet == 5]
    assert way == [
        (5, (7,), "packet"),
        (7, (5,), "packet"),
        (5, (7,), "ack"),
        (7, (5,), "ack"),
        (5, (1,), "packet"),
    ]


def test_a_journey_names_its_slots_and_couplers() -> None:
    texts = [text.get_text().replace("\n", " ") for text in journey().axes[0].texts]
    for phase in PHASES:
        assert f"slot {phase}" in texts
    assert [text for text in texts if "→" in text] == [
        "1→2", "2→1", "1→2", "2→1", "1→0"
    ]  # fmt: skip


def test_the_journey_of_a_packet_that_meets_another_ends_there() -> None:
    events = first_step(8, 8)
    hops = list(hops_of(Network(8, 8), events))
    packet = next(hop.packet for hop in hops if not hop.receivers)
    assert packet is not None
    axes = draw_journey(Network(8, 8), events, packet).axes[0]
    assert len([text for text in axes.texts if text.get_text() == "×"]) > 0


def test_a_slot_shows_light_and_collisions() -> None:
    axes = Figure().add_subplot()
    sends = [(0, [1], "packet", 0), (1, [2], "packet", 1), (2, [2], "packet", 2)]
    draw_slot(axes, Network(3, 3), sends, [(3, 0), (4, 0), (6, 0)])
    texts = [text.get_text() for text in axes.texts]
    assert texts.count("×") == 1
    assert len(axes.lines) == 3 + 2  # three beams in, two listeners of the packet that got through


@pytest.mark.parametrize(("d", "g"), [(1, 1), (2, 5), (5, 2)])
def test_any_shape_can_be_drawn(d: int, g: int) -> None:
    events: list[Event] = []
    route(d, g, router="direct", observers=[events.append])
    axes = Figure().add_subplot()
    draw_slot(axes, Network(d, g), *events[0].records())
    assert len(axes.patches) == 2 * d * g + g * g


def relay_trace(folder: Path, d: int, g: int, schedule: str, seed: int = 0) -> Path:
    route(d, g, router="relay", variant=schedule, seed=seed, trace=folder / "trace.jsonl")
    return folder / "trace.jsonl"


@pytest.fixture
def pictures() -> Iterator[ModuleType]:
    """The program that draws the pictures of the documents."""
    spec = importlib.util.spec_from_file_location("draw_picture", ROOT / "docs/draw_picture.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["draw_picture"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["draw_picture"]


def texts_of(figure: Figure) -> list[str]:
    return [text.get_text() for axes in figure.axes for text in axes.texts]


def test_the_figures_of_the_documents_are_drawn_by_the_program_of_today(
    pictures: ModuleType, tmp_path: Path
) -> None:
    """Those that take little time; their texts are compared."""
    for name, draw in sampled(pictures.QUICK.items(), 4):
        draw(tmp_path / f"{name}.svg")
        kept = ROOT / f"docs/images/{name}.svg"
        old = f"{kept} is old: python docs/draw_picture.py {name}"
        assert words_of_svg(tmp_path / f"{name}.svg") == words_of_svg(kept), old


def test_slots_of_a_trace_have_rows_and_headings(tmp_path: Path) -> None:
    figure = draw_trace(relay_trace(tmp_path, 3, 3, "S"), range(1, 5), a_row=3)
    assert len(figure.axes) == 2
    headings = [text for text in texts_of(figure) if text.startswith("slot ")]
    assert headings == [
        "slot 1\nseed", "slot 2\nsweep: attempt", "slot 3\nsweep: delivery", "slot 4\nsweep: acks"
    ]  # fmt: skip
    assert texts_of(figure).count("bits") >= 3  # the seed, on three couplers, and acks


def test_what_is_stored_is_shown_until_it_is_sent(pictures: ModuleType, tmp_path: Path) -> None:
    """In the picture of a sweep processor 0 stores packet 1 and sends it in the next slot."""
    stage = pictures.RELAY["sweep"]
    route(
        3, 3, router="relay", variant="S", seed=stage.seed,
        permutation_seed=stage.permutation_seed, trace=tmp_path / "t",
    )  # fmt: skip
    figure = draw_trace(tmp_path / "t", stage.slots)
    assert sorted(text for text in texts_of(figure) if text.startswith("holds")) == [
        "holds 1", "holds 3", "holds 4", "holds 5", "holds 7"
    ]  # fmt: skip
    assert texts_of(figure).count("×") == 2
    _require_clear_labels(figure)
    (legend,) = figure.legends
    meanings = " ".join(text.get_text() for text in legend.get_texts())
    assert "holds packet 6" in meanings
    assert "bits: any other" in meanings
    later = draw_trace(str(tmp_path / "t"), range(3, 4))
    assert sum(text.startswith("holds") for text in texts_of(later)) == 5


def _require_clear_labels(figure: Figure) -> None:
    """No label of what a processor holds touches a circle, whose edge may be thick."""
    figure.draw_without_rendering()
    (axes,) = figure.axes
    circles = [patch for patch in axes.patches if isinstance(patch, Circle)]
    boxes = [circle.get_window_extent().padded(1.5) for circle in circles]
    labels = [text for text in axes.texts if text.get_text().startswith("holds")]
    assert len(circles) > len(labels) > 0
    for label in labels:
        assert label.get_window_extent().count_overlaps(boxes) == 0


def test_slots_that_a_trace_does_not_have_are_refused(tmp_path: Path) -> None:
    trace = relay_trace(tmp_path, 2, 2, "S")
    for slots in (range(500, 502), range(2, 2)):
        with pytest.raises(InputError, match="has no slots from"):
            draw_trace(trace, slots)


@pytest.mark.parametrize(("d", "g", "schedule"), [(2, 1, "R1"), (1, 4, "XY(2,2)"), (5, 2, "F")])
def test_slots_of_any_shape_can_be_drawn(d: int, g: int, schedule: str, tmp_path: Path) -> None:
    figure = draw_trace(relay_trace(tmp_path, d, g, schedule), range(1, 4))
    text = svg_text(figure)
    assert text == svg_text(figure)
    page, inside = figure.bbox, figure.get_tightbbox()
    assert page.x0 <= inside.x0 * figure.dpi <= inside.x1 * figure.dpi <= page.x1
    assert page.y0 <= inside.y0 * figure.dpi <= inside.y1 * figure.dpi <= page.y1


def test_the_picture_of_the_readme_is_what_the_program_draws(
    pictures: ModuleType, tmp_path: Path
) -> None:
    pictures.draw(tmp_path / "drawn.svg")
    assert (tmp_path / "drawn.svg").read_text().startswith("<?xml")
    assert (ROOT / "docs/images/pops-3-3.svg").is_file()


@pytest.mark.parametrize("name", sampled(["sweep", "park", "fold", "shower", "grid"], 2))
def test_pictures_of_relay_are_what_the_program_draws(
    name: str, pictures: ModuleType, tmp_path: Path
) -> None:
    """The same words in the same order; where exactly they stand may depend on fonts."""
    pictures.draw_stage(tmp_path / "one.svg", pictures.RELAY[name])
    drawn = (tmp_path / "one.svg").read_text()
    if name == "grid":  # the smallest is drawn twice
        pictures.draw_stage(tmp_path / "two.svg", pictures.RELAY[name])
        assert drawn == (tmp_path / "two.svg").read_text()
    kept = (ROOT / f"docs/images/relay-{name}.svg").read_text()
    texts = [[text.text for text in ET.fromstring(svg).iter(SVG_TEXT)] for svg in (drawn, kept)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("network", [merge_exchange(1), merge_exchange(11), bitonic(16)])
def test_a_diagram_has_every_comparator_and_none_covers_another(network: ComparatorNetwork) -> None:
    (axes,) = draw_network(network).axes
    drawn = [
        (segment[0][0], segment[0][1], segment[1][1])
        for collection in axes.collections
        for segment in collection.get_segments()  # type: ignore[attr-defined]
        if segment[0][0] == segment[1][0]
    ]
    assert sorted((low, high) for _, low, high in drawn) == sorted(
        (low, high) for stage in network for low, high in zip(stage.low, stage.high, strict=True)
    )
    for x in {x for x, _, _ in drawn}:
        ends = sorted((low, high) for column, low, high in drawn if column == x)
        assert all(above[1] < below[0] for above, below in pairwise(ends))


def test_a_diagram_that_nobody_could_read_is_refused() -> None:
    with pytest.raises(InputError, match="65 wires is too large to read"):
        draw_network(merge_exchange(65))
    stages = [stage for _ in range(200) for stage in merge_exchange(8)]
    with pytest.raises(InputError, match="more than 1,000 columns"):
        draw_network(ComparatorNetwork("again and again", 8, lambda: stages))


def test_text_of_a_pdf_is_truetype(tmp_path: Path) -> None:
    figure = Figure()
    figure.text(0, 0, "slots")
    save_one(figure, tmp_path / "f.pdf")
    written = (tmp_path / "f.pdf").read_bytes()
    assert b"/Type3" not in written
    assert b"/FontFile2" in written


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "popsnet.plots")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"needs matplotlib\. .*pip install 'popsnet\[plots\]'"):
        importlib.import_module("popsnet.plots")
