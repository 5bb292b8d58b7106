"""The conflict graph has an edge for each packet that waits when the step begins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from popsnet.trace.viewer import Recording
from tests.each import each

from .conftest import Visit
from .replay import Replay
from .runs import LOSING, run_of

LOOK = """() => {
  const shown = [];
  for (;;) {
    const forward = document.getElementById("forward");
    if (forward.disabled) return shown;
    forward.click();
    shown.push({
      edges: [...document.querySelectorAll(".edge")].map((edge) => [
        Number(edge.dataset.packet),
        ["waiting", "destroyed", "through", "delivered"].find((state) =>
          edge.classList.contains(state)),
        edge.querySelector("title").textContent.match(/sent to group (\\d+)/)?.[1] ?? null,
      ]),
      crosses: document.querySelectorAll(".graph .mark.destroyed").length,
      ticks: document.querySelectorAll(".graph .mark.delivered").length,
      degrees: [...document.querySelectorAll(".node title")].map((title) => title.textContent),
      words: document.querySelector(".graph-words").textContent,
    });
  }
}"""

RUNS: dict[str, Callable[[], Recording]] = {
    "mei-rizzi": lambda: run_of(4, 4),
    "losing": lambda: run_of(3, 2, **LOSING),
    "losing, then going on": lambda: run_of(6, 2, variant="published"),
    "deferred": lambda: run_of(6, 3, variant="deferred"),
    "copies": lambda: run_of(4, 2, "relay", variant="S R2"),
    "relay": lambda: run_of(4, 4, "relay", variant="S"),
}


@dataclass
class Fate:
    state: str = "waiting"
    by: str | None = None
    """The group that its source sends it to."""
    died: bool = False


def fates(replay: Replay, first: int, t: int) -> dict[int, Fate]:
    """Of every packet that is neither home nor lost before slot ``first``, after slot t."""
    before = replay.states[first - 1]
    waiting = set(range(replay.packets)) - before.home - before.lost
    found = {packet: Fate() for packet in waiting}
    for state in replay.states[first : t + 1]:
        used = state.used()
        for sender, groups, kind, packet in state.sends:
            fate = found.get(packet)
            if kind != "packet" or fate is None:
                continue
            if sender == replay.start[packet]:
                fate.by = fate.by or str(groups[0])
            if fate.state != "delivered":
                came = any(group * replay.g + sender // replay.d in used for group in groups)
                fate.state = "through" if came else "destroyed"
                fate.died |= not came
        for packet in state.arrivals:
            if packet in found:
                found[packet].state = "delivered"
    return found


@each("name", RUNS)
def test_edges_are_what_waits_and_what_came_of_it(name: str, visit: Visit) -> None:
    recording = RUNS[name]()
    replay = Replay(recording.text)
    shown: list[dict[str, Any]] = visit([recording]).evaluate(LOOK)
    assert len(shown) == replay.slots
    destroyed = 0
    for t, seen in enumerate(shown, start=1):
        first, last = replay.step_of(t)
        fate = fates(replay, first, t)
        assert {packet: (state, by) for packet, state, by in seen["edges"]} == {
            packet: (edge.state, edge.by) for packet, edge in fate.items()
        }
        assert len(seen["edges"]) == len(fate)
        assert seen["crosses"] == sum(edge.state == "destroyed" for edge in fate.values())
        assert seen["ticks"] == sum(edge.state == "delivered" for edge in fate.values())
        span = f"slot {first}" if first == last else f"slots {first} to {last}"
        packets = f"{len(fate)} pending packet{'' if len(fate) == 1 else 's'}"
        assert seen["words"].startswith(f"The step of {span} begins with {packets}, ")
        dead = sum(edge.died for edge in fate.values())
        destroyed += dead
        told = f"{dead or 'None'} {'have' if dead > 1 else 'has'} collided so far."
        assert seen["words"].endswith(told)
        ends = degrees(replay, set(fate), temporary=recording.name.startswith("mei-rizzi"))
        assert seen["degrees"] == ends
    assert destroyed > 0


def degrees(replay: Replay, waiting: set[int], *, temporary: bool) -> list[str]:
    told = []
    for group in range(replay.g):
        left = sum(replay.start[packet] // replay.d == group for packet in waiting)
        right = sum(
            (end % replay.g if temporary else end // replay.d) == group
            for end in (replay.destination[packet] for packet in waiting)
        )
        told += [
            f"Group {group}: {number} pending packet{'' if number == 1 else 's'}"
            for number in (left, right)
        ]
    return told


def test_a_lost_packet_is_no_longer_pending(visit: Visit) -> None:
    recording = run_of(6, 2, variant="published")
    replay = Replay(recording.text)
    slot, packets = next((t, state.gone) for t, state in enumerate(replay.states) if state.gone)
    assert slot < replay.slots - 5
    tab = visit([recording])
    tab.fill("#slot", str(slot))
    tab.press("#slot", "Enter")
    for packet in packets:
        assert tab.locator(f".edge[data-packet='{packet}']").count() == 1
    tab.click("#forward")
    for packet in packets:
        assert tab.locator(f".edge[data-packet='{packet}']").count() == 0


def test_of_many_packets_only_the_number_is_told(visit: Visit) -> None:
    recording = run_of(16, 16)
    waiting = 256 - len(Replay(recording.text).states[0].home)
    tab = visit([recording])
    assert tab.inner_text(".graph-words") == (
        f"The step of slots 1 to 5 begins with {waiting} pending packets; the graph is drawn for "
        "up to 128 packets and 64 groups."
    )
    assert tab.locator(".edge").count() == 0
    tab.click("#last")
    assert 0 < tab.locator(".edge").count() <= 128
