"""A packet is followed, and what is told of it is true."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from popsnet.trace.viewer import Recording
from tests.each import each

from .conftest import Visit
from .replay import Replay
from .runs import LOSING, deaf, run_of, scheduled

TOLD = """(packets) => packets.map((packet) => {
  const input = document.getElementById("packet");
  input.value = packet;
  input.dispatchEvent(new Event("change"));
  return [...document.querySelectorAll(".history li")].map((item) => {
    const button = item.querySelector("button");
    return [Number(item.dataset.slot), button.textContent, item.lastChild.textContent.trim()];
  });
})"""

RUNS: dict[str, Callable[[], Recording]] = {
    "mei-rizzi": lambda: run_of(4, 4),
    "losing": lambda: run_of(3, 2, **LOSING),
    "relay": lambda: run_of(3, 3, "relay", variant="S R2", seed=6321, permutation_seed=2),
    "scheduled": scheduled,
    "capped": lambda: run_of(4, 4, max_steps=1),
    "deaf": lambda: deaf(run_of(4, 4)),
}


@each("name", RUNS)
def test_what_is_told_of_every_packet_is_true(name: str, visit: Visit) -> None:
    recording = RUNS[name]()
    replay = Replay(recording.text)
    told: list[list[Any]] = visit([recording]).evaluate(TOLD, list(range(replay.packets)))
    for packet, history in enumerate(told):
        expected = [
            [slot, "start" if slot == 0 else f"slot {slot}", text]
            for slot, text in replay.history(packet)
        ]
        assert history == expected


def test_a_click_on_a_packet_follows_it(visit: Visit) -> None:
    tab = visit([run_of(4, 4)])
    tab.click("#forward")
    tab.click(".slot .chip[data-packet='6'] >> nth=0")
    assert tab.inner_text(".story h3") == "Packet 6"
    assert tab.input_value("#packet") == "6"
    assert tab.is_visible("#unfollow")
    followed = tab.locator(".slot .chip.followed")
    assert {chip.get_attribute("data-packet") for chip in followed.all()} == {"6"}
    assert tab.locator(".slot.dimmed").count() == 1
    assert tab.locator(".edge.followed").get_attribute("data-packet") == "6"
    tab.click("#unfollow")
    assert not tab.is_visible(".story")
    assert not tab.is_visible("#unfollow")
    assert tab.input_value("#packet") == ""
    assert tab.locator("#runs").locator(".followed, .dimmed, .following").count() == 0


FADED = """() => {
  const shown = { full: [], faded: [] };
  for (const part of document.querySelectorAll(".slot .coupler, .slot .listener, .slot .chip")) {
    const look = getComputedStyle(part.querySelector("rect") ?? part);
    const full = Math.min(look.opacity, look.strokeOpacity, getComputedStyle(part).opacity) === 1;
    shown[full ? "full" : "faded"].push(part.classList.contains("followed"));
  }
  return shown;
}"""


def test_all_but_the_packet_and_its_messages_fades(visit: Visit) -> None:
    """In slot 1 packet 6 is sent and collides; in slot 6 it is heard."""
    tab = visit([run_of(4, 4)], at="#slot=1")
    assert tab.evaluate(FADED)["faded"] == []
    for slot in (1, 6):
        tab = visit([run_of(4, 4)], at=f"#slot={slot}&follow=6")
        shown = tab.evaluate(FADED)
        assert len(shown["full"]) > 2
        assert all(shown["full"])
        assert len(shown["faded"]) > 20
        assert not any(shown["faded"])
        kind = "collided" if slot == 1 else "used"
        assert tab.locator(f".slot .coupler.{kind}.followed").count() == 1
        assert tab.locator(".slot .listener.followed").count() == (slot == 6)


def test_a_click_on_an_edge_follows_its_packet(visit: Visit) -> None:
    tab = visit([run_of(4, 4)])
    tab.locator(".edge[data-packet='9']").dispatch_event("click")
    assert tab.inner_text(".story h3") == "Packet 9"


def test_the_packet_stays_lit_from_slot_to_slot(visit: Visit) -> None:
    recording = run_of(4, 4)
    replay = Replay(recording.text)
    tab = visit([recording])
    packet = next(iter(set(range(16)) - replay.states[0].home))
    tab.fill("#packet", str(packet))
    tab.press("#packet", "Enter")
    for t in range(1, replay.slots + 1):
        tab.click("#forward")
        state = replay.states[t]
        signals = sum(len(groups) for _, groups, _, carried in state.sends if carried == packet)
        signals += sum(message.packet == packet for message in state.heard.values())
        assert tab.locator(".slot .signal.followed").count() == signals
        current = tab.locator(".history .current").all()
        slots = {item.get_attribute("data-slot") for item in current}
        assert slots == ({str(t)} if any(at == t for at, _ in replay.history(packet)) else set())
        later = sum(at > t for at, _ in replay.history(packet))
        assert tab.locator(".history .later").count() == later


def test_the_history_leads_to_its_slots(visit: Visit) -> None:
    recording = run_of(4, 4)
    packet, history = next(
        (packet, told)
        for packet in range(16)
        if (told := Replay(recording.text).history(packet))[-1][0] > 1
    )
    tab = visit([recording])
    tab.fill("#packet", str(packet))
    tab.press("#packet", "Enter")
    tab.click(".history li:last-child button")
    assert tab.input_value("#slot") == str(history[-1][0])
    tab.click(".history li:first-child button")
    assert tab.input_value("#slot") == "0"


def test_a_packet_that_does_not_exist_is_not_followed(visit: Visit) -> None:
    tab = visit([run_of(4, 4)])
    for written in ("16", "-1", "1.5", "1e9"):
        tab.fill("#packet", "2")
        tab.press("#packet", "Enter")
        tab.fill("#packet", written)
        tab.press("#packet", "Enter")
        number = f"{float(written):g}".replace("1e+09", "1000000000")
        told = f"There is no packet {number}; packets are numbered 0 to 15."
        assert tab.inner_text("#notice") == told
        assert tab.inner_text(".story h3") == "Packet 2"
        tab.press("#packet", "Escape")
        assert tab.input_value("#packet") == "2"
        assert tab.inner_text(".story h3") == "Packet 2"
        tab.keyboard.press("Escape")
        assert tab.inner_text("#notice") == ""
        assert not tab.is_visible(".story")


def test_an_emptied_field_follows_no_packet(visit: Visit) -> None:
    tab = visit([run_of(4, 4)])
    tab.fill("#packet", "2")
    tab.press("#packet", "Enter")
    tab.fill("#packet", "")
    tab.press("#packet", "Enter")
    assert not tab.is_visible(".story")


def test_in_the_matrix_its_couplers_are_framed(visit: Visit) -> None:
    """The picture of a slot in which the followed packet is sent is not the one without."""
    recording = run_of(4, 4)
    sender = Replay(recording.text).states[1].sends[0]
    tab = visit([recording])
    tab.click("#forward")
    tab.check("#as-matrix")
    picture = "document.querySelector('canvas').toDataURL()"
    plain = tab.evaluate(picture)
    tab.fill("#packet", str(sender[3]))
    tab.press("#packet", "Enter")
    framed = tab.evaluate(picture)
    assert framed != plain
    tab.click("#unfollow")
    assert tab.evaluate(picture) == plain


def test_another_trace_is_not_followed(visit: Visit) -> None:
    tab = visit([run_of(4, 4)])
    tab.fill("#packet", "2")
    tab.press("#packet", "Enter")
    text = run_of(2, 2).text.encode()
    file = {"name": "other.jsonl", "mimeType": "text/plain", "buffer": text}
    tab.set_input_files("#open", file)  # type: ignore[arg-type]
    tab.wait_for_function("() => document.querySelector('h2').textContent.includes('other.jsonl')")
    assert not tab.is_visible(".story")
    assert not tab.is_visible("#unfollow")
    assert tab.input_value("#packet") == ""
