"""The figure fits the window, and a phone has its own layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from popsnet.trace.viewer import Recording

from .conftest import Visit
from .runs import run_of

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect
    from playwright.sync_api import Page as Tab

PHONE = (400, 850)
FINGER = 44
"""Pixels that a control needs on a touch screen."""

SMALLEST = """(selector) => Math.min(...[...document.querySelectorAll(selector)]
  .filter((text) => text.textContent !== "" && text.getClientRects().length > 0)
  .map((text) => {
    const { a, b } = text.getScreenCTM();
    return parseFloat(getComputedStyle(text).fontSize) * Math.hypot(a, b);
  }))"""
"""Pixels of the smallest text, some of which is turned."""

CUT = """() => {
  const { scrollWidth, clientWidth } = document.getElementById("score");
  return scrollWidth > clientWidth;
}"""


def box_of(tab: Tab, name: str, place: int = 0) -> FloatRect:
    box = tab.locator(name).nth(place).bounding_box()
    assert box is not None
    return box


def two() -> list[Recording]:
    return [run_of(4, 4), run_of(4, 4, "relay", variant="S")]


@pytest.mark.parametrize("size", [(1280, 900), (1600, 1000), (1366, 768)])
def test_two_networks_are_seen_whole_without_scrolling(visit: Visit, size: tuple[int, int]) -> None:
    tab = visit(two(), at="#slot=1", size=size)
    player = box_of(tab, "#player")
    for place in (0, 1):
        network = box_of(tab, "svg.network", place)
        assert network["y"] > 0
        assert network["y"] + network["height"] < player["y"]
        words = box_of(tab, ".slot-words", place)
        assert words["y"] + 20 < player["y"]
        assert network["height"] > 330
    assert not tab.is_visible("#legend")
    assert tab.evaluate(SMALLEST, "svg.network .chip text, svg.network .number") >= 7.5


@pytest.mark.parametrize("size", [(1280, 900), (1000, 720)])
def test_the_legend_leaves_the_figure_where_it_is(visit: Visit, size: tuple[int, int]) -> None:
    tab = visit([run_of(4, 4)], at="#slot=1", size=size)
    before = box_of(tab, "svg.network")
    tab.click("#guide summary")
    assert tab.is_visible("#legend")
    assert box_of(tab, "svg.network") == before
    legend = box_of(tab, ".guide .unfolded")
    assert legend["x"] > before["x"] + before["width"] / 2
    if size == (1280, 900):
        assert legend["x"] > before["x"] + before["width"]


@pytest.mark.parametrize("size", [(1280, 900), PHONE])
def test_the_player_hides_nothing_that_has_the_focus(visit: Visit, size: tuple[int, int]) -> None:
    tab = visit([run_of(4, 4)], at="#slot=1", size=size)
    save, player = box_of(tab, ".save-png"), box_of(tab, "#player")
    assert save["y"] + save["height"] > player["y"]
    tab.focus(".save-png")
    save, player = box_of(tab, ".save-png"), box_of(tab, "#player")
    assert save["y"] + save["height"] <= player["y"]


def test_the_figure_follows_the_window(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], at="#slot=1")
    for size in ((1600, 1000), (1000, 700), (1280, 900)):
        tab.set_viewport_size({"width": size[0], "height": size[1]})
        tab.wait_for_function("(high) => window.popsnet.window === high", arg=size[1])
        network, player = box_of(tab, "svg.network"), box_of(tab, "#player")
        assert network["y"] + network["height"] < player["y"]
        assert tab.locator(".slot .signal").count() > 0


def test_the_figure_stays_where_it_is_from_slot_to_slot(visit: Visit) -> None:
    tab = visit(two(), at="#slot=0")
    places = {(box["y"], box["height"]) for box in [box_of(tab, "svg.network")]}
    for _ in range(5):
        tab.click("#forward")
        box = box_of(tab, "svg.network")
        places.add((box["y"], box["height"]))
    tab.fill("#packet", "3")
    tab.press("#packet", "Enter")
    box = box_of(tab, "svg.network")
    places.add((box["y"], box["height"]))
    assert len(places) == 1


def test_a_matrix_uses_the_room(visit: Visit) -> None:
    tab = visit([run_of(16, 16)], at="#slot=1")
    cells, player = box_of(tab, "canvas.cells"), box_of(tab, "#player")
    assert cells["height"] > 520
    assert cells["y"] + cells["height"] < player["y"]
    tab = visit([run_of(1, 64, "direct")], at="#slot=1&view=matrix")
    cells = box_of(tab, "canvas.cells")
    assert cells["width"] == cells["height"] > 510


def test_on_a_phone_the_network_comes_first(visit: Visit) -> None:
    tab = visit(two(), at="#slot=1", size=PHONE)
    network, player = box_of(tab, "svg.network"), box_of(tab, "#player")
    assert network["y"] < 150
    assert network["y"] + network["height"] < player["y"]
    assert network["x"] >= 0
    assert network["x"] + network["width"] <= PHONE[0]
    for name in ("#score", "#guide", ".tools", ".about", ".charts"):
        assert box_of(tab, name)["y"] > network["y"] + network["height"], name
    assert player["height"] < 100
    assert tab.evaluate(SMALLEST, "svg.network text") >= 7
    assert tab.evaluate(SMALLEST, "svg.network .chip text, svg.network .number") >= 9


def test_a_phone_shows_one_run_at_a_time(visit: Visit) -> None:
    tab = visit(two(), at="#slot=1", size=PHONE)
    tabs = tab.get_by_role("group", name="Run to show").get_by_role("button")
    assert tabs.all_inner_texts() == ["mei-rizzi (published)", "relay (S)"]
    for place in (1, 0):
        tabs.nth(place).click()
        names = tab.locator(".run:visible").evaluate_all("(runs) => runs.map((r) => r.ariaLabel)")
        assert names == [tabs.nth(place).inner_text()]
        assert [button.get_attribute("aria-pressed") for button in tabs.all()] == [
            str(other == place).lower() for other in (0, 1)
        ]
        assert tab.evaluate("location.hash") == ("#slot=1&run=2" if place else "#slot=1")
    tab.set_viewport_size({"width": 1280, "height": 900})
    assert tab.locator(".run:visible").count() == 2
    assert not tab.is_visible("#tabs")


def test_a_finger_hits_every_control(visit: Visit) -> None:
    tab = visit(two(), at="#slot=1", size=PHONE)
    assert not tab.is_visible("#slot")
    tab.click("#more")
    assert tab.get_attribute("#more", "aria-expanded") == "true"
    controls = tab.locator("button:visible, select:visible, input[type=number]:visible, .button")
    boxes = {control.inner_text(): control.bounding_box() for control in controls.all()}
    assert len(boxes) > 9
    for name, box in boxes.items():
        assert box is not None
        assert (box["width"] >= FINGER, box["height"] >= FINGER) == (True, True), name
    label = box_of(tab, "label:has(#as-matrix)")
    assert label["height"] >= FINGER
    tab.click("#more")
    assert not tab.is_visible("#slot")


def test_on_a_phone_no_table_is_cut(visit: Visit) -> None:
    runs = [*two(), run_of(4, 4, "direct")]
    tab = visit(runs, at="#slot=1", size=PHONE)
    assert not tab.evaluate(CUT)
    across = tab.locator(".score th[scope=col]").all_inner_texts()
    assert across == ["After slot 1", *(run.name for run in runs)]
    wide = visit(runs, at="#slot=1")
    cells = [row.locator("td").all_inner_texts() for row in wide.locator(".score tbody tr").all()]
    tab = visit(runs, at="#slot=1", size=PHONE)
    turned = [row.locator("td").all_inner_texts() for row in tab.locator(".score tbody tr").all()]
    assert turned == [list(column) for column in zip(*cells, strict=True)]


NETWORKS = [(2, 2), (4, 4), (8, 8), (16, 4), (4, 16), (16, 16), (64, 64), (1, 16), (64, 1)]


def any_run(d: int, g: int) -> Recording:
    return run_of(d, g) if d >= g > 1 else run_of(d, g, "relay")


def assert_inside(tab: Tab, name: str, bottom: float, place: int = 0) -> None:
    """All of it is seen without scrolling, above that height."""
    box = box_of(tab, name, place)
    size = tab.viewport_size
    assert size is not None
    assert box["width"] > 0
    assert box["height"] > 0
    assert box["x"] >= 0
    assert box["y"] >= 0
    assert box["x"] + box["width"] <= size["width"], name
    assert box["y"] + box["height"] <= bottom, name


@pytest.mark.parametrize(("d", "g"), NETWORKS, ids=str)
def test_every_network_fits_the_window_with_its_sentence(visit: Visit, d: int, g: int) -> None:
    for wide, high in ((1280, 800), (1920, 1080)):
        tab = visit([any_run(d, g)], at="#slot=1", size=(wide, high))
        for matrix in (False, True):
            if matrix and d * g <= 64:
                tab.check("#as-matrix")
            slots = int(tab.get_attribute("#slot", "max") or 0)
            for slot in sorted({0, 1, 2, slots // 2, slots}):
                tab.evaluate("(slot) => window.popsnet.player.jump(slot)", slot)
                if slot == 2:
                    tab.evaluate("window.popsnet.follow(0)")
                player = box_of(tab, "#player")
                assert player["y"] + player["height"] == pytest.approx(high, abs=1)
                for name in (".now", ".figure", ".figure > *"):
                    assert_inside(tab, name, player["y"])
                assert tab.evaluate("document.documentElement.scrollWidth") == wide
                assert tab.get_attribute(".figure", "tabindex") is None  # it does not scroll


@pytest.mark.parametrize(("d", "g", "least"), [(4, 4, 11), (8, 8, 9), (16, 4, 9), (4, 16, 7.5)])
def test_numbers_in_a_fitted_figure_can_be_read(visit: Visit, d: int, g: int, least: float) -> None:
    tab = visit([any_run(d, g)], at="#slot=1", size=(1280, 800))
    assert tab.evaluate(SMALLEST, "svg.network .chip text, svg.network .number") >= least


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)])
@pytest.mark.parametrize(("d", "g"), [(4, 4), (8, 8), (64, 64)], ids=str)
def test_two_runs_and_their_sentences_fit_the_window(
    visit: Visit, d: int, g: int, size: tuple[int, int]
) -> None:
    tab = visit([run_of(d, g), run_of(d, g, "relay", variant="S")], at="#slot=2", size=size)
    player = box_of(tab, "#player")
    for place in (0, 1):
        for name in (".now", ".figure", ".figure > *"):
            assert_inside(tab, name, player["y"], place)
    assert tab.evaluate("document.documentElement.scrollWidth") == size[0]


TEXTS = """() => Math.min(...[...document.querySelectorAll("body *")]
  .filter((one) => !one.closest("svg") && one.getClientRects().length > 0 &&
    [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== ""))
  .map((one) => parseFloat(getComputedStyle(one).fontSize)))"""
"""Pixels of the smallest text that is not in a figure."""


@pytest.mark.parametrize(("d", "g"), [(2, 2), (8, 8), (4, 16), (64, 64)], ids=str)
def test_a_phone_shows_the_whole_figure_and_enlarges_it(visit: Visit, d: int, g: int) -> None:
    tab = visit([any_run(d, g)], at="#slot=1", size=(400, 800))
    assert tab.evaluate(TEXTS) >= 11
    for name in (".figure > *", ".slot-words"):
        assert_inside(tab, name, box_of(tab, "#player")["y"])
    before = box_of(tab, ".figure > *")
    tab.click(".figure", position={"x": 4, "y": 4})
    figure = box_of(tab, ".figure > *")
    assert figure["width"] > before["width"] * 1.4
    assert tab.get_attribute(".figure", "tabindex") == "0"  # it scrolls, and the page does not
    assert tab.evaluate("document.documentElement.scrollWidth") == 400
    assert_inside(tab, ".slot-words", box_of(tab, "#player")["y"])
    if d * g <= 64:
        assert tab.evaluate(SMALLEST, "svg.network .chip text, svg.network .number") >= 11
    tab.click(".figure", position={"x": 4, "y": 4})
    assert box_of(tab, ".figure > *") == before


def test_a_tap_on_a_packet_follows_it(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], at="#slot=1", size=(400, 800))
    tab.click(".slot .chip[data-packet='6'] >> nth=0")
    assert tab.input_value("#packet") == "6"
    assert not tab.evaluate("window.popsnet.enlarged")


def test_controls_are_in_groups_with_names(visit: Visit) -> None:
    tab = visit(two())
    for name, controls in {
        "Move through the slots": 6, "Slot and speed": 2, "Packet": 1, "View": 2, "Page": 5,
        "Save the figure of relay (S)": 2,
    }.items():  # fmt: skip
        group = tab.get_by_role("group", name=name, exact=True)
        assert group.locator("button:visible, input, select").count() == controls, name
    assert tab.get_by_role("button", name="Next collision").count() == 1
