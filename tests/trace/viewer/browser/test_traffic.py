"""Runs in which packets arrive and leave."""

from __future__ import annotations

import json
from typing import Any

import pytest

from popsnet import InputError
from popsnet.trace.viewer import Page, Recording
from tests.trace.traffic import traffic_lines
from tests.trace.viewer.browser.conftest import Visit
from tests.trace.viewer.browser.runs import of_lines


def held(tab: Any, side: int) -> list[list[int]]:
    """The packets drawn beside each processor: side 0 is before the slot, 1 after it."""
    drawn = tab.evaluate(
        """(side) => {
          const { layout, run } = popsnet.panels[0].network;
          const sides = Array.from({ length: run.n }, () => []);
          for (const chip of document.querySelectorAll(".network .chip")) {
            const { e: x, f: y } = chip.transform.baseVal.consolidate().matrix;
            if ((x > layout.middle) !== (side === 1)) continue;
            const near = sides.map((_, p) => Math.abs(layout.processorY(p) - y));
            sides[near.indexOf(Math.min(...near))].push(Number(chip.dataset.packet));
          }
          return sides;
        }""",
        side,
    )
    return [sorted(packets) for packets in drawn]


def test_packets_arrive_and_leave(visit: Visit) -> None:
    tab = visit([of_lines(traffic_lines())], still=True)
    assert tab.locator("article.run h2").inner_text() == "by-hand"
    assert "network is empty" in tab.locator(".slot-words").inner_text()
    assert held(tab, 0) == [[], [], [], []]
    seen = []
    for _ in range(4):
        tab.keyboard.press("ArrowRight")
        seen.append((held(tab, 0), held(tab, 1), tab.locator(".standing").inner_text()))
    assert seen == [
        ([[0], [1], [2], []], [[2], [1], [], []], "1 of 3 delivered, 2 inside"),
        ([[2], [1], [], [3]], [[], [1], [], [3]], "3 of 4 delivered, 1 inside"),
        ([[4], [1, 5], [], [3]], [[4], [5], [], []], "4 of 6 delivered, 2 inside"),
        ([[4], [5], [], []], [[], [5], [], []], "4 of 6 delivered, 1 inside, 1 lost"),
    ]
    outcome = tab.locator(".outcome").inner_text()
    assert outcome == "4 slots, 6 packets arrived, 4 delivered, 1 packet lost, 1 inside"
    assert tab.locator(".broken").count() == 0


def test_it_plays_to_the_end(visit: Visit) -> None:
    tab = visit([of_lines(traffic_lines())], stopped=True)
    tab.select_option("#speed", "1")
    tab.click("#play")
    tab.clock.run_for(6_000)
    assert tab.evaluate("[popsnet.player.slot, popsnet.player.playing]") == [4, False]
    words = tab.locator(".slot-words").inner_text()
    assert "2 messages sent, 1 collision (2 destroyed), packet 4 is lost" in words
    tab.click("#back")
    assert "2 packets arrive (4 and 5), 1 message sent" in tab.locator(".slot-words").inner_text()


def test_the_chart_shows_the_packets_inside(visit: Visit) -> None:
    tab = visit([of_lines(traffic_lines())], still=True)
    assert tab.locator(".charts h3").first.inner_text() == "Packets inside"
    assert tab.locator(".progress .delivered").count() == 0
    assert tab.locator(".progress text.pending").text_content() == "inside"
    ticks = tab.locator(".progress .tick.beside").all_text_contents()
    assert ticks == ["0", "2"]


