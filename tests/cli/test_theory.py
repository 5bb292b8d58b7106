"""``popsnet theory``, ``popsnet exact`` and ``popsnet compute``: what they print and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from popsnet.advice import predict
from popsnet.computing.moves import Steps
from popsnet.network import Network
from popsnet.slot import Slot
from popsnet.theory import expected_steps
from tests.conftest import Cli


def test_theory_has_predictions_bounds_and_tails(cli: Cli) -> None:
    found = json.loads(cli("theory", 8, 8, "--runs", 3, "--json").out)
    assert list(found) == [
        "network", "runs", "constants", "predictions", "tail", "bounds", "tail_bounds",
    ]  # fmt: skip
    routers = [(row["router"], row["variant"]) for row in found["predictions"]]
    assert routers[:2] == [("mei-rizzi", "published"), ("relay", "S")]
    assert all(row["measured_slots"] for row in found["predictions"])
    assert found["predictions"][0]["steps"] == expected_steps(Network(8, 8))
    assert {row["name"] for row in found["bounds"]} >= {"direct", "oblivious", "rigid"}
    (row,) = [row for row in found["tail_bounds"] if row["measured"] is not None]
    assert row["fails_at_most"] > 1 > row["measured"]
    assert row["smallest_g"] > 8


def test_theory_prints_text_on_any_shape(cli: Cli) -> None:
    for d, g in ((1, 1), (1, 4), (4, 2), (3, 2)):
        printed = cli("theory", d, g)
        assert printed.code == 0, printed.err
        assert "Bounds, in slots" in printed.out
        assert "measured steps" not in printed.out
    assert "measured steps" in cli("theory", 4, 4, "--runs", 2).out
    assert max(map(len, str(predict(64, 64)).splitlines())) <= 80
    assert cli("theory", 4, 4, "--csv").out.startswith("router,variant,steps,slots,")


def test_every_reference_of_a_bound_is_printed(cli: Cli) -> None:
    found = predict(32, 4)
    text = " ".join(cli("theory", 32, 4).out.split())
    assert all(bound.reference in text for bound, _ in found.bounds)


def test_theory_draws_a_run(cli: Cli, tmp_path: Path) -> None:
    drawn = cli("theory", 16, 8, "--figure", tmp_path / "run.svg", "--json")
    assert drawn.code == 0, drawn.err
    assert json.loads(drawn.out)["figure"] == str(tmp_path / "run.svg")
    assert [path.name for path in tmp_path.iterdir()] == ["run.svg"]


def test_exact_prints_the_fraction(cli: Cli) -> None:
    text = cli("exact", 2, 2)
    assert text.code == 0
    assert "136/45 ≈ 3.022222" in text.out
    assert "Nothing to list up to 1: every run takes 2 steps" in cli("exact", 4, 2, "--upto", 1).out
    found = json.loads(cli("exact", 3, 3, "--router", "relay", "--json", "--upto", 2).out)
    assert found["mean"]["fraction"] == "444406831/176359680"
    assert [row["steps"] for row in found["steps"]] == [0, 1, 2]
    text = cli("exact", 4, 2, "--all-packets", "--permutation", "reversal")
    assert "every packet takes part in every step" in text.out
    assert "permutation reversal" in text.out


@pytest.mark.parametrize("what", ["move", "sum", "prefix-sums"])
def test_compute(cli: Cli, what: str) -> None:
    result = json.loads(cli("compute", what, 8, 4, "--dimension", 3, "--json").out)
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
    monkeypatch.setattr("popsnet.computing.moves.add_all", lambda network, values: _nothing())
    finished = cli("compute", "sum", 2, 2)
    assert (finished.code, "WRONG" in finished.out) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("theory", 2, 4, "--figure", "f.svg"), "d >= g"),
        (("theory", 4, 4, "--figure", "f.xyz"), "--figure f.xyz: the name must end in"),
        (("theory", 2, 2, "--runs", "-1"), "--runs -1"),
        (("theory", 0, 2), "d = 0"),
        (("exact", 9, 9), "too many states"),
        (("exact", 2, 3), "d >= g"),
        (("exact", 3, 1), "infinite"),
        (("exact", 2, 2, "--router", "direct"), "--router direct: exact chains exist for"),
        (("exact", 2, 2, "--router", "relay", "--all-packets"), "--all-packets is for mei-rizzi"),
        (("exact", 2, 2, "--upto", "0"), "--upto 0"),
        (("exact", 2, 2, "--permutation", "keyed"), "--permutation keyed"),
        (("exact", -2, 2), "below 1"),
        (("compute", "nothing", 2, 2), "There is no 'nothing' to compute"),
        (("compute", "sum", 3, 3), "power of two"),
        (("compute", "move", 2, 2, "--dimension", 2), "--dimension 2: POPS(2, 2) has dimensions"),
        (("compute", "sum", 0, 1), "d = 0"),
    ],
)
def test_bad_input_is_refused(cli: Cli, arguments: tuple[object, ...], reason: str) -> None:
    refused = cli(*arguments)
    assert refused.code == 2
    assert reason in refused.err
