"""``popsnet exact``: what it prints and refuses."""

from __future__ import annotations

import json

from tests.conftest import Cli
from tests.each import each


def test_exact_prints_the_fraction(cli: Cli) -> None:
    text = cli("exact", 2, 2)
    assert text.code == 0
    assert "136/45 ≈ 3.022222" in text.out
    assert "nothing to list up to 1: every run takes at least 2 steps" in (
        cli("exact", 4, 2, "--upto", 1).out
    )
    found = json.loads(cli("exact", 3, 3, "--router", "relay", "--json", "--upto", 2).out)
    assert found["mean"]["fraction"] == "444407317/176359680"
    assert [row["steps"] for row in found["steps"]] == [1, 2]
    text = cli("exact", 4, 2, "--all-packets", "--permutation", "reversal")
    assert "every packet takes part in every step" in text.out
    assert "permutation reversal" in text.out


def test_team_stages_are_solved(cli: Cli) -> None:
    found = json.loads(cli("exact", 2, 2, "--router", "relay", "--variant", "T1", "--json").out)
    assert found["mean_slots"]["fraction"] == "101/5"
    assert found["schedule"] == "T1"


@each(
    ("arguments", "reason"),
    [
        (("exact", 9, 9), "up to POPS(1, 1), POPS(12, 2) and POPS(5, 3)."),
        (("exact", 2, 3), "D >= G"),
        (("exact", 3, 1), "infinite"),
        (("exact", 2, 2, "--router", "direct"), "--router direct: it has no exact chain"),
        (("exact", 2, 2, "--router", "relay", "--all-packets"), "--all-packets: it is for"),
        (("exact", 2, 2, "--upto", "0"), "--upto 0"),
        (("exact", 2, 2, "--permutation", "keyed"), "--permutation keyed"),
        (("exact", -2, 2), "d = -2: "),
        (("exact", 2, 2, "--variant", "T1"), "--variant T1: it is for relay"),
        (("exact", 2, 2, "--router", "relay", "--variant", "P1"), "--variant P1: exact chains"),
    ],
)
def test_bad_input_is_refused(cli: Cli, arguments: tuple[object, ...], reason: str) -> None:
    refused = cli(*arguments)
    assert refused.code == 2
    assert reason in refused.err
