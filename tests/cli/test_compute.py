"""``popsnet compute`` from the command line."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Cli


@pytest.mark.parametrize("what", ["move", "sum", "prefix-sums"])
def test_the_command(cli: Cli, what: str) -> None:
    result = json.loads(cli("compute", what, 8, 4, "--dimension", 3, "--json").out)
    assert (result["right"], result["slots"]) == (True, 4 if what == "move" else 20)
    assert "OK: right" in cli("compute", what, 2, 2).out


@pytest.mark.parametrize(
    "wrong", [("nothing", 2, 2), ("sum", 3, 3), ("move", 2, 2, "--dimension", 2), ("sum", 0, 1)]
)
def test_what_cannot_be_computed_is_refused(cli: Cli, wrong: tuple[object, ...]) -> None:
    assert cli("compute", *wrong).code == 2


def test_one_processor_can_add_and_has_nowhere_to_move(cli: Cli) -> None:
    assert cli("compute", "sum", 1, 1).code == cli("compute", "prefix-sums", 1, 1).code == 0
    finished = cli("compute", "move", 1, 1)
    assert (finished.code, finished.out) == (2, "")
    assert "POPS(1, 1) has one processor and no dimension" in finished.err
    assert "-1" not in finished.err
