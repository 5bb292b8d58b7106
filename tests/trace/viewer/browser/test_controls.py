"""Every control and every key of the player does what it says."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING

import pytest

from .conftest import Visit
from .replay import Replay
from .runs import run_of

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

LISTED = {
    "space", "k", "←", "→", "Home", "End", "c", "j", "+", "−", "p", "Esc", "m", "z", "f", "?",
}  # fmt: skip


@pytest.fixture
def replay() -> Replay:
    return Replay(run_of(4, 4).text)


@pytest.fixture
def tab(visit: Visit) -> Tab:
    return visit([run_of(4, 4)])


def slot_of(tab: Tab) -> int:
    """The slot that is shown; every control that tells it agrees."""
    slot = int(tab.input_value("#slot"))
    assert tab.input_value("#scrub") == str(slot)
    name = tab.inner_text(".slot-words b")
    assert name == "Start." if slot == 0 else name.startswith(f"Slot {slot}, ")
    assert f"slot {slot} of" in (tab.get_attribute("#scrub", "aria-valuetext") or "")
    return slot


def is_playing(tab: Tab) -> bool:
    told = tab.get_attribute("#play", "aria-label")
    assert told in ("Play", "Pause")
    return told == "Pause"


def collisions(replay: Replay) -> list[int]:
    return [t for t, state in enumerate(replay.states) if state.collided()]


def test_buttons_step_and_stop_at_the_ends(tab: Tab, replay: Replay) -> None:
    assert slot_of(tab) == 0
    assert tab.is_disabled("#first")
    assert tab.is_disabled("#back")
    tab.click("#forward")
    tab.click("#forward")
    assert slot_of(tab) == 2
    tab.click("#back")
    assert slot_of(tab) == 1
    tab.click("#last")
    assert slot_of(tab) == replay.slots
    assert tab.is_disabled("#forward")
    assert tab.is_disabled("#last")
    assert tab.inner_text("#of") == f"of {replay.slots}"
    tab.click("#first")
    assert slot_of(tab) == 0


def test_it_plays_and_pauses(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], stopped=True)
    tab.click("#play")
    assert is_playing(tab)
    assert slot_of(tab) == 1
    tab.clock.run_for(2_100)
    assert slot_of(tab) == 3
    tab.click("#play")
    assert not is_playing(tab)
    tab.clock.run_for(5_000)
    assert slot_of(tab) == 3


def test_it_stops_at_the_end_and_begins_again(visit: Visit, replay: Replay) -> None:
    tab = visit([run_of(4, 4)], stopped=True)
    tab.fill("#slot", str(replay.slots - 1))
    tab.press("#slot", "Enter")
    tab.click("#play")
    assert slot_of(tab) == replay.slots
    assert is_playing(tab)
    tab.clock.run_for(1_100)
    assert slot_of(tab) == replay.slots
    assert not is_playing(tab)
    tab.click("#play")
    assert slot_of(tab) == 1
    assert is_playing(tab)


def test_a_jump_pauses(tab: Tab) -> None:
    for control in ("#forward", "#last", "#back", "#first", "#collision"):
        tab.click("#play")
        assert is_playing(tab)
        tab.click(control)
        assert not is_playing(tab)


def test_the_next_collision_is_next_and_the_first_comes_after_the_last(
    tab: Tab, replay: Replay
) -> None:
    seen = []
    slots = collisions(replay)
    for _ in (*slots, "again"):
        tab.click("#collision")
        seen.append(slot_of(tab))
        assert tab.locator(".slot .coupler.collided").count() > 0
        round_again = "That was the last collision. This is the first again."
        assert tab.inner_text("#notice") == (round_again if len(seen) > len(slots) else "")
    assert seen == [*slots, slots[0]]
    tab.click("#collision")
    assert tab.inner_text("#notice") == ""
    tab.click("#last")
    tab.click("#collision")
    assert slot_of(tab) == slots[0]


def test_where_nothing_collides_it_says_so(visit: Visit) -> None:
    tab = visit([run_of(4, 4, "direct")])
    tab.click("#forward")
    tab.click("#collision")
    assert slot_of(tab) == 1
    assert tab.inner_text("#notice") == "There is no collision in any slot."


def test_a_slot_is_asked_for_by_number(tab: Tab, replay: Replay) -> None:
    last = replay.slots
    for written, slot in {"7": 7, "0": 0, "99999": last, "-3": 0, "2.4": 2, "": 0}.items():
        tab.fill("#slot", written)
        tab.press("#slot", "Enter")
        assert slot_of(tab) == slot


def test_the_range_is_dragged(tab: Tab, replay: Replay) -> None:
    assert tab.get_attribute("#scrub", "max") == str(replay.slots)
    box = tab.locator("#scrub").bounding_box()
    assert box is not None
    tab.mouse.click(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
    assert slot_of(tab) == replay.slots
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert abs(slot_of(tab) - replay.slots / 2) <= 1
    tab.focus("#scrub")
    before = slot_of(tab)
    tab.keyboard.press("ArrowRight")
    assert slot_of(tab) == before + 1


def test_a_click_on_the_timeline_jumps(tab: Tab, replay: Replay) -> None:
    box = tab.locator(".timeline").bounding_box()
    assert box is not None
    for slot in (1, 4, replay.slots):
        at = {"x": box["width"] * (slot - 0.5) / replay.slots, "y": 20.0}
        tab.click(".timeline", position=at)  # type: ignore[arg-type]
        assert slot_of(tab) == slot
        cursor = tab.locator(".timeline .cursor").bounding_box()
        assert cursor is not None
        assert cursor["x"] <= box["x"] + at["x"] <= cursor["x"] + cursor["width"]


def test_the_charts_are_those_of_the_run(tab: Tab, replay: Replay) -> None:
    """A bar for every slot with a delivery, and one for every slot with a collision."""
    for name, slots in (
        ("arrivals", [t for t, state in enumerate(replay.states) if state.arrivals]),
        ("collisions", collisions(replay)),
    ):
        path = tab.get_attribute(f".timeline .{name}", "d") or ""
        starts = [float(x) for x in re.findall(r"M([\d.]+),", path)]
        assert [int(x / 640 * replay.slots) + 1 for x in starts] == slots
    line = tab.get_attribute(".progress .delivered", "d") or ""
    heights = [float(y) for y in re.findall(r"(?:M[\d.]+,|V)([\d.]+)", line)]
    low, high = 150 - 26, 12
    assert [round((low - y) / (low - high) * replay.packets) for y in heights] == [
        len(state.home) for state in replay.states
    ]


def test_the_speed_is_slots_a_second(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], stopped=True)
    assert tab.input_value("#speed") == "1"
    speeds = [0.25, 0.5, 1, 2, 4, 8, 16, 32]
    assert tab.locator("#speed option").all_inner_texts() == [
        "0.25 slots/s", "0.5 slots/s", "1 slot/s", "2 slots/s", "4 slots/s", "8 slots/s",
        "16 slots/s", "32 slots/s",
    ]  # fmt: skip
    for speed in speeds[:-2]:
        tab.select_option("#speed", str(speed))
        tab.click("#play")
        for slot in (1, 2):
            tab.clock.run_for(int(900 / speed))
            assert slot_of(tab) == slot
            tab.clock.run_for(int(100 / speed) + 20)  # and a frame
            assert slot_of(tab) == slot + 1
        tab.click("#first")
    for speed in speeds[-2:]:
        tab.select_option("#speed", str(speed))
        tab.click("#play")
        tab.clock.run_for(int(8_000 / speed))
        assert slot_of(tab) in (8, 9)  # a slot lasts a few frames
        tab.click("#first")


def test_network_and_matrix(tab: Tab) -> None:
    ways: list[Callable[[], None]] = [
        lambda: tab.check("#as-matrix"),
        lambda: tab.keyboard.press("m"),
    ]
    for press in ways:
        assert tab.locator("svg.network").count() == 1
        press()
        assert tab.is_checked("#as-matrix")
        assert (tab.locator("svg.network").count(), tab.locator(".matrix").count()) == (0, 1)
        tab.uncheck("#as-matrix")
        tab.evaluate("document.activeElement.blur()")
    assert tab.locator("svg.network").count() == 1


@pytest.mark.parametrize("system", ["light", "dark"])
def test_the_theme_is_the_systems_until_one_is_chosen(visit: Visit, system: str) -> None:
    tab = visit([run_of(4, 4)], scheme=system)
    ground = "getComputedStyle(document.body).backgroundColor"
    grounds = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 26)"}
    assert tab.evaluate(ground) == grounds[system]
    for theme in ("dark", "light"):
        tab.select_option("#theme", theme)
        assert tab.evaluate(ground) == grounds[theme]
        assert tab.evaluate("getComputedStyle(document.documentElement).colorScheme") == theme
    tab.select_option("#theme", "")
    assert tab.evaluate(ground) == grounds[system]


def test_the_keys_dialog_opens_and_closes(tab: Tab) -> None:
    def click(control: str) -> Callable[[], None]:
        return lambda: tab.click(control)

    def press(key: str) -> Callable[[], None]:
        return lambda: tab.keyboard.press(key)

    for opens, closes in product((click("#keys"), press("?")), (click("#close"), press("Escape"))):
        assert not tab.is_visible("#help")
        opens()
        assert tab.is_visible("#help")
        assert tab.evaluate("document.activeElement.id") == "close"
        closes()
        assert not tab.is_visible("#help")
        tab.evaluate("document.activeElement.blur()")


def test_the_player_does_not_hear_keys_while_the_dialog_is_open(tab: Tab) -> None:
    tab.fill("#packet", "3")
    tab.press("#packet", "Enter")
    tab.evaluate("document.activeElement.blur()")
    tab.keyboard.press("?")
    tab.keyboard.press("ArrowRight")
    tab.keyboard.press("Escape")
    assert slot_of(tab) == 0
    assert tab.inner_text(".story h3") == "Packet 3"


def test_every_key_does_what_the_dialog_says(tab: Tab, replay: Replay) -> None:
    tab.click("#keys")
    assert set(tab.locator("#help kbd").all_inner_texts()) == LISTED
    tab.click("#close")
    tab.evaluate("document.activeElement.blur()")
    press = tab.keyboard.press
    focused = "document.activeElement.id"
    for key in (" ", "k"):
        press(key)
        assert is_playing(tab)
        press(key)
        assert not is_playing(tab)
    press("Home")
    assert slot_of(tab) == 0
    press("ArrowRight")
    press("ArrowRight")
    assert slot_of(tab) == 2
    press("ArrowLeft")
    assert slot_of(tab) == 1
    press("End")
    assert slot_of(tab) == replay.slots
    press("c")
    assert slot_of(tab) == collisions(replay)[0]
    for key, speed in (("+", "2"), ("+", "4"), ("-", "2")):
        press(key)
        assert tab.input_value("#speed") == speed
    for _ in range(8):
        press("+")
    assert tab.input_value("#speed") == "32"
    for _ in range(8):
        press("-")
    assert tab.input_value("#speed") == "0.25"
    press("j")
    assert tab.evaluate(focused) == "slot"
    tab.keyboard.type("3")
    press("Enter")
    assert slot_of(tab) == 3
    assert tab.evaluate(focused) == ""
    press("m")
    assert tab.is_checked("#as-matrix")
    press("m")
    assert not tab.is_checked("#as-matrix")
    press("z")
    assert tab.is_checked("#enlarged")
    press("z")
    assert not tab.is_checked("#enlarged")
    for full in (True, False):
        press("f")
        tab.wait_for_selector(f"#full:text-is('{'Leave full' if full else 'Full'} screen')")
        assert tab.evaluate("document.fullscreenElement !== null") == full
    press("p")
    assert tab.evaluate(focused) == "packet"
    tab.keyboard.type("5")
    press("Enter")
    assert tab.inner_text(".story h3") == "Packet 5"
    press("Escape")
    assert not tab.is_visible(".story")
    assert tab.evaluate(focused) == ""
    press("?")
    assert tab.is_visible("#help")


def test_keys_with_control_are_the_browsers(tab: Tab) -> None:
    for key in ("Control+ArrowRight", "Alt+c", "Control+End"):
        tab.keyboard.press(key)
    assert slot_of(tab) == 0


def test_what_is_typed_is_no_command(tab: Tab) -> None:
    tab.focus("#packet")
    for key in ("c", "k", "ArrowUp", "Home", "m"):
        tab.keyboard.press(key)
    assert slot_of(tab) == 0
    assert not is_playing(tab)
    assert not tab.is_checked("#as-matrix")


def test_enter_leaves_a_field_and_keys_are_the_players_again(tab: Tab) -> None:
    press = tab.keyboard.press
    for key, written, slot in (("p", "3", 1), ("j", "7", 8)):
        press(key)
        tab.keyboard.type(written)
        press("ArrowLeft")
        press("Enter")
        assert tab.evaluate("document.activeElement.id") == ""
        press("ArrowRight")
        assert slot_of(tab) == slot
        assert tab.inner_text(".story h3") == "Packet 3"
        assert tab.input_value("#packet") == "3"
    press(" ")
    assert is_playing(tab)


def test_escape_leaves_a_field_as_it_was(tab: Tab) -> None:
    """And only then, pressed again, it stops following."""
    press = tab.keyboard.press
    press("p")
    tab.keyboard.type("3")
    press("Enter")
    for key, field, value in (("p", "#packet", "3"), ("j", "#slot", "0")):
        press(key)
        tab.keyboard.type("5")
        press("Escape")
        assert tab.evaluate("document.activeElement.id") == ""
        assert tab.input_value(field) == value
        assert slot_of(tab) == 0
        assert tab.inner_text(".story h3") == "Packet 3"
    press("Escape")
    assert not tab.is_visible(".story")


def test_the_guide_is_that_of_the_view(tab: Tab) -> None:
    assert not tab.is_visible("#drawn")  # folded, until it is asked for
    tab.click("#guide summary")
    assert tab.is_visible("#drawn")
    assert not tab.is_visible("#cells")
    assert tab.locator("#legend li").count() == 8
    tab.check("#as-matrix")
    assert tab.is_visible("#cells")
    assert not tab.is_visible("#drawn")
    assert tab.locator("#legend li").count() == 4
    tab.uncheck("#as-matrix")
    assert tab.locator("#legend .chip").count() == 3


def test_space_on_a_button_presses_that_button(tab: Tab) -> None:
    tab.focus("#forward")
    tab.keyboard.press(" ")
    assert slot_of(tab) == 1
    assert not is_playing(tab)


FAR = """() => [...document.querySelectorAll(".slot .signal")].map((signal) => {
  const { x1, x2 } = signal;
  return x2.baseVal.value - x1.baseVal.value;
})"""


def test_light_travels_while_it_plays(visit: Visit) -> None:
    """From the left to the couplers, then on to those who listen; at the end all is there."""
    tab = visit([run_of(4, 4)], stopped=True)
    tab.click("#forward")
    whole: list[float] = tab.evaluate(FAR)
    tab.click("#first")
    tab.click("#play")
    shares = []
    for _ in range(4):
        tab.clock.run_for(200)
        far: list[float] = tab.evaluate(FAR)
        shares.append(sum(far) / sum(whole))
        assert all(0 <= some <= most + 0.1 for some, most in zip(far, whole, strict=True))
    assert 0 < shares[0] < shares[1] < shares[2] < 1
    assert tab.locator(".network.arrived").count() == 1
    tab.clock.run_for(150)
    assert tab.evaluate(FAR) == pytest.approx(whole)


def test_a_pause_shows_what_came_of_the_slot(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], stopped=True)
    tab.click("#forward")
    whole = tab.evaluate(FAR)
    tab.click("#first")
    tab.click("#play")
    tab.clock.run_for(200)
    assert tab.locator(".network.arrived").count() == 0
    tab.click("#play")
    assert slot_of(tab) == 1
    assert tab.evaluate(FAR) == pytest.approx(whole)
    assert tab.locator(".network.arrived").count() == 1


def test_with_reduced_motion_nothing_travels_and_slots_go_on(visit: Visit) -> None:
    tab = visit([run_of(4, 4)], stopped=True, still=True)
    tab.click("#forward")
    whole = tab.evaluate(FAR)
    tab.click("#first")
    tab.click("#play")
    for _ in range(4):
        assert tab.evaluate(FAR) == pytest.approx(whole)
        assert tab.locator(".network.arrived").count() == 1
        assert tab.locator(".slot .chip[visibility]").count() == 0
        tab.clock.run_for(230)
    tab.clock.run_for(100)
    assert slot_of(tab) == 2
