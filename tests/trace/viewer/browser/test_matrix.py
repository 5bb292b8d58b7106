"""The couplers as a matrix: the pixels are those of the slot, and keys go from cell to cell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from popsnet.trace.viewer import Recording

from .conftest import Visit
from .replay import Replay, listed, name_of
from .runs import of_lines, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

PIXELS = """() => {
  const canvas = document.querySelector("canvas.cells");
  const style = getComputedStyle(canvas);
  const copy = document.createElement("canvas");
  copy.width = copy.height = canvas.width;
  const pen = copy.getContext("2d", { willReadFrequently: true });
  const pixels = () => new Uint32Array(pen.getImageData(0, 0, copy.width, copy.width).data.buffer);
  const names = new Map();
  for (const name of ["idle", "used", "collided"]) {
    pen.fillStyle = style.getPropertyValue(`--cell-${name}`).trim();
    pen.fillRect(0, 0, 1, 1);
    names.set(pixels()[0], name);
  }
  pen.drawImage(canvas, 0, 0);
  const data = pixels();
  const g = Number(canvas.getAttribute("aria-label").match(/POPS\\(\\d+, (\\d+)\\)/)[1]);
  const side = canvas.width / g;
  const down = side > 6 ? 0.3 : 0.5; // inside a message, above the arms of a cross
  return Array.from({ length: g * g }, (_, c) => {
    const x = Math.floor(((c % g) + 0.5) * side);
    const y = Math.floor((Math.floor(c / g) + down) * side);
    return (names.get(data[y * canvas.width + x]) ?? "none")[0];
  }).join("");
}"""


def wide() -> Recording:
    """256 groups; in every corner something else, and a diagonal of messages."""
    g = 256
    sends: list[Any] = [[i, [i], "packet", i] for i in range(1, g - 1)]
    sends += [[0, [0, g - 1], "packet", 0], [g - 1, [0, g - 1], "packet", g - 1]]
    sends += [[g, [g - 1], "control", None]]  # a second one of group 0
    sends.sort()
    lines = [
        {
            "format": "popsnet-trace", "version": 1, "d": 2, "g": g, "router": "r", "variant": "v",
            "seed": 0, "destination": [*range(2 * g)],
        },
        {"slot": 1, "phase": "p", "step": 0, "sends": sends, "listens": []},
        {"outcome": {"slots": 1, "delivered": 0, "lost": 0}},
    ]  # fmt: skip
    return of_lines(lines)


def expected(replay: Replay, t: int) -> str:
    """A letter a coupler: idle, used or collided."""
    loads = [len(replay.states[t].couplers.get(c, [])) for c in range(replay.g**2)]
    return "".join("iuc"[min(2, load)] for load in loads)


def assert_words(tab: Tab, replay: Replay, t: int) -> None:
    used, collided = len(replay.states[t].used()), len(replay.states[t].collided())
    idle = replay.g**2 - used - collided
    assert tab.inner_text(".cell-words") == (
        f"Of {replay.g**2:,} couplers: {used:,} carry a message, {collided:,} have a collision, "
        f"{idle:,} are idle."
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_cell_has_the_colour_of_its_coupler(visit: Visit, scheme: str) -> None:
    recording = run_of(16, 16)
    replay = Replay(recording.text)
    tab = visit([recording], scheme=scheme)
    assert tab.is_checked("#as-matrix")
    assert tab.is_disabled("#as-matrix")
    tab.click("#guide summary")
    assert tab.is_visible("#cells")
    assert tab.locator("#legend .cell").count() > 0
    for t in range(min(7, replay.slots) + 1):
        if t > 0:
            tab.click("#forward")
        assert tab.evaluate(PIXELS) == expected(replay, t)
        assert_words(tab, replay, t)
    assert "c" in expected(replay, 1)


def test_a_theme_repaints_the_cells(visit: Visit) -> None:
    recording = run_of(16, 16)
    tab = visit([recording])
    tab.click("#forward")
    picture = "document.querySelector('canvas').toDataURL()"
    before = tab.evaluate(picture)
    tab.select_option("#theme", "dark")
    assert tab.evaluate(PIXELS) == expected(Replay(recording.text), 1)
    assert tab.evaluate(picture) != before


def test_of_256_groups_every_coupler_is_seen(visit: Visit) -> None:
    recording = wide()
    replay = Replay(recording.text)
    tab = visit([recording])
    for t in (0, 1):
        assert tab.evaluate(PIXELS) == expected(replay, t)
        assert_words(tab, replay, t)
        if t == 0:
            tab.click("#forward")


def test_keys_go_from_coupler_to_coupler(visit: Visit) -> None:
    recording = run_of(16, 16)
    replay = Replay(recording.text)
    state = replay.states[1]
    tab = visit([recording])
    tab.click("#forward")
    tab.focus("canvas")
    row = column = 0
    tab.keyboard.press("ArrowDown")  # to the first cell
    moves = ["Down"] * 3 + ["Right"] * 9 + ["Up"] * 5 + ["Left"] * 12 + ["Down"] * 6
    for move in moves:
        tab.keyboard.press(f"Arrow{move}")
        row = min(15, max(0, row + {"Down": 1, "Up": -1}.get(move, 0)))
        column = min(15, max(0, column + {"Right": 1, "Left": -1}.get(move, 0)))
        there = state.couplers.get(row * 16 + column, [])
        what = "idle"
        if len(there) == 1:
            what = f"carries {name_of(there[0])}"
        if len(there) > 1:
            what = f"{listed(map(name_of, there))} collide and are destroyed"
        assert tab.inner_text(".cell-words") == (
            f"Coupler {column}→{row}, from group {column} to group {row}: {what}."
        )
    assert tab.input_value("#slot") == "1"


def test_the_mouse_asks_for_a_coupler(visit: Visit) -> None:
    tab = visit([run_of(16, 16)])
    box = tab.locator("canvas").bounding_box()
    assert box is not None
    size = box["width"] / 16
    tab.hover("canvas", position={"x": size * 3.5, "y": size * 2.5})
    assert tab.inner_text(".cell-words") == "Coupler 3→2, from group 3 to group 2: idle."
    tab.mouse.move(0, 0)
    assert tab.inner_text(".cell-words").startswith("Of 256 couplers")


def test_the_cell_that_is_asked_for_is_framed_from_the_start(visit: Visit) -> None:
    tab = visit([run_of(16, 16)])
    picture = "document.querySelector('canvas').toDataURL()"
    before = tab.evaluate(picture)
    tab.focus("canvas")
    tab.keyboard.press("ArrowRight")
    assert tab.evaluate(picture) != before
