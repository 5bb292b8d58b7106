"""Traces of continuous traffic: packets arrive, are delivered, leave, are lost and refused."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from popsnet import Network, TraceFormatError, check_trace
from popsnet.engines.traffic_slots import MessageSession
from popsnet.trace import Event, TraceReader, TraceWriter, read_trace
from popsnet.trace.checker import TrafficReplay
from popsnet.traffic import all_schedulers, find_scheduler
from popsnet.workloads.arrivals import make_arrivals
from tests.conftest import Cli
from tests.trace.traffic import traffic_lines

Lines = list[dict[str, Any]]


def write(path: Path, lines: Lines) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_replay_counts_packets_that_arrive_and_leave(tmp_path: Path) -> None:
    found = check_trace(write(tmp_path / "t", traffic_lines()))
    assert found.violations == []
    assert found.traffic
    assert found.tells_holdings
    assert (found.packets, found.delivered, found.held, found.refused) == (6, 4, 1, 0)
    assert (found.lost, found.undelivered) == ([4], [4, 5])
    assert (found.slots, found.messages, found.collisions, found.destroyed) == (4, 7, 1, 2)
    assert found.name == "by-hand"


def out_of_order(lines: Lines) -> None:
    lines[3]["arrives"][1][1] = 6


def arrives_twice(lines: Lines) -> None:
    lines[2]["arrives"][0][1] = 2


def arrives_nowhere(lines: Lines) -> None:
    lines[3]["arrives"][1][0] = 4


def for_no_processor(lines: Lines) -> None:
    lines[3]["arrives"][1][2] = -1


def sent_before_it_arrives(lines: Lines) -> None:
    lines[1]["sends"][0][3] = 4


def sent_after_it_left(lines: Lines) -> None:
    lines[2]["sends"][0][3] = 0


def delivered_twice(lines: Lines) -> None:
    lines[2]["delivers"].append([3, 0])


def delivered_again_while_held(lines: Lines) -> None:
    lines[3]["delivers"].append([2, 1])


def delivered_elsewhere(lines: Lines) -> None:
    lines[1]["delivers"] = [[2, 0]]


def delivered_without_hearing(lines: Lines) -> None:
    lines[1]["listens"] = [[0, 1]]


def delivered_before_it_arrives(lines: Lines) -> None:
    lines[1]["delivers"].append([0, 5])


def drops_another(lines: Lines) -> None:
    lines[4]["drops"] = [[2, 0]]


def drops_by_no_processor(lines: Lines) -> None:
    lines[4]["drops"] = [[2, 4]]  # packet 5 at processor 0 would have the same number


def keeps_another(lines: Lines) -> None:
    lines[1]["keeps"] = [[0, 1]]


def acknowledges_a_stranger(lines: Lines) -> None:
    lines[3]["sends"][0][3] = 5


def one_buffer(lines: Lines) -> None:
    lines[0]["buffers"] = 1
    lines[3]["arrives"][0][0] = 1
    lines[4]["sends"][0][0] = 3
    lines[4]["drops"] = []


def header_with_packets(lines: Lines) -> None:
    lines[0]["destination"] = [3, 2, 1, 0]


def outcome(**changes: Any) -> Callable[[Lines], None]:
    return lambda lines: lines[-1]["outcome"].update(changes)


def no_outcome(lines: Lines) -> None:
    del lines[-1]


TAMPERED: dict[str, tuple[Callable[[Lines], Any], str]] = {
    "out of order": (out_of_order, "in order of arrival: 5 is next, not 6"),
    "arrives twice": (arrives_twice, "in order of arrival: 3 is next, not 2"),
    "arrives nowhere": (arrives_nowhere, "processors are numbered 0 to n - 1"),
    "for no processor": (for_no_processor, "packet 5 is for -1"),
    "sent before it arrives": (sent_before_it_arrives, "packet 4 has not arrived"),
    "sent after it left": (sent_after_it_left, "it does not hold packet 0"),
    "delivered twice": (delivered_twice, "packet 0 has left the network"),
    "delivered again while held": (delivered_again_while_held, "packet 1 has left the network"),
    "delivered elsewhere": (delivered_elsewhere, "packet 0 is for 3"),
    "delivered without hearing": (delivered_without_hearing, "holds, not packet 0"),
    "delivered before it arrives": (delivered_before_it_arrives, "packet 5 has not arrived"),
    "drops another": (drops_another, "a processor drops only packets it holds"),
    "drops by no processor": (drops_by_no_processor, "a processor drops only packets it holds"),
    "keeps another": (keeps_another, "a processor stores only a packet it heard"),
    "acknowledges a stranger": (acknowledges_a_stranger, "of which it never heard"),
    "one buffer": (one_buffer, "no more of its own packets than it has buffers for them"),
    "header with packets": (header_with_packets, "the header names some"),
    "slots": (outcome(slots=5), "claims 5 slots; the trace has 4"),
    "delivered": (outcome(delivered=3), "claims 3 delivered; the replay finds 4"),
    "held": (outcome(held=0), "claims 0 held; the replay finds 1"),
    "lost": (outcome(lost_packets=[5]), "claims 1 lost (packets 5); the replay finds 1"),
    "refused": (outcome(refused=2), "only full buffers refuse packets"),
    "no outcome": (no_outcome, "there is no outcome line"),
}


@pytest.mark.parametrize(("tamper", "complaint"), TAMPERED.values(), ids=TAMPERED)
def test_the_checker_finds_what_was_changed(
    tamper: Callable[[Lines], Any], complaint: str, tmp_path: Path
) -> None:
    lines = traffic_lines()
    tamper(lines)
    found = check_trace(write(tmp_path / "t", lines))
    assert any(complaint in violation.rule for violation in found.violations), found.violations


def test_packets_kept_for_others_have_buffers_of_their_own(tmp_path: Path) -> None:
    lines = traffic_lines()
    lines[0]["buffers"] = 1
    lines[1]["drops"] = [[2, 2]]  # processor 0 holds its own packet, and keeps another
    lines[2]["drops"] = [[0, 2], [0, 0], [1, 1]]
    lines[3]["drops"] = [[3, 3]]
    lines[-1]["outcome"]["refused"] = 3
    found = check_trace(write(tmp_path / "t", lines))
    assert found.violations == []
    assert found.refused == 3


def test_a_source_may_keep_its_own_packet_for_others(tmp_path: Path) -> None:
    """It drops the kept copy first, so that its own packet still takes its buffer."""
    lines = traffic_lines()[:1]
    lines[0]["buffers"] = 1
    slot = {"phase": "", "sends": [], "listens": [], "keeps": [], "drops": []}
    lines += [
        slot | {
            "slot": 1, "arrives": [[0, 0, 1]], "sends": [[0, [0], "packet", 0]],
            "listens": [[0, 0]], "keeps": [[0, 0]],
        },
        slot | {"slot": 2, "drops": [[0, 0]]},
        slot | {"slot": 3, "arrives": [[0, 1, 1]]},
        {"outcome": {"slots": 3, "delivered": 0, "lost": 0, "lost_packets": [], "held": 2,
                     "refused": 0}},
    ]  # fmt: skip
    (violation,) = check_trace(write(tmp_path / "t", lines)).violations
    assert violation.slot == 3
    assert "no more of its own packets" in violation.rule


@pytest.mark.parametrize(
    ("part", "name"), [(1, "keeps"), (1, "drops"), (5, "held"), (5, "refused"), (5, "lost_packets")]
)
def test_lists_and_counts_must_be_there(part: int, name: str, tmp_path: Path) -> None:
    lines = traffic_lines()
    del lines[part].get("outcome", lines[part])[name]
    with pytest.raises(
        TraceFormatError, match=f'"{name}" is missing, and the header has "traffic"'
    ):
        check_trace(write(tmp_path / "t", lines))


def test_a_trace_is_written_as_it_is_documented() -> None:
    file = io.StringIO()
    trace = TraceWriter(file)
    trace.begin_traffic(Network(2, 2), "by-hand", "", 0)
    header, *slots, outcome = traffic_lines()
    for line in slots:
        trace.arrive([tuple(row) for row in line.get("arrives", [])])
        sent = line["sends"], line["listens"]
        trace(Event(line["slot"], line["phase"], 0, 0, partial(tuple, sent)))
        trace.settle(line["keeps"], line["drops"], line.get("delivers", []))
    trace.end(4, 4, [4], held=1, refused=0)
    assert [json.loads(line) for line in file.getvalue().splitlines()] == [header, *slots, outcome]


def test_the_reader_gives_arrivals_and_deliveries(tmp_path: Path) -> None:
    trace = read_trace(write(tmp_path / "t", traffic_lines()))
    first, *_, last, outcome = trace
    assert first.arrives == [(0, 0, 3), (1, 1, 2), (2, 2, 1)]  # type: ignore[union-attr]
    assert first.delivers == [(3, 0)]  # type: ignore[union-attr]
    assert last.arrives == last.delivers == []  # type: ignore[union-attr]
    assert (outcome.held, outcome.refused) == (1, 0)  # type: ignore[union-attr]


def long_traffic(slots: int) -> Iterator[bytes]:
    """In each slot a packet arrives and is delivered, and its destination acknowledges it."""
    header, *_ = traffic_lines()
    yield json.dumps(header).encode() + b"\n"
    for t in range(slots):
        yield (
            b'{"slot":%d,"phase":"","arrives":[[0,%d,2]],"sends":[[0,[1],"packet",%d]],'
            b'"listens":[[2,0],[3,0]],"keeps":[],"drops":[[0,%d]],"delivers":[[2,%d]]}\n'
        ) % (t + 1, t, t, t, t)
    yield (
        b'{"outcome":{"slots":%d,"delivered":%d,"lost":0,"lost_packets":[],"held":0,"refused":0}}\n'
        % (slots, slots)
    )


def test_memory_does_not_grow_with_the_packets_that_have_left() -> None:
    def peak(slots: int) -> int:
        tracemalloc.start()
        found = TrafficReplay(TraceReader("long", long_traffic(slots))).run()
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert (found.ok, found.delivered) == (True, slots)
        return most

    peak(10)  # what is imported and cached
    assert peak(20_000) < 1.5 * peak(2_000) + 50_000


def test_check_reports_traffic(cli: Cli, tmp_path: Path) -> None:
    path = write(tmp_path / "t.jsonl", traffic_lines())
    result = cli("check", path)
    assert result.code == 0
    assert "t.jsonl: by-hand on POPS(2, 2), n = 4" in result.out
    assert "4 of 6 packets delivered, 1 inside, 1 lost, 0 refused" in result.out
    assert (
        "OK: no rule broken, every packet that arrived is delivered, inside or lost." in result.out
    )
    facts = json.loads(cli("check", path, "--json").out)
    assert (facts["held"], facts["refused"], facts["lost"], facts["ok"]) == (1, 0, [4], True)


def test_check_finds_a_packet_that_is_delivered_twice(cli: Cli, tmp_path: Path) -> None:
    lines = traffic_lines()
    delivered_twice(lines)
    result = cli("check", write(tmp_path / "t.jsonl", lines))
    assert result.code == 1
    assert "packet 0 has left the network" in result.out


@pytest.mark.parametrize("buffer", [0, 1])
@pytest.mark.parametrize(("d", "g"), [(3, 3), (4, 2), (2, 5)])
@pytest.mark.parametrize("name", [scheduler.name for scheduler in all_schedulers()])
def test_traces_of_schedulers_hold(name: str, d: int, g: int, buffer: int, tmp_path: Path) -> None:
    """The replay finds what the machine counted, though it shares no code with it."""
    network, scheduler = Network(d, g), find_scheduler(name)
    variant, _ = scheduler.variant()
    arrivals = make_arrivals(network, pattern="uniform-with-self", load=0.3)
    path = tmp_path / "t.jsonl"
    with path.open("w") as file:
        trace = TraceWriter(file)
        trace.begin_traffic(network, name, variant, 0, buffer or None)
        session = MessageSession(network, scheduler, variant, 0, buffer, [trace])
        log = session.advance(arrivals.block(0, 100))
        counts = len(log.arrival), session.memory.inside, int(log.refused.sum())
        trace.end(100, counts[0], session.lost, *counts[1:])
    found = check_trace(path)
    assert found.violations == []
    assert (found.delivered, found.held, found.refused) == counts
    assert len(found.lost) == log.lost.sum()
    for count in ("messages", "collisions", "destroyed"):
        assert getattr(found, count) == getattr(log, count).sum()
