"""The checker accepts what happened and finds what was tampered with."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import popsnet
from popsnet import InputError, TraceFormatError, check_trace, route
from popsnet.trace import Event, OutcomeLine, SlotLine, TraceWriter, read_trace
from tests.conftest import Cli

Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A real trace: the header, the slots and the outcome of a run on POPS(4, 4)."""
    path = tmp_path_factory.mktemp("trace") / "trace.jsonl"
    route(4, 4, seed=1, trace=path)
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(path: Path, lines: Lines) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_real_trace_is_of_the_documented_form(lines: Lines) -> None:
    header, *slots, last = lines
    assert list(header) == [
        "format", "version", "d", "g", "router", "variant", "seed", "destination", "buffers",
        "explanation", "phases", "conflict_graph",
    ]  # fmt: skip
    assert (header["format"], header["version"]) == ("popsnet-trace", 1)
    fields = ["slot", "phase", "step", "sends", "listens", "keeps", "drops"]
    assert all(list(slot) == fields for slot in slots)
    assert [slot["slot"] for slot in slots] == list(range(1, len(slots) + 1))
    assert {send[2] for slot in slots for send in slot["sends"]} == {"packet", "ack"}
    outcome = {"slots": len(slots), "delivered": 16, "lost": 0, "lost_packets": []}
    assert last == {"outcome": outcome}


def test_a_real_trace_holds(lines: Lines, tmp_path: Path) -> None:
    report = check_trace(write(tmp_path / "t", lines))
    assert report.ok
    assert (report.delivered, report.undelivered) == (16, [])


def without_holdings(lines: Lines) -> Lines:
    """As a program writes it that does not say who holds what."""
    lines = copy.deepcopy(lines)
    del lines[0]["buffers"], lines[-1]["outcome"]["lost_packets"]
    for line in lines[1:-1]:
        del line["keeps"], line["drops"]
    return lines


def test_a_trace_that_does_not_say_who_holds_what_holds_too(lines: Lines, tmp_path: Path) -> None:
    report = check_trace(write(tmp_path / "t", without_holdings(lines)))
    assert report.ok
    assert (report.delivered, report.undelivered) == (16, [])


def test_a_trace_that_counts_slots_from_zero_holds_too(lines: Lines, tmp_path: Path) -> None:
    lines = copy.deepcopy(lines)
    for line in lines[1:-1]:
        line["slot"] -= 1
    assert check_trace(write(tmp_path / "t", lines)).ok


