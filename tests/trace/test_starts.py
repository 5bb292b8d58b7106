"""Packets that start anywhere: the machine's memory, traces and the checker."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from popsnet import TraceFormatError, check_trace

HEADER: dict[str, Any] = {
    "format": "popsnet-trace", "version": 1, "d": 2, "g": 2, "router": "hand", "variant": "made",
    "seed": 0, "destination": [3, 3, 1], "buffers": 2, "start": [0, 0, 2],
}  # fmt: skip
SLOTS: list[dict[str, Any]] = [
    {
        "slot": 1, "phase": "", "sends": [[0, [1], "packet", 0], [2, [0], "packet", 2]],
        "listens": [[1, 1], [3, 0]], "keeps": [[1, 2], [3, 0]], "drops": [[0, 0], [2, 2]],
    },
    {
        "slot": 2, "phase": "", "sends": [[0, [1], "packet", 1]], "listens": [[3, 0]],
        "keeps": [[3, 1]], "drops": [[0, 1]],
    },
]  # fmt: skip
OUTCOME = {"outcome": {"slots": 2, "delivered": 3, "lost": 0, "lost_packets": []}}


def checked(folder: Path, header: dict[str, Any], lines: list[dict[str, Any]]) -> list[str]:
    path = folder / "trace.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines, OUTCOME)))
    return [violation.rule for violation in check_trace(path).violations]


def test_the_checker_replays_from_the_start(tmp_path: Path) -> None:
    assert checked(tmp_path, HEADER, SLOTS) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"start": [0, 0]}, "there are 2 starts and 3 destinations"),
        ({"start": [0, 0, 4]}, "packet 2 starts at 4"),
        ({"destination": [3, -3, 1]}, "packet 1 is for -3"),
        ({"buffers": 1}, "which is 1, and one starts with 2"),
        ({"start": [0, 1, 2]}, "it does not hold packet 1"),
        ({"start": [1, 0, 2]}, "it does not hold packet 0"),
        ({"destination": [3, 0, 1]}, "its packet 1 never reached it"),
    ],
)
def test_the_checker_finds_what_is_wrong(
    change: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    assert any(complaint in rule for rule in checked(tmp_path, HEADER | change, SLOTS))


def test_the_checker_finds_packets_that_are_lost(tmp_path: Path) -> None:
    second = SLOTS[1] | {"keeps": []}
    assert any("packet 1 is lost" in rule for rule in checked(tmp_path, HEADER, [SLOTS[0], second]))


def test_without_holdings_too(tmp_path: Path) -> None:
    header = {name: value for name, value in HEADER.items() if name != "buffers"}
    lines = [{k: v for k, v in slot.items() if k not in ("keeps", "drops")} for slot in SLOTS]
    path = tmp_path / "t.jsonl"
    outcome = {"outcome": {"slots": 2, "delivered": 3, "lost": 0}}
    path.write_text("".join(json.dumps(line) + "\n" for line in (header, *lines, outcome)))
    assert check_trace(path).ok


def test_a_start_is_a_list_of_numbers(tmp_path: Path) -> None:
    with pytest.raises(TraceFormatError, match=r"start\[1\] is 'x': Expected `int`"):
        checked(tmp_path, HEADER | {"start": [0, "x", 2]}, SLOTS)
