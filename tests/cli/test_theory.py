"""``popsnet theory`` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from popsnet import Network
from popsnet.theory import (
    expected_steps,
)
from tests.conftest import Cli


def test_the_command_has_predictions_bounds_and_tails(cli: Cli) -> None:
    found = json.loads(cli("theory", 8, 8, "--runs", 3, "--json").out)
    routers = [(row["router"], row["variant"]) for row in found["predictions"]]
    assert routers[:2] == [("mei-rizzi", "published"), ("relay", "S")]
    assert all("measured_slots" in row for row in found["predictions"])
    assert found["predictions"][0]["steps"] == expected_steps(Network(8, 8))
    assert {row["name"] for row in found["bounds"]} >= {"direct", "oblivious", "rigid"}
    (row,) = [row for row in found["tail_bounds"] if "measured" in row]
    assert row["fails_at_most"] > 1 > row["measured"]


def test_the_command_prints_text_on_any_shape(cli: Cli) -> None:
    for d, g in ((1, 1), (1, 4), (4, 2), (3, 2)):
        printed = cli("theory", d, g)
        assert printed.code == 0, printed.err
        assert "Bounds, in slots" in printed.out


def test_the_command_draws_a_run(cli: Cli, tmp_path: Path) -> None:
    drawn = cli("theory", 16, 8, "--figure", tmp_path / "run")
    assert drawn.code == 0, drawn.err
    assert {path.name for path in tmp_path.iterdir()} == {"run.svg", "run.png"}


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [((2, 4, "--figure", "f"), "d >= g"), ((2, 2, "--runs", "-1"), "--runs -1"), ((0, 2), "d = 0")],
)
def test_the_command_refuses(cli: Cli, arguments: tuple[object, ...], reason: str) -> None:
    refused = cli("theory", *arguments)
    assert refused.code == 2
    assert reason in refused.err