def test_a_trace_without_steps_holds_too(lines: Lines, tmp_path: Path) -> None:
    assert [line["step"] for line in lines[1:-1]] == [i // 5 for i in range(len(lines) - 2)]
    lines = copy.deepcopy(lines)
    for line in lines[1:-1]:
        del line["step"]
    assert check_trace(write(tmp_path / "t", lines)).ok


def relays(lines: Lines) -> Any:
    return lines[2]["sends"]


def sent_by_another(lines: Lines) -> None:
    taken = {send[0] for send in relays(lines)}
    relays(lines)[0][0] = next(j for j in range(16) if j not in taken)


def collide(lines: Lines) -> None:
    """The last slot of all: another processor of the group sends on the same coupler."""
    last = [line for line in lines[1:-1] if line["sends"]][-1]
    processor, groups, _, packet = last["sends"][0]
    other = processor // 4 * 4 + (processor + 1) % 4
    last["sends"].append([other, groups, "ack", other])
    assert packet is not None


def swap_destinations(lines: Lines) -> None:
    destination = lines[0]["destination"]
    destination[0], destination[1] = destination[1], destination[0]


def stop_listening(lines: Lines) -> None:
    for line in lines[5::5]:
        line["listens"] = []


def ack_of_a_stranger(lines: Lines) -> None:
    lines[1]["sends"][0][2:] = ["ack", 15 - lines[1]["sends"][0][0]]


TAMPERED: dict[str, tuple[Callable[[Lines], Any], str]] = {
    "a packet sent by one who never had it": (sent_by_another, "never had packet"),
    "two messages of one processor": (
        lambda lines: relays(lines).append(copy.deepcopy(relays(lines)[0])),
        "at most one message",
    ),
    "two listened couplers": (
        lambda lines: lines[1]["listens"].append([0, 3]),
        "listens to at most one",
    ),
    "a sender that does not exist": (
        lambda lines: relays(lines)[0].__setitem__(0, 16),
        "processors are numbered",
    ),
    "a negative sender": (
        lambda lines: relays(lines)[0].__setitem__(0, -1),
        "processors are numbered",
    ),
    "a listener that does not exist": (
        lambda lines: lines[1]["listens"].append([16, 0]),
        "processors are numbered",
    ),
    "a coupler to no group": (
        lambda lines: relays(lines)[0].__setitem__(1, [4]),
        "groups are numbered",
    ),
    "a coupler from no group": (
        lambda lines: lines[1]["listens"][0].__setitem__(1, 4),
        "groups are numbered",
    ),
    "a message to nobody": (lambda lines: relays(lines)[0].__setitem__(1, []), "non-empty set"),
    "a group named twice": (
        lambda lines: relays(lines)[0].__setitem__(1, [1, 1]),
        "each named once",
    ),
    "a packet that does not exist": (
        lambda lines: relays(lines)[0].__setitem__(3, 16),
        "packets are numbered",
    ),
    "a packet message without a packet": (
        lambda lines: relays(lines)[0].__setitem__(3, None),
        "names its packet",
    ),
    "an unknown kind": (lambda lines: relays(lines)[0].__setitem__(2, "laser"), "not 'laser'"),
    "an ack by one who heard nothing": (ack_of_a_stranger, "of which it never heard"),
    "a collision slipped in": (collide, "never reached it"),
    "destinations swapped": (swap_destinations, "never reached it"),
    "destinations that are no permutation": (
        lambda lines: lines[0]["destination"].__setitem__(0, lines[0]["destination"][1]),
        "not a permutation",
    ),
    "a destination too few": (lambda lines: lines[0]["destination"].pop(), "not a permutation"),
    "another d": (lambda lines: lines[0].__setitem__("d", 5), "not a permutation"),
    "nobody listens in slot 5": (stop_listening, "never reached it"),
    "a slot left out": (lambda lines: lines.pop(3), "numbered in order"),
    "a slot repeated": (lambda lines: lines.insert(2, lines[1]), "numbered in order"),
    "slots exchanged": (lambda lines: lines.insert(1, lines.pop(2)), "numbered in order"),
    "a step that goes back": (
        lambda lines: lines[1].__setitem__("step", 1),
        "steps never decrease",
    ),
    "the last slot left out": (lambda lines: lines.pop(-2), "never reached it"),
    "the outcome left out": (lambda lines: lines.pop(), "no outcome line"),
    "a line after the outcome": (lambda lines: lines.append(lines[1]), "follow the outcome"),
    "too few slots claimed": (
        lambda lines: lines[-1]["outcome"].__setitem__("slots", 1),
        "claims 1 slots",
    ),
    "too few deliveries claimed": (
        lambda lines: lines[-1]["outcome"].__setitem__("delivered", 15),
        "by its own outcome 15 of 16",
    ),
    "losses claimed": (lambda lines: lines[-1]["outcome"].__setitem__("lost", 1), "claims 1 lost"),
}


FOUND_EARLIER = {
    "a packet sent by one who never had it": "does not hold packet",
    "a collision slipped in": "stores only a packet it heard",
    "nobody listens in slot 5": "stores only a packet it heard",
}
"""What is found first where the trace says who holds what."""


@pytest.mark.parametrize("holdings", [True, False])
@pytest.mark.parametrize("kind", TAMPERED)
def test_tampering_is_found_and_located(
    kind: str, holdings: bool, lines: Lines, tmp_path: Path, cli: Cli
) -> None:
    tamper, complaint = TAMPERED[kind]
    if holdings:
        complaint = FOUND_EARLIER.get(kind, complaint)
    lines = copy.deepcopy(lines) if holdings else without_holdings(lines)
    tamper(lines)
    path = write(tmp_path / "t", lines)
    report = check_trace(path)
    assert not report.ok
    assert any(complaint in violation.rule for violation in report.violations), report.violations
    finished = cli("check", path)
    assert finished.code == 1
    assert "FAILED" in finished.out
    assert "line " in finished.out
    assert complaint in finished.out


@pytest.mark.parametrize("field", ["buffers", "keeps", "drops", "lost_packets"])
def test_a_trace_that_says_half_of_who_holds_what_is_refused(
    field: str, lines: Lines, tmp_path: Path, cli: Cli
) -> None:
    lines = copy.deepcopy(lines)
    part = {"buffers": lines[0], "lost_packets": lines[-1]["outcome"]}.get(field, lines[1])
    del part[field]
    told = cli("check", write(tmp_path / "t", lines))
    assert told.code == 2
    assert "give both or neither" in told.err


def test_no_buffers_at_all_are_refused(lines: Lines, tmp_path: Path, cli: Cli) -> None:
    lines = copy.deepcopy(lines)
    lines[0]["buffers"] = 0
    told = cli("check", write(tmp_path / "t", lines))
    assert (told.code, "buffers is 0: Expected `int` >= 1" in told.err) == (2, True)


def test_losses_are_not_told_where_holdings_are_not(lines: Lines, tmp_path: Path, cli: Cli) -> None:
    told = cli("check", write(tmp_path / "t", without_holdings(lines)))
    assert (told.code, "lost packets not recorded" in told.out) == (0, True)


def drop_a_copy(lines: Lines) -> None:
    """In slot 2 somebody forgets the copy it has just got."""
    lines[2]["keeps"].pop()


HOLDINGS_TAMPERED: dict[str, tuple[Callable[[Lines], Any], str]] = {
    "a copy of what was not heard": (
        lambda lines: lines[1]["keeps"].append([0, 15]),
        "stores only a packet it heard",
    ),
    "a copy kept twice": (
        lambda lines: lines[1]["keeps"].append(lines[1]["keeps"][0]),
        "stores only a packet it heard",
    ),
    "a keeper that does not exist": (
        lambda lines: lines[1]["keeps"].append([16, 0]),
        "stores only a packet it heard",
    ),
    "a drop of what is not held": (
        lambda lines: lines[1]["drops"].append([0, 15]),
        "drops only packets it holds",
    ),
    "a drop by nobody": (
        lambda lines: lines[1]["drops"].append([-1, 0]),
        "drops only packets it holds",
    ),
    "a copy forgotten": (drop_a_copy, "does not hold packet"),
    "fewer buffers": (lambda lines: lines[0].__setitem__("buffers", 1), "than its router claims"),
    "a loss that is none": (
        lambda lines: lines[-1]["outcome"].update(lost=1, lost_packets=[3]),
        "claims 1 lost (packets 3); the replay finds 0 (none)",
    ),
    "a packet thrown away at the start": (
        lambda lines: lines[1]["drops"].append([lines[1]["sends"][-1][0]] * 2),
        "drops only packets it holds",
    ),
}


@pytest.mark.parametrize("kind", HOLDINGS_TAMPERED)
def test_tampering_with_what_is_held_is_found(kind: str, lines: Lines, tmp_path: Path) -> None:
    tamper, complaint = HOLDINGS_TAMPERED[kind]
    lines = copy.deepcopy(lines)
    tamper(lines)
    report = check_trace(write(tmp_path / "t", lines))
    assert any(complaint in violation.rule for violation in report.violations), report.violations


@given(data=st.data())
def test_a_last_hop_to_another_group_is_always_found(
    lines: Lines, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Unless the destination has had the packet in its hands as a relay."""
    lines = copy.deepcopy(lines)
    handled = {(send[0], send[3]) for line in lines[1:-1] for send in line["sends"]}
    hops = [
        send
        for line in lines[5:-1:5]
        for send in line["sends"]
        if (lines[0]["destination"][send[3]], send[3]) not in handled
    ]
    send = data.draw(st.sampled_from(hops))
    send[1] = [(send[1][0] + data.draw(st.integers(1, 3))) % 4]
    assert not check_trace(write(tmp_path_factory.mktemp("t") / "t", lines)).ok


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        ("hello\n", "not JSON"),
        ("[1, 2]\n", "one JSON object per line"),
        ('{"format": "other"}\n', "not a popsnet trace"),
        ('{"format": "popsnet-trace", "version": 2}\n', "version 2; popsnet reads version 1"),
        ('{"format": "popsnet-trace", "version": 1, "d": 2}\n', "missing required field `g`"),
        ("\x93NUMPY\x01\x00", "not JSON"),
        ("[" * 100_000 + "\n", "not JSON"),
        ('{"format": NaN}\n', "not JSON"),
    ],
)
def test_foreign_files_are_refused(text: str, complaint: str, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "t"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(TraceFormatError, match=complaint):
        check_trace(path)
    assert cli("check", path).code == 2


LATER = '{"format": "popsnet-trace", "version": 1, "d": 1, "g": 1, "router": "r", "variant": "v", '
LATER += (
    '"seed": 0, "destination": [0]}\n{"slot": 1, "phase": "", "sends": [], "listens": [], %s}\n'
)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ('"unknown": "\xff"', "not JSON"),
        ('"unknown": NaN', "NaN is not allowed"),
        (f'"unknown": {"9" * 5000}', "not JSON"),
        (f'"unknown": {"[" * 200_000}{"]" * 200_000}', "not JSON"),
        ('"sends": [[0, [0], "packet", true]]', r"sends\[0\]\[3\] is True: Expected `int | null`"),
        ('"sends": [[0, [0], "packet", 0, 0]]', "Expected `array` of length 4"),
        ('"listens": [[0, 0.0]]', r"listens\[0\]\[1\] is 0.0: Expected `int`, got `float`"),
        ('"step": -1', "step is -1: Expected `int` >= 0"),
        ('"step": null', "step is None: Expected `int`, got `null`"),
        ('"keeps": []', '"keeps" is present, and the header has no "buffers"'),
        ('"outcome": "\\ud800"', "line 2"),
        ('"outcome": {"slots": 1, "delivered": "1", "lost": 0}', "outcome.delivered is '1'"),
    ],
)
def test_what_is_wrong_in_a_slot_is_told(fields: str, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_bytes((LATER % fields).encode("latin-1"))
    with pytest.raises(TraceFormatError, match=complaint) as refused:
        check_trace(path)
    assert "line 2: " in str(refused.value)


@pytest.mark.parametrize(
    "fields",
    [
        '"number": "one", "unknown": [[1.5, null]], "\\ud800": 1e999',
        '"sends": 5, "sends": [], "slot": 2, "slot": 1',
        f'"unknown": {10**400}',
        '"phase": "\\ud800"',
        '"step": 100000000000000000000000000000',
    ],
)
def test_fields_of_other_programs_are_ignored(fields: str, tmp_path: Path) -> None:
    path = tmp_path / "t"
    outcome = '{"outcome": {"slots": 1, "delivered": 1, "lost": 0, "more": []}, "slot": "x"}\n'
    path.write_bytes(b"\xef\xbb\xbf" + (LATER % fields + "\n \n" + outcome).encode("latin-1"))
    assert check_trace(path).ok


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        (0, "d", "4"),
        (0, "d", 0),
        (0, "g", True),
        (0, "router", 7),
        (0, "destination", [0.5] * 16),
        (0, "explanation", 7),
        (0, "explanation", None),
        (0, "phases", ["*"]),
        (0, "phases", {"*": 7}),
        (0, "conflict_graph", 1),
        (1, "sends", [[0, 1, "packet", 0]]),
        (1, "sends", [[0, ["1"], "packet", 0]]),
        (1, "sends", [[0, [1], "packet"]]),
        (1, "sends", [[0, [1], "packet", "0"]]),
        (1, "sends", None),
        (1, "listens", [[0]]),
        (1, "listens", [[0, 1.0]]),
        (1, "slot", "one"),
        (1, "step", -1),
        (1, "step", 0.0),
        (1, "step", None),
        (-1, "outcome", [1, 2, 3]),
    ],
)
def test_lines_of_the_wrong_form_cannot_be_read(
    line: int, key: str, value: object, lines: Lines, tmp_path: Path, cli: Cli
) -> None:
    lines = copy.deepcopy(lines)
    lines[line][key] = value
    finished = cli("check", write(tmp_path / "t", lines))
    assert finished.code == 2
    assert f"line {line % len(lines) + 1}" in finished.err


def test_a_torn_last_line_is_called_torn_wherever_it_is_cut(
    lines: Lines, tmp_path: Path, cli: Cli
) -> None:
    whole = write(tmp_path / "t", lines).read_bytes()
    starts = [0] + [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in range(starts[1] + 1, len(whole) - 1, 97):
        (tmp_path / "t").write_bytes(whole[:cut])
        finished = cli("check", tmp_path / "t")
        if cut in starts or cut + 1 in starts:  # cut between lines: whole lines, no outcome
            assert finished.code == 1
            assert "no outcome line" in finished.out
        else:
            assert finished.code == 2
            assert "the last line is torn" in finished.err


def test_a_missing_newline_at_the_end_is_no_tear(lines: Lines, tmp_path: Path) -> None:
    path = write(tmp_path / "t", lines)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert check_trace(path).ok


def test_missing_files_and_folders_cannot_be_read(tmp_path: Path, cli: Cli) -> None:
    for path in (tmp_path / "absent", tmp_path):
        finished = cli("check", path)
        assert finished.code == 2
        assert "cannot be read" in finished.err


def test_a_huge_network_in_the_header_is_no_trouble(lines: Lines, tmp_path: Path) -> None:
    lines = copy.deepcopy(lines)
    lines[0]["d"] = lines[0]["g"] = 10**9
    assert not check_trace(write(tmp_path / "t", lines)).ok


def test_what_is_delivered_at_the_start_may_be_sent_all_the_same(tmp_path: Path) -> None:
    header = {
        "format": "popsnet-trace", "version": 1, "d": 1, "g": 2, "router": "r", "variant": "v",
        "seed": 0, "destination": [0, 1],
    }  # fmt: skip
    slot = {"slot": 1, "phase": "", "sends": [[0, [1], "packet", 0]], "listens": []}
    control = {"slot": 2, "phase": "", "sends": [[0, [1], "control", 1]], "listens": []}
    outcome = {"outcome": {"slots": 2, "delivered": 2, "lost": 0}}
    assert check_trace(write(tmp_path / "t", [header, slot, control, outcome])).ok


@pytest.mark.parametrize("permutation", ["random", "identity"])
def test_a_capped_run_is_confirmed_to_have_packets_left(permutation: str, tmp_path: Path) -> None:
    """The replay finds no fault but the packets that are missing."""
    path = tmp_path / "t"
    for seed in range(30):
        (run,) = route(8, 8, max_steps=1, seed=seed, permutation=permutation, trace=path)
        report = check_trace(path)
        assert not report.ok
        assert run.outcome.delivered <= report.delivered
        assert permutation == "identity" or report.delivered < 64
        assert report.violation_count == 1 + len(report.undelivered)
        assert "by its own outcome" in report.violations[0].rule
        assert all("never reached it" in violation.rule for violation in report.violations[1:])


def test_a_trace_is_checked_in_a_file() -> None:
    with pytest.raises(InputError, match=r"not a Run; write the trace with run\.write_trace"):
        popsnet.check_trace(route(2, 2)[0])  # type: ignore[arg-type]


def test_a_phase_that_is_not_ascii_is_written_in_ascii() -> None:
    file = io.StringIO()
    writer = TraceWriter(file)
    writer(Event(1, 'é \ud800 \x7f "', 0, 1, lambda: ([(0, [1], "packet", None)], [(0, 1)])))
    writer.settle([(0, 1)], [])
    assert file.getvalue() == (
        '{"slot":1,"phase":"\\u00e9 \\ud800 \\u007f \\"","step":0,"sends":[[0,[1],"packet",null]],'
        '"listens":[[0,1]],"keeps":[[0,1]],"drops":[]}\n'
    )


def test_a_trace_is_read_by_the_name_of_its_file(lines: Lines, tmp_path: Path) -> None:
    path = write(tmp_path / "t", lines)
    for name in (path, str(path)):
        trace = read_trace(name)
        *slots, last = trace
        assert isinstance(last, OutcomeLine)
        assert all(isinstance(line, SlotLine) for line in slots)
        assert (trace.header.d, len(slots)) == (4, last.slots)
    assert all(hasattr(popsnet.trace, name) for name in dir(popsnet.trace))
    with pytest.raises(AttributeError, match="attribute 'reed_trace'"):
        getattr(popsnet.trace, "reed_trace")  # noqa: B009
