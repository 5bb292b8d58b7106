"""Runs on the same packets, on one clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from popsnet import route
from popsnet.trace.viewer import Recording

from .conftest import Visit
from .replay import Replay
from .runs import lines_of, of_lines, run_of

if TYPE_CHECKING:
    from playwright.sync_api import Page as Tab

LOOK = """() => {
  const shown = [];
  for (;;) {
    shown.push({
      panels: [...document.querySelectorAll(".run")].map((run) => ({
        words: run.querySelector(".slot-words").textContent,
        standing: run.querySelector(".standing").textContent,
        over: run.classList.contains("over"),
        collided: run.querySelectorAll(".slot .coupler.collided").length,
        used: run.querySelectorAll(".slot .coupler.used").length,
        signals: run.querySelectorAll(".slot .signal, .slot .listener").length,
        home: run.querySelectorAll(".slot .chip.delivered").length,
        look: getComputedStyle(run.querySelector(".figure")).opacity,
      })),
      caption: document.querySelector(".score .after").textContent,
      rows: [...document.querySelectorAll(".score tbody tr")].map((row) =>
        [...row.children].map((cell) => cell.textContent)),
    });
    const forward = document.getElementById("forward");
    if (forward.disabled) return shown;
    forward.click();
  }
}"""


@pytest.fixture
def runs() -> list[Recording]:
    return [run_of(4, 4), run_of(4, 4, "relay", variant="S"), run_of(4, 4, "direct")]


@pytest.fixture
def replays(runs: list[Recording]) -> list[Replay]:
    return [Replay(run.text) for run in runs]


@pytest.fixture
def tab(visit: Visit, runs: list[Recording]) -> Tab:
    return visit(runs)


def test_all_runs_show_the_same_slot(tab: Tab, replays: list[Replay]) -> None:
    shown: list[dict[str, Any]] = tab.evaluate(LOOK)
    assert len(shown) == max(replay.slots for replay in replays) + 1
    assert len({replay.slots for replay in replays}) == 3
    for t, seen in enumerate(shown):
        for panel, replay in zip(seen["panels"], replays, strict=True):
            assert panel["over"] == (t > replay.slots)
            assert panel["standing"] == replay.standing(t)
            if t <= replay.slots:
                assert panel["words"] == replay.words(t)
                assert panel["collided"] == len(replay.states[t].collided())
                assert panel["used"] == len(replay.states[t].used())
            else:
                last = replay.slots
                over = f"Finished after slot {last}. {last} slots, every packet delivered."
                assert panel["words"] == over
                assert panel["collided"] == panel["used"] == panel["signals"] == 0
                assert panel["home"] == 2 * replay.packets  # before as after: nothing moves
                assert panel["look"] == "1"


def test_the_score_is_kept(tab: Tab, runs: list[Recording], replays: list[Replay]) -> None:
    shown: list[dict[str, Any]] = tab.evaluate(LOOK)
    for t, seen in enumerate(shown):
        assert seen["caption"] == f"After slot {t}"
        for row, run, replay in zip(seen["rows"], runs, replays, strict=True):
            past = replay.states[1 : t + 1]
            assert row == [
                run.name,
                replay.standing(t),
                str(sum(state.signals() for state in past)),
                str(sum(state.destroyed() for state in past)),
                str(sum(len(state.collided()) for state in past)),
                str(replay.slots),
            ]


def test_collisions_are_those_that_popsnet_counts(tab: Tab) -> None:
    tab.click("#last")
    column = tab.locator(".score th[scope=col]").all_inner_texts().index("collisions")
    counted = [route(4, 4, router="mei-rizzi"), route(4, 4, router="relay", variant="S")]
    for place, runs in enumerate(counted):
        row = tab.locator(".score tbody tr").nth(place).locator("th, td").all_inner_texts()
        assert row[column] == str(runs[0].outcome.collisions)


def test_the_next_collision_is_that_of_any_run(tab: Tab, replays: list[Replay]) -> None:
    last = max(replay.slots for replay in replays)
    slots = [
        t for t in range(last + 1)
        if any(t <= replay.slots and replay.states[t].collided() for replay in replays)
    ]  # fmt: skip
    for slot in (*slots, slots[0]):
        tab.click("#collision")
        assert tab.input_value("#slot") == str(slot)


def test_one_packet_is_followed_in_all_runs(tab: Tab, replays: list[Replay]) -> None:
    tab.fill("#packet", "5")
    tab.press("#packet", "Enter")
    panels = tab.locator(".run").all()
    for panel, replay in zip(panels, replays, strict=True):
        assert panel.locator(".story h3").inner_text() == "Packet 5"
        assert panel.locator(".history li").count() == len(replay.history(5))


def test_a_run_alone_has_no_score(visit: Visit, runs: list[Recording]) -> None:
    assert visit(runs[:1]).locator(".score").count() == 0


TOPS = """() => [...document.querySelectorAll(".run")].slice(0, 2).map((run) =>
  [".about", "svg.network", ".slot-words", ".story", ".timeline", ".charts"].map((part) =>
    Math.round(run.querySelector(part).getBoundingClientRect().top)))"""


def test_panels_stand_beside_each_other_and_level(visit: Visit) -> None:
    """Whatever is to be said of one of them and not of the other."""
    lines = lines_of(run_of(4, 4, "relay", variant="S"))
    lines[3]["slot"] = 9
    tab = visit([run_of(4, 4), of_lines(lines)])
    assert tab.locator(".run .warning").count() == 1
    boxes = [panel.bounding_box() for panel in tab.locator(".run").all()[:2]]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] < boxes[1]["x"]
    tab.fill("#packet", "5")
    tab.press("#packet", "Enter")
    for _ in range(7):
        tab.click("#forward")
        left, right = tab.evaluate(TOPS)
        assert left == right == sorted(left)


def test_what_is_lost_and_what_is_not_home_are_both_told(visit: Visit) -> None:
    run = run_of(6, 2, variant="published", max_steps=4)
    last = Replay(run.text).states[-1]
    missing = 12 - len(last.home) - len(last.lost)
    assert missing > 1
    assert len(last.lost) > 1
    assert visit([run]).inner_text(".outcome") == (
        f"20 slots, {len(last.lost)} packets lost, {missing} packets not delivered"
    )
