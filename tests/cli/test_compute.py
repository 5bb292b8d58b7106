"""``popsnet compute``: what it prints and refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from popsnet.model.slot import Slot
from popsnet.studies.computing.computation import Steps
from tests.conftest import Cli


@pytest.mark.parametrize("what", ["move", "sum", "prefix-sums"])
def test_compute(cli: Cli, what: str) -> None:
    along = ("--dimension", 3) if what == "move" else ()
    result = json.loads(cli("compute", what, 8, 4, *along, "--json").out)
    assert (result["correct"], result["slots"]) == (True, 4 if what == "move" else 20)
    assert result["slots_per_move"] == 4
    assert "OK: correct" in cli("compute", what, 2, 2).out


def test_one_processor_can_add_and_has_nowhere_to_move(cli: Cli) -> None:
    assert cli("compute", "sum", 1, 1).code == cli("compute", "prefix-sums", 1, 1).code == 0
    finished = cli("compute", "move", 1, 1)
    assert (finished.code, finished.out) == (2, "")
    assert "POPS(1, 1) has one processor and no dimension" in finished.err
    assert "-1" not in finished.err


def _nothing() -> Steps:
    yield Slot()
    return np.zeros(4)


def test_a_wrong_result_ends_with_1(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "popsnet.studies.computing.computation.add_all", lambda network, values: _nothing()
    )
    finished = cli("compute", "sum", 2, 2)
    assert (finished.code, "WRONG" in finished.out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("compute", "nothing", 2, 2), "There is no computation 'nothing'. Give one of: move"),
        (("compute", "sum", 3, 3), "power of two"),
        (("compute", "move", 2, 2, "--dimension", 2), "--dimension 2: POPS(2, 2) has dimensions"),
        (("compute", "sum", 0, 1), "d = 0"),
    ],
)
def test_bad_input_is_refused(cli: Cli, arguments: tuple[object, ...], reason: str) -> None:
    refused = cli(*arguments)
    assert refused.code == 2
    assert reason in refused.err