@pytest.mark.parametrize(
    ("packet", "history"),
    [
        (
            1,
            [
                "slot 1 Arrives at processor 1 (group 0); it must reach processor 2 (group 1).",
                "slot 2 Processor 1 sends it to group 1 on coupler 0→1; processor 2 hears it.",
                "slot 2 It is delivered to processor 2.",
                "slot 3 Processor 2 sends an ack of it to group 0 on coupler 1→0; processor 1 "
                "hears it.",
                "slot 3 Processor 1 drops its copy.",
            ],
        ),
        (
            4,
            [
                "slot 3 Arrives at processor 0 (group 0); it must reach processor 2 (group 1).",
                "slot 4 Processor 0 sends it to group 1 on coupler 0→1, where it meets packet "
                "5: both are destroyed.",
                "slot 4 Processor 0 drops its copy.",
                "slot 4 No processor holds it any more: it is lost.",
            ],
        ),
    ],
)
def test_a_packet_that_arrives_has_a_history(packet: int, history: list[str], visit: Visit) -> None:
    tab = visit([of_lines(traffic_lines())], at=f"#slot=1&follow={packet}")
    assert tab.locator(".history li").all_inner_texts() == history


def test_the_conflict_graph_has_the_packets_that_have_arrived(visit: Visit) -> None:
    tab = visit([of_lines(traffic_lines())], at="#slot=2")
    edges = tab.locator(".conflicts .edge").evaluate_all("all => all.map(e => +e.dataset.packet)")
    assert edges == [1, 2, 3]


def test_a_trace_that_breaks_the_rules_is_played_too(visit: Visit) -> None:
    lines = traffic_lines()
    lines[2]["delivers"].append([3, 0])
    lines[3]["delivers"] = [[3, 4]]
    tab = visit([of_lines(lines)], at="#slot=2")
    assert "delivers packet 0, which was delivered before" in tab.locator(".broken").inner_text()
    problems = tab.evaluate("popsnet.runs[0].problems.map(({ text }) => text)")
    assert problems == [
        "processor 3 delivers packet 0, which was delivered before",
        "processor 3 delivers packet 4, which is for processor 2",
        "the outcome gives 4 as delivered instead of 3",
        "the outcome gives 1 as lost instead of 2",
    ]


def test_arrivals_out_of_order_are_refused(visit: Visit) -> None:
    lines = traffic_lines()
    lines[2]["arrives"] = [[3, 4, 3]]
    tab = visit([of_lines(lines)])
    told = tab.locator("#problem").inner_text()
    assert "Line 3: [3,4,3] in arrives is not [processor, packet, destination] of packet 3" in told


def test_a_long_queue_is_counted(visit: Visit) -> None:
    header = traffic_lines()[0]
    arrives = [[0, packet, 1] for packet in range(30)]
    empty: dict[str, Any] = {"sends": [], "listens": [], "keeps": [], "drops": []}
    slots = [{"slot": t, "phase": "", **empty} for t in (1, 2)]
    slots[0]["arrives"] = arrives
    counts = {"slots": 2, "delivered": 0, "lost": 0, "lost_packets": [], "held": 30, "refused": 0}
    tab = visit([of_lines([header, *slots, {"outcome": counts}])], at="#slot=2")
    assert tab.locator(".network .more").first.text_content().startswith("+27")  # type: ignore[union-attr]
    assert "18, 19 and 10 more" in tab.locator(".network .more title").first.text_content()  # type: ignore[operator]


def test_side_by_side_arrivals_must_be_the_same() -> None:
    lines = traffic_lines()
    recording = of_lines(lines)
    other = Recording.of(recording.text.replace("by-hand", "another"))
    assert Page.of([recording, other]).title == "POPS(2, 2): by-hand, another"
    lines[2]["arrives"] = [[3, 3, 0]]
    with pytest.raises(InputError, match="by-hand and another do not have the same arrivals"):
        Page.of([of_lines(lines), other])


def test_two_schedulers_play_side_by_side(visit: Visit) -> None:
    recording = of_lines(traffic_lines())
    other = Recording.of(json.dumps(traffic_lines()[0] | {"router": "another"}) + "\n"
                         + recording.text.split("\n", 1)[1])  # fmt: skip
    tab = visit([recording, other], still=True)
    tab.keyboard.press("End")
    cells = tab.locator("#score tbody td:nth-child(2)").all_inner_texts()
    assert cells == ["4 of 6 delivered, 1 inside, 1 lost"] * 2
