"""The page by keyboard, in words, with contrast, and on small screens."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from .conftest import Visit
from .runs import LOSING, run_of

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect
    from playwright.sync_api import Page as Tab

CONTROLS = [
    "Copy link", "Open a trace…", "Full screen", "Keys", "Theme", "Save as SVG", "Save as PNG",
    "Slot", "Go to the start", "Back one slot", "Play", "Forward one slot", "Go to the end",
    "Next collision", "Slot", "Speed", "Follow packet", "Show as matrix", "Enlarge",
]  # fmt: skip

TEXT, GRAPHICS = 4.5, 3.0
"""The ratios that WCAG asks for, level AA."""

COLOURS = """() => {
  const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 })
    .getContext("2d", { willReadFrequently: true });
  const style = getComputedStyle(document.documentElement);
  const seen = {};
  const read = (name, colour) => {
    pen.fillStyle = "#123456";
    pen.fillStyle = colour;
    pen.clearRect(0, 0, 1, 1);
    pen.fillRect(0, 0, 1, 1);
    seen[name] = [...pen.getImageData(0, 0, 1, 1).data];
  };
  for (const name of ["page", "card", "text", "quiet", "message", "hit", "good", "bad-ground",
    "focus", "cell-idle", "cell-used", "cell-collided", "cell-cross"]) {
    read(name, style.getPropertyValue(`--${name}`).trim());
  }
  return seen;
}"""

STYLES = """(pairs) => pairs.map(([selector, property]) =>
  [...document.querySelectorAll(selector)].map((one) => getComputedStyle(one)[property]))"""


def luminance(colour: list[float]) -> float:
    parts = [value / 255 for value in colour[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(front: list[float], back: list[float]) -> float:
    low, high = sorted((luminance(front), luminance(back)))
    return (high + 0.05) / (low + 0.05)


def rgb(text: str) -> list[float]:
    assert text.startswith("rgb("), text
    return [float(number) for number in re.findall(r"[\d.]+", text)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_can_be_told_apart(visit: Visit, scheme: str) -> None:
    tab = visit([run_of(4, 4)], scheme=scheme)
    seen: dict[str, list[float]] = tab.evaluate(COLOURS)
    for text in ("text", "quiet", "message", "hit", "good"):
        for ground in ("page", "card"):
            assert contrast(seen[text], seen[ground]) >= TEXT, (text, ground)
    assert contrast(seen["text"], seen["bad-ground"]) >= TEXT
    assert contrast(seen["hit"], seen["bad-ground"]) >= GRAPHICS  # the cross in its box
    assert contrast(seen["page"], seen["message"]) >= TEXT  # the sign on the button that plays
    assert contrast(seen["focus"], seen["page"]) >= GRAPHICS
    assert contrast(seen["focus"], seen["card"]) >= GRAPHICS
    assert contrast(seen["cell-used"], seen["cell-idle"]) >= GRAPHICS
    assert contrast(seen["cell-collided"], seen["cell-used"]) >= GRAPHICS
    assert contrast(seen["cell-cross"], seen["cell-collided"]) >= GRAPHICS


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_packets_and_edges_can_be_read(visit: Visit, scheme: str) -> None:
    """Every group has a colour: numbers stand out from it, and lines of it from the page."""
    tab = visit([run_of(1, 64, "direct")], scheme=scheme)
    tab.click("#last")
    page = tab.evaluate(COLOURS)["page"]
    chips, texts = tab.evaluate(
        STYLES, [[".slot .chip rect", "fill"], [".slot .chip text", "fill"]]
    )
    assert len(set(chips)) == 64
    for ground, text in zip(chips, texts, strict=True):
        assert contrast(rgb(ground), rgb(text)) >= TEXT
    lines = set()
    for slot in (8, 24, 40):
        tab.fill("#slot", str(slot))
        tab.press("#slot", "Enter")
        (strokes,) = tab.evaluate(STYLES, [[".edge", "stroke"]])
        lines |= set(strokes)
    assert len(lines) > 20
    assert min(contrast(rgb(line), page) for line in lines) >= GRAPHICS


def test_every_control_has_a_name_and_the_tabulator_reaches_it(visit: Visit) -> None:
    tab = visit([run_of(4, 4)])
    tab.click("#forward")
    tab.evaluate("scrollTo(0, 0)")
    tab.click("h1")  # to begin from the top
    order = []
    for _ in range(len(CONTROLS) + 4):
        tab.keyboard.press("Tab")
        found: dict[str, Any] = tab.evaluate(
            """() => {
              const one = document.activeElement;
              const style = getComputedStyle(one.closest(".button:focus-within") ?? one);
              return {
                tag: one.tagName,
                name: one.ariaLabel ?? one.labels?.[0]?.innerText.split("\\n")[0].trim()
                  ?? one.innerText.trim(),
                outline: style.outlineStyle === "solid" ? parseFloat(style.outlineWidth) : 0,
              };
            }"""
        )
        if found["tag"] == "BODY":
            break
        if found["tag"] != "SUMMARY":
            order.append(found["name"])
        assert found["outline"] >= 2, found
    assert [re.sub(r"\s*(of \d+)?$", "", name) for name in order] == CONTROLS


def test_the_accessibility_tree_has_no_nameless_control(visit: Visit) -> None:
    """As a screen reader hears it."""
    tab = visit([run_of(4, 4), run_of(4, 4, "relay", variant="S")])
    tab.fill("#packet", "3")
    tab.press("#packet", "Enter")
    tree = tab.locator("body").aria_snapshot()
    roles = "button|checkbox|combobox|slider|spinbutton|img|article"
    named = re.findall(rf"- (?:{roles})\b(.*)", tree)
    assert len(named) > 30
    assert all(re.match(r' ".+"', rest) for rest in named), named
    for role, name in (("slider", "Slot"), ("spinbutton", "Slot"), ("spinbutton", "Follow packet")):
        assert tab.get_by_role(role, name=name).count() == 1  # type: ignore[arg-type]
    for name in ("mei-rizzi (published)", "relay (S)"):
        assert tab.get_by_role("article", name=name).count() == 1
    assert tab.get_by_role("region", name="Player").count() == 1


def test_what_happens_is_said_aloud(visit: Visit) -> None:
    tab = visit([run_of(4, 4)])
    assert tab.get_attribute(".slot-words", "aria-live") == "polite"
    assert tab.get_attribute("#problem", "role") == "alert"
    assert tab.get_attribute("#notice", "role") == "status"
    tab.check("#as-matrix")
    assert tab.get_attribute(".cell-words", "aria-live") == "polite"
    assert tab.get_attribute("canvas", "tabindex") == "0"
    assert "Arrow keys" in (tab.get_attribute("canvas", "aria-label") or "")
    assert tab.get_attribute("html", "lang") == "en"


SIZES = [(390, 844), (1024, 768), (1280, 900), (1920, 1080)]


def test_the_page_is_never_wider_than_the_screen(visit: Visit) -> None:
    """Whatever becomes of its size, as when a phone is turned."""
    tab = visit([run_of(4, 4), run_of(4, 4, "relay", variant="S")])
    for size in SIZES:
        assert_it_fits(tab, *size)
    tab.fill("#packet", "3")
    tab.press("#packet", "Enter")
    tab.check("#as-matrix")
    for size in SIZES:
        assert_it_fits(tab, *size)


def test_large_networks_fit_too(visit: Visit) -> None:
    for run in (run_of(16, 16), run_of(1, 64, "direct"), run_of(3, 2, **LOSING)):
        tab = visit([run], size=SIZES[0])
        for size in SIZES[:2]:
            assert_it_fits(tab, *size)


def test_on_paper_there_is_no_player(visit: Visit) -> None:
    tab = visit([run_of(4, 4)])
    tab.click("#forward")
    assert tab.is_visible("#player")
    assert tab.is_visible(".tools")
    tab.emulate_media(media="print")
    assert not tab.is_visible("#player")
    assert not tab.is_visible(".tools")
    assert tab.is_visible("svg.network")


def test_what_belongs_together_stands_together(visit: Visit) -> None:
    """One run has its sentence, its charts, and the story between them, beside the figure."""
    tab = visit([run_of(4, 4)])
    figure, now, charts = (box_of(tab, name) for name in (".figure", ".now", ".charts"))
    assert now["x"] == charts["x"] >= figure["x"] + figure["width"]
    assert now["y"] == pytest.approx(figure["y"], abs=16)
    assert charts["y"] >= now["y"] + now["height"]
    tab.fill("#packet", "3")
    tab.press("#packet", "Enter")
    now, story, charts = (box_of(tab, name) for name in (".now", ".story", ".charts"))
    assert story["x"] == charts["x"]
    assert story["y"] >= now["y"] + now["height"]
    assert charts["y"] >= story["y"] + story["height"]


def box_of(tab: Tab, name: str) -> FloatRect:
    box = tab.locator(name).first.bounding_box()
    assert box is not None
    return box


def assert_it_fits(tab: Tab, wide: int, high: int) -> None:
    tab.set_viewport_size({"width": wide, "height": high})
    tab.click("#collision")
    assert tab.evaluate("document.documentElement.scrollWidth") == wide
    player = tab.locator("#player").bounding_box()
    assert player is not None
    assert player["y"] + player["height"] == pytest.approx(high, abs=1)
    assert player["height"] < high / 4
    for control in tab.locator(
        "#player button:visible, #player input:visible, #player select:visible"
    ).all():
        box = control.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= wide
    tab.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    for part in tab.locator(".run:visible, #score:visible, #guide, .tools").all():
        box = part.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= player["y"]  # nothing stays hidden below the player
