"""The checker on traces with faults: it believes neither losses nor outcomes without reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import popsnet
from popsnet.trace.checker import TraceCheck

Lines = list[dict[str, Any]]


def _lines(**choices: Any) -> Lines:
    text = popsnet.route(4, 4, router="direct", **choices)[0].trace()
    return [json.loads(line) for line in text.splitlines()]


def _check(lines: Lines, tmp_path: Path) -> TraceCheck:
    path = tmp_path / "run.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return popsnet.check_trace(path)


FAULTS = "coupler:0-1@2 processor:6 transmitter:9 loss:0.3"


def _missed(lines: Lines) -> dict[str, Any]:
    return next(line for line in lines[1:-1] if line.get("misses"))


def _all_hear(lines: Lines) -> None:
    for line in lines[1:-1]:
        line.pop("misses", None)


def _no_faults(lines: Lines) -> None:
    del lines[0]["faults"]


def _one_listener(lines: Lines) -> None:
    """Let one more processor listen to a coupler whose message is lost for another."""
    line = _missed(lines)
    who = line["misses"][0]
    group = dict(map(tuple, line["listens"]))[who]
    other = next(p for p in range(who // 4 * 4, who // 4 * 4 + 4) if p != who)
    line["listens"] = [pair for pair in line["listens"] if pair[0] != other] + [[other, group]]


def _nothing_to_lose(lines: Lines) -> None:
    line = _missed(lines)
    line["misses"] = [*line["misses"], next(p for p in range(16) if p not in line["misses"])]
    line["listens"] = [pair for pair in line["listens"] if pair[0] in _missed(lines)["misses"][:-1]]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_all_hear, None),
        (_no_faults, "messages are lost only if the header has a loss"),
        (_one_listener, "a lost message is lost for all listeners of its coupler"),
        (_nothing_to_lose, "a message is lost only where there is one to hear"),
        (lambda lines: lines[0]["faults"].pop("loss"), "messages are lost only if"),
        (lambda lines: lines[-1]["outcome"].update(unreachable=7), "claims 7 unreachable"),
        (lambda lines: lines[-1]["outcome"].update(lost=0, lost_packets=[]), "claims 0 lost"),
        (lambda lines: lines[-1]["outcome"].update(delivered=16), "claims 16 delivered"),
    ],
)
def test_a_false_trace_is_found(
    change: Callable[[Lines], object], says: str | None, tmp_path: Path
) -> None:
    lines = _lines(faults=FAULTS, fault_seed=2)
    assert _check(lines, tmp_path).ok
    change(lines)
    found = _check(lines, tmp_path)
    if says is None:  # more is heard than was kept, which breaks no rule
        assert found.ok
    else:
        assert any(says in violation.rule for violation in found.violations), found.violations


@pytest.mark.parametrize(
    ("faults", "who"),
    [("coupler:0-1", "coupler"), ("receiver:{to}", "receiver"), ("transmitter:{by}", "sender"),
     ("processor:{to}@{slot}", "destination")],
)  # fmt: skip
def test_nothing_is_heard_from_dead_parts(faults: str, who: str, tmp_path: Path) -> None:
    """Take a sound run, and claim faults under which a packet that was kept was not heard."""
    lines = _lines(permutation="shift:4")
    slot, (by, *_) = next(
        (line["slot"], send)
        for line in lines[1:-1]
        for send in line["sends"]
        if send[0] < 4 and send[1] == [1] and send[3] in [kept[1] for kept in line["keeps"]]
    )
    to = lines[0]["destination"][by]
    text = faults.format(to=to, by=by, slot=slot)
    lines[0]["faults"] = popsnet.Faults.parse(text).to_dict()
    found = _check(lines, tmp_path)
    assert any(
        violation.slot == slot and violation.processor == to for violation in found.violations
    ), who
    lines[0]["faults"] = popsnet.Faults.parse(f"processor:{to}@1000").to_dict()
    assert _check(lines, tmp_path).ok


def test_missing_packets_are_no_violation(tmp_path: Path) -> None:
    found = _check(_lines(permutation="shift:4", faults="coupler:0-1 coupler:1-2"), tmp_path)
    assert (found.ok, found.faulty) == (True, True)
    assert found.delivered + len(found.lost) == 16
    assert found.lost


@pytest.mark.parametrize(
    "faults",
    [{"couplers": [[4, 0, 1]]}, {"processors": [[16, 1]]}, {"loss": 2}, {"lenses": []}, [], 3],
)
def test_faults_that_cannot_be_are_refused(faults: object, tmp_path: Path) -> None:
    lines = _lines()
    lines[0]["faults"] = faults
    with pytest.raises(popsnet.TraceFormatError, match="faults"):
        _check(lines, tmp_path)
