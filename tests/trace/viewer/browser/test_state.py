"""In every slot the page shows what a replay by the format's words alone comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from popsnet.trace.viewer import Recording
from tests.each import each

from .conftest import Visit
from .replay import Message, Replay
from .runs import LOSING, deaf, nothing, run_of, scheduled

RUNS: dict[str, Callable[[], Recording]] = {
    "mei-rizzi": lambda: run_of(4, 4),
    "deferred": lambda: run_of(6, 3, variant="deferred"),
    "losing": lambda: run_of(3, 2, **LOSING),
    "relay": lambda: run_of(4, 4, "relay", variant="S"),
    "relay, copies": lambda: run_of(3, 3, "relay", variant="S R2", seed=6321, permutation_seed=2),
    "batcher": lambda: run_of(2, 4, "batcher"),
    "fold, d > g": lambda: run_of(9, 3, "relay", variant="F", max_steps=9),
    "windows, d > g": lambda: run_of(12, 4, "relay", variant="P(3,2) P1 F"),
    "copies, d > g": lambda: run_of(4, 2, "relay", variant="S R2"),
    "grid, d < g": lambda: run_of(2, 4, "relay", variant="XY(2,1)"),
    "census": lambda: run_of(4, 2, "relay", variant="census"),
    "roll call": lambda: run_of(4, 4, "relay", variant="roll-call"),
    "datta": lambda: run_of(4, 2, "datta"),
    "aks": lambda: run_of(2, 4, "aks"),
    "direct": lambda: run_of(3, 5, "direct"),
    "detected": lambda: run_of(4, 4, variant="published+or"),
    "detected, d > g": lambda: run_of(4, 2, "relay", variant="S+or"),
    "identity": lambda: run_of(4, 4, permutation="identity"),
    "n = 1": lambda: run_of(1, 1),
    "g = 1": lambda: run_of(4, 1, variant="deferred"),
    "d = 1": lambda: run_of(1, 4, "batcher"),
    "nothing": nothing,
    "scheduled": scheduled,
    "deaf": lambda: deaf(run_of(4, 4)),
    "deaf, losing": lambda: deaf(run_of(3, 2, **LOSING)),
}

LOOK = """() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const number = (element, name) => Number(element.getAttribute(name));
  const ends = all("circle.processor").map((disc) => [number(disc, "cx"), number(disc, "cy")]);
  const middle = (Math.min(...ends.map(([x]) => x)) + Math.max(...ends.map(([x]) => x))) / 2;
  const place = (element) => {
    const [x, y] = element.hasAttribute("x") ? [number(element, "x"), number(element, "y")]
      : element.getAttribute("transform").match(/[-\\d.]+/g).map(Number);
    const row = ends.findIndex(([, height]) => Math.abs(height - y) < 0.5);
    return [x < middle ? "before" : "after", Math.floor(row / 2)];
  };
  const shown = [];
  for (;;) {
    shown.push({
      slot: Number(document.getElementById("slot").value),
      words: document.querySelector(".slot-words").textContent,
      standing: document.querySelector(".standing").textContent,
      rules: document.querySelector(".run .warning")?.textContent ?? "",
      chips: all(".slot .chip").map((chip) => [
        ...place(chip), Number(chip.dataset.packet), chip.classList.contains("delivered"),
        chip.querySelector("text").textContent, chip.getAttribute("visibility"),
      ]),
      more: all(".slot .more").map((text) => [...place(text), Number(text.firstChild.textContent)]),
      used: all(".slot .coupler.used").map((box) => [
        Number(box.dataset.coupler), box.querySelector("text").textContent,
      ]),
      collided: all(".slot .coupler.collided").map((box) => Number(box.dataset.coupler)),
      signals: all(".slot .signal:not(.collided)").length,
      dark: all(".slot .signal.collided").length,
      hearing: all(".slot .listener.hears").length,
      deaf: all(".slot .listener:not(.hears)").length,
    });
    const forward = document.getElementById("forward");
    if (forward.disabled) return shown;
    forward.click();
  }
}"""


def cargo(message: Message) -> str:
    if message.kind == "packet":
        return str(message.packet)
    return f"↩{'' if message.packet is None else message.packet}" if message.kind == "ack" else "•"


@each("name", RUNS)
def test_every_slot_is_what_happened(name: str, visit: Visit) -> None:
    recording = RUNS[name]()
    replay = Replay(recording.text)
    shown: list[dict[str, Any]] = visit([recording]).evaluate(LOOK)
    assert [seen["slot"] for seen in shown] == list(range(replay.slots + 1))
    for t, seen in enumerate(shown):
        state = replay.states[t]
        assert seen["words"] == replay.words(t)
        assert seen["standing"] == replay.standing(t)
        assert seen["rules"] == ""
        assert Counter(map(tuple, seen["used"])) == Counter(
            (coupler, cargo(message)) for coupler, message in state.used().items()
        )
        assert sorted(seen["collided"]) == sorted(state.collided())
        assert seen["dark"] == state.destroyed()
        assert seen["signals"] == state.signals() - state.destroyed() + len(state.heard)
        assert seen["hearing"] == len(state.heard)
        assert seen["deaf"] == len(state.listens) - len(state.heard)
        for side, then in (("before", max(0, t - 1)), ("after", t)):
            assert_holdings(replay, then, side, seen)


def assert_holdings(replay: Replay, t: int, side: str, seen: dict[str, Any]) -> None:
    """The chips beside every processor are what it holds, or the first of it and a count."""
    state = replay.states[t]
    for processor in range(replay.n):
        chips = [chip[2:] for chip in seen["chips"] if chip[:2] == [side, processor]]
        more = sum(count[2] for count in seen["more"] if count[:2] == [side, processor])
        holds = state.held.get(processor, Counter())
        assert len(chips) + more == holds.total()
        assert more == 0 or len(chips) in (1, 2, 3)
        assert Counter(packet for packet, *_ in chips) <= holds
        for packet, home, text, hidden in chips:
            assert home == (packet in state.home and replay.destination[packet] == processor)
            assert text == f"{packet}{'✓' if home else ''}"
            assert hidden is None


def test_the_runs_show_all_there_is() -> None:
    """Collisions, losses, copies and crowds are among them."""
    states = [state for run in RUNS.values() for state in Replay(run().text).states]
    assert any(state.collided() for state in states)
    assert any(state.gone for state in states)
    assert any(holds.total() > 3 for state in states for holds in state.held.values())
    assert any(max(map(len, (s[1] for s in state.sends)), default=0) > 1 for state in states)
    kinds = {send[2] for state in states for send in state.sends}
    assert kinds == {"packet", "ack", "control"}
