"""``popsnet exact``: what it prints and refuses."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Cli


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


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("exact", 9, 9), "up to POPS(1, 1), POPS(12, 2) and POPS(5, 3)."),
        (("exact", 2, 3), "D >= G"),
        (("exact", 3, 1), "infinite"),
        (("exact", 2, 2, "--router", "direct"), "--router direct has no exact chain"),
        (("exact", 2, 2, "--router", "relay", "--all-packets"), "--all-packets is for mei-rizzi"),
        (("exact", 2, 2, "--upto", "0"), "--upto 0"),
        (("exact", 2, 2, "--permutation", "keyed"), "--permutation keyed"),
        (("exact", -2, 2), "d = -2: "),
    ],
)
def test_bad_input_is_refused(cli: Cli, arguments: tuple[object, ...], reason: str) -> None:
    refused = cli(*arguments)
    assert refused.code == 2
    assert reason in refused.err
