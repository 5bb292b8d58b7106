"""``popsnet exact`` from the command line."""

from __future__ import annotations

import json

import pytest

from tests.conftest import Cli


def test_the_command_prints_the_fraction(cli: Cli) -> None:
    text = cli("exact", 2, 2)
    assert text.code == 0
    assert "136/45 ≈ 3.022222" in text.out
    assert "--upto 1 lists nothing: every run takes 2 steps" in cli("exact", 4, 2, "--upto", 1).out
    found = json.loads(cli("exact", 3, 3, "--router", "relay", "--json", "--upto", 2).out)
    assert found["mean"]["fraction"] == "444406831/176359680"
    assert [row["steps"] for row in found["steps"]] == [0, 1, 2]
    law = cli("exact", 4, 2, "--everybody", "--permutation", "reversal").out
    assert "everybody takes part" in law
    assert "permutation reversal" in law


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((9, 9), "too many states"),
        ((2, 3), "d >= g"),
        ((3, 1), "infinite"),
        ((2, 2, "--router", "direct"), "mei-rizzi and relay"),
        ((2, 2, "--router", "relay", "--everybody"), "--everybody"),
        ((2, 2, "--upto", "0"), "--upto 0"),
        ((2, 2, "--permutation", "keyed"), "keyed"),
        ((-2, 2), "below 1"),
    ],
)
def test_what_cannot_be_solved_is_refused(
    cli: Cli, arguments: tuple[object, ...], reason: str
) -> None:
    refused = cli("exact", *arguments)
    assert refused.code == 2
    assert reason in refused.err
