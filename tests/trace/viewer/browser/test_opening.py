"""A page opens on traffic and plays once, unless the reader, or the system, does not want it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from popsnet.trace.viewer import Page, Recording

from .conftest import Visit
from .replay import Replay
from .runs import lines_of, nothing, of_lines, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Frame
    from playwright.sync_api import Page as Tab

HIDDEN = """(hidden) => {
  Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def slot_of(tab: Tab | Frame) -> int:
    return int(tab.input_value("#slot"))


def is_playing(tab: Tab | Frame) -> bool:
    return tab.get_attribute("#play", "aria-label") == "Pause"


def wait_until_it_plays(tab: Tab | Frame) -> None:
    tab.wait_for_selector("#play.playing")


def test_it_plays_once_from_the_first_traffic_to_the_end(visit: Visit) -> None:
    """And a screen reader is left in peace until the reader does something."""
    tab = visit([run_of(4, 4)], at="", stopped=True)
    wait_until_it_plays(tab)
    began = slot_of(tab)
    assert began in (1, 2)  # time jumps once, when it is stopped
    assert tab.get_attribute(".slot-words", "aria-live") == "off"
    tab.clock.run_for(2_100)
    assert slot_of(tab) == began + 2
    last = Replay(run_of(4, 4).text).slots
    tab.clock.run_for(1_050 * last)
    assert slot_of(tab) == last
    assert not is_playing(tab)
    assert tab.evaluate("location.hash") == ""
    tab.clock.run_for(5_000)
    assert slot_of(tab) == last
    tab.click("#back")
    assert tab.get_attribute(".slot-words", "aria-live") == "polite"


def repeated(slots: int) -> Recording:
    """A trace of this many slots, whose first is that of a run."""
    lines = lines_of(run_of(2, 2))
    idle = {**lines[1], "sends": [], "listens": [], "keeps": [], "drops": []}
    later = [{**idle, "slot": number} for number in range(2, slots + 1)]
    return of_lines([*lines[:2], *later])


@pytest.mark.parametrize(
    ("slots", "speed"), [(20, "1"), (21, "2"), (160, "8"), (161, "16"), (900, "32")]
)
def test_a_long_run_plays_faster(visit: Visit, slots: int, speed: str) -> None:
    tab = visit([repeated(slots)], at="")
    wait_until_it_plays(tab)
    assert tab.input_value("#speed") == speed


def test_slots_without_traffic_are_left_out(visit: Visit) -> None:
    lines = lines_of(run_of(2, 2))
    empty = {**lines[1], "sends": [], "listens": [], "keeps": [], "drops": []}
    tab = visit([of_lines([lines[0], empty, empty, *lines[1:]])], at="", still=True)
    assert slot_of(tab) == 3
    assert slot_of(visit([nothing()], at="")) == 0


def test_with_reduced_motion_it_stays_still(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], at="", still=True, stopped=True)
    assert tab.locator(".slot .signal").count() > 0
    tab.clock.run_for(3_000)
    assert slot_of(tab) == 1
    assert not is_playing(tab)


STOPS: dict[str, Callable[[Tab], None]] = {
    "a click on the play button": lambda tab: tab.click("#play"),
    "space": lambda tab: tab.keyboard.press(" "),
    "a click on the page": lambda tab: tab.click("h2"),
    "tab": lambda tab: tab.keyboard.press("Tab"),
    "the guide": lambda tab: tab.click("#guide summary"),
}


def test_any_interaction_stops_it(visit: Visit) -> None:
    for name, act in STOPS.items():
        tab = visit([run_of(4, 4)], at="")
        wait_until_it_plays(tab)
        act(tab)
        assert not is_playing(tab), name
        assert tab.evaluate("location.hash") == f"#slot={slot_of(tab)}"
        tab.click("#play")  # and from then on it plays when it is asked to
        tab.click("h2")
        assert is_playing(tab)


def test_scrolling_does_not_stop_it(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], at="")
    wait_until_it_plays(tab)
    tab.mouse.move(300, 300)
    tab.mouse.wheel(0, 40)
    assert is_playing(tab)


def test_in_a_background_tab_it_waits(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], at="", stopped=True)
    wait_until_it_plays(tab)
    tab.evaluate(HIDDEN, True)
    assert not is_playing(tab)
    slot = slot_of(tab)
    tab.clock.run_for(3_000)
    assert slot_of(tab) == slot
    tab.evaluate(HIDDEN, False)
    assert is_playing(tab)
    assert slot_of(tab) == slot  # from where it was
    tab.clock.run_for(1_100)
    assert slot_of(tab) == slot + 1


def test_a_trace_that_the_reader_opens_does_not_play(visit: Visit) -> None:
    tab = visit([run_of(2, 2)], at="")
    wait_until_it_plays(tab)
    text = run_of(4, 4).text.encode()
    file = {"name": "other.jsonl", "mimeType": "text/plain", "buffer": text}
    tab.set_input_files("#open", file)  # type: ignore[arg-type]
    tab.wait_for_function("() => document.querySelector('h2').textContent.includes('other.jsonl')")
    assert slot_of(tab) == 1
    assert not is_playing(tab)
    assert tab.is_disabled("#link")  # no address leads to it


def test_in_a_notebook_only_the_page_on_the_screen_plays(visit: Visit) -> None:
    page = Page.of([run_of(4, 4)])._repr_html_()
    gap = '<div style="height: 900px"></div>'
    tab = visit(f"<!DOCTYPE html><title>notebook</title>{page}{gap}{page}", at="")
    first, second = tab.frames[1:]
    for frame in (first, second):
        frame.wait_for_selector("html[data-ready]", state="attached")
    wait_until_it_plays(first)
    assert not is_playing(second)
    assert slot_of(second) == 1
    tab.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    wait_until_it_plays(second)
    first.wait_for_selector("#play:not(.playing)")
    assert not first.is_visible("#link")


@pytest.mark.parametrize("at", ["#slot=2", "#follow=3", "#view=matrix"])
def test_a_link_to_a_moment_does_not_play(visit: Visit, at: str) -> None:
    tab = visit([run_of(4, 4)], at=at, stopped=True)
    tab.clock.run_for(3_000)
    assert slot_of(tab) == (2 if at == "#slot=2" else 1)
    assert not is_playing(tab)
