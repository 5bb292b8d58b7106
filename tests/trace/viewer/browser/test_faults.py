"""Runs with dead parts and lost messages."""

from __future__ import annotations

from typing import Any

import pytest

from popsnet.trace.viewer import Recording
from tests.trace.viewer.browser.conftest import Visit
from tests.trace.viewer.browser.runs import lines_of, run_of

FAULTS = "coupler:0-1 coupler:2-2@4 processor:4 transmitter:8@3 loss:0.2"


def _heard(tab: Any) -> list[list[list[int]]]:
    """Return who hears which message in every slot, as the page replays it."""
    heard: list[list[list[int]]] = tab.evaluate(
        "() => popsnet.panels[0].run.slots.map((slot) => slot.heard)"
    )
    return heard


def _by_hand(recording: Recording) -> list[list[list[int]]]:
    """Return the same from the text of the trace, by its documented format."""
    header, *slots, _ = lines_of(recording)
    d, faults = header["d"], header["faults"]

    def dead(kind: str, part: list[int], slot: int) -> bool:
        return any(entry[:-1] == part and slot >= entry[-1] for entry in faults.get(kind, []))

    found = []
    for line in slots:
        slot, on = line["slot"], dict[tuple[int, int], list[int]]()
        for number, (sender, groups, *_) in enumerate(line["sends"]):
            if not dead("transmitters", [sender], slot) and not dead("processors", [sender], slot):
                for group in groups:
                    on.setdefault((group, sender // d), []).append(number)
        hears = []
        for listener, group in line["listens"]:
            there = on.get((listener // d, group), [])
            deaf = dead("processors", [listener], slot) or listener in line.get("misses", [])
            if len(there) == 1 and not deaf and not dead("couplers", [listener // d, group], slot):
                hears.append([listener, there[0]])
        found.append(hears)
    return found


@pytest.mark.parametrize("router", ["relay:F", "direct", "mei-rizzi"])
def test_the_page_replays_faults(visit: Visit, router: str) -> None:
    recording = run_of(3, 3, router, faults=FAULTS, max_steps=6)
    tab = visit([recording], still=True)
    assert _heard(tab) == _by_hand(recording)
    assert tab.locator(".broken").count() == 0
    said = tab.locator(".faults").inner_text()
    assert said == (
        "Dead: coupler 0→1, coupler 2→2 from slot 4 on, transmitter 8 from slot 3 on, "
        "processor 4. A message is lost with probability 0.2."
    )


def test_dead_parts_are_struck_through_from_their_slot_on(visit: Visit) -> None:
    tab = visit([run_of(3, 3, "relay:F", faults=FAULTS, max_steps=6)], still=True)
    seen = []
    for _ in range(4):
        tab.keyboard.press("ArrowRight")
        dead = tab.locator(".network .coupler.dead")
        couplers = {dead.nth(i).get_attribute("data-coupler") for i in range(dead.count())}
        processors = tab.locator(".slot > .strike").count() // 2  # before and after the slot
        seen.append((couplers, processors))
    assert seen == [({"3"}, 1), ({"3"}, 1), ({"3"}, 2), ({"3", "8"}, 2)]
    tab.check("#as-matrix")
    assert "are idle or dead (2)." in tab.locator(".cell-words").inner_text()


def test_words_say_what_a_fault_did(visit: Visit) -> None:
    recording = run_of(3, 3, "direct", permutation="shift:3", faults="coupler:0-1 transmitter:5")
    tab = visit([recording], still=True)
    told = []
    for packet in ("0", "5"):
        tab.fill("#packet", packet)
        tab.keyboard.press("Enter")
        told.append(tab.locator(".history").inner_text())
    assert "on coupler 0→1, which is dead." in told[0]
    assert "its transmitter is dead, so it reaches no coupler." in told[1]
