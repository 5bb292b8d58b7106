"""A slot is saved as SVG or PNG: the same figure, complete in one file."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from popsnet.trace.viewer import Recording

from .conftest import Visit
from .replay import Replay
from .runs import run_of
from .test_hostile import trace

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

SVG = "{http://www.w3.org/2000/svg}"
GROUNDS = {"light": "#ffffff", "dark": "#14171a"}
KINDS = ("circle", "line", "rect", "path", "text")

ON_SCREEN = """(kinds) => Object.fromEntries(kinds.map((kind) =>
  [kind, document.querySelectorAll(`svg.network ${kind}`).length]))"""


def saved(tab: Tab, kind: str) -> tuple[str, bytes]:
    """The name and content of the file that a click on the button makes."""
    with tab.expect_download() as download:
        tab.click(f".run:visible .save-{kind}")
    return download.value.suggested_filename, Path(download.value.path()).read_bytes()


def texts(root: ET.Element) -> str:
    return " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_svg_is_the_figure_on_the_screen(visit: Visit, scheme: str) -> None:
    tab = visit([run_of(4, 4)], at="#slot=1&follow=6", scheme=scheme)
    name, content = saved(tab, "svg")
    assert name == "pops-4-4-mei-rizzi-published-slot-1.svg"
    root = ET.fromstring(content)
    (network,) = (svg for svg in root.iter(f"{SVG}svg") if svg.get("class", "").startswith("net"))
    on_screen = tab.evaluate(ON_SCREEN, list(KINDS))
    assert {kind: len(list(network.iter(SVG + kind))) for kind in KINDS} == on_screen
    assert on_screen["line"] > 20
    assert root.find(f"{SVG}rect").get("fill") == GROUNDS[scheme]  # type: ignore[union-attr]
    assert "POPS(4, 4), mei-rizzi (published): packet 6 is followed" in texts(root)
    assert texts(root).count("lot 1,") == 1
    assert "the packet that is followed, and its messages" in texts(root)
    (thick,) = (
        line for line in network.iter(f"{SVG}line") if "followed" in line.get("class", "").split()
    )
    assert thick.get("stroke-width") == "4px"
    assert Replay(run_of(4, 4).text).words(1) in texts(root)
    assert "a collision: two or more messages on one coupler" in texts(root)
    assert "delivered" not in texts(root)  # the legend has what is in the figure
    for element in network.iter():
        if element.tag.removeprefix(SVG) in ("line", "rect", "circle"):
            assert element.get("stroke", "none") != "none" or element.get("fill"), element.attrib
        assert "var(" not in "".join(element.attrib.values())
        assert element.get("style") is None


def test_the_svg_looks_the_same_without_the_page(visit: Visit) -> None:
    """Colours of the lines are those of the screen."""
    tab = visit([run_of(4, 4)], at="#slot=1", scheme="dark")
    look = "(name) => getComputedStyle(document.querySelector(name))"
    stroke = {
        name: tab.evaluate(f"(name) => ({look})(name).stroke", f".slot .{name}")
        for name in ("signal.collided", "signal.packet:not(.collided)", "cross")
    }
    root = ET.fromstring(saved(tab, "svg")[1])
    lines = [(element.get("class", "").split(), element.get("stroke")) for element in root.iter()]
    assert {s for c, s in lines if "collided" in c and "signal" in c} == {stroke["signal.collided"]}
    assert {s for c, s in lines if "signal" in c and "collided" not in c} == {
        stroke["signal.packet:not(.collided)"]
    }
    assert {s for c, s in lines if "cross" in c} == {stroke["cross"]}
    assert "follow" not in texts(root)
    assert len(set(stroke.values())) == 2


def test_the_png_is_twice_as_large(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], at="#slot=1")
    name, content = saved(tab, "png")
    assert name == "pops-4-4-mei-rizzi-published-slot-1.png"
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    root = ET.fromstring(saved(tab, "svg")[1])
    size = [2 * int(root.get(side, "0")) for side in ("width", "height")]
    assert list(struct.unpack(">II", content[16:24])) == size
    assert len(content) > 20_000  # something is on it


def test_saving_stops_the_player_and_draws_the_slot_to_its_end(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], at="#slot=1", stopped=True)
    whole = len(list(ET.fromstring(saved(tab, "svg")[1]).iter()))
    tab.click("#first")
    tab.click("#play")
    tab.clock.run_for(300)
    assert len(list(ET.fromstring(saved(tab, "svg")[1]).iter())) == whole
    assert tab.get_attribute("#play", "aria-label") == "Play"


def test_the_matrix_is_saved_too(visit: Visit) -> None:
    tab = visit([run_of(16, 16)], at="#slot=1")
    state = Replay(run_of(16, 16).text).states[1]
    root = ET.fromstring(saved(tab, "svg")[1])
    for name, cells in (("used", state.used()), ("collided", state.collided())):
        (path,) = (path for path in root.iter(f"{SVG}path") if path.get("class") == name)
        places = re.findall(r"M([\d.]+),([\d.]+)h", path.get("d", ""))
        assert len(places) == len(cells) > 10
        (side,) = {
            float(cell.get("width", "0")) / 16
            for cell in root.iter()
            if cell.get("class") == "idle"
        }
        found = {int(float(y) / side) * 16 + int(float(x) / side) for x, y in places}
        assert found == set(cells)
    assert saved(tab, "png")[1].startswith(b"\x89PNG")


def test_of_runs_side_by_side_each_is_saved(visit: Visit) -> None:
    tab = visit([run_of(4, 4), run_of(4, 4, "relay", variant="S")], at="#slot=14")
    for place, name in enumerate(("mei-rizzi-published-slot-14", "relay-s-slot-13")):
        with tab.expect_download() as download:
            tab.locator(".save-svg").nth(place).click()
        assert download.value.suggested_filename == f"pops-4-4-{name}.svg"
        ET.parse(download.value.path())


def test_a_hostile_name_is_text_in_the_file(visit: Visit) -> None:
    text = "<script>&\u0000\ufffe]]>\ud800\u202e \"'"
    tab = visit([Recording(text, trace(text, "packet"))], at="#slot=1")
    name, content = saved(tab, "svg")
    assert re.fullmatch(r"[a-z0-9-]+\.svg", name)
    root = ET.fromstring(content)
    assert "<script>&\ufffd\ufffd]]>" in texts(root)
    assert not list(root.iter(f"{SVG}script"))
    assert saved(tab, "png")[1].startswith(b"\x89PNG")
