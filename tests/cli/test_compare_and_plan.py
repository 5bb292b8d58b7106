"""``popsnet compare`` and ``popsnet plan`` from the command line."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from popsnet import InputError, Network
from popsnet.advice.comparison import compare
from tests.conftest import Cli


def test_compare_prints_and_draws(cli: Cli, tmp_path: Path) -> None:
    picture = tmp_path / "c.svg"
    finished = cli("compare", 6, 3, "--runs", 2, "--figure", picture)
    assert (finished.code, finished.err) == (0, "")
    assert "Lower bound for any schedule" in finished.out
    assert picture.read_text().startswith("<svg")
    result = json.loads(cli("compare", 4, 4, "--runs", 2, "--json").out)
    slots = {row["router"]: row["worst_slots"] for row in result["routers"]}
    assert (slots["batcher"], slots["datta"], slots["offline"]) == (20, 28, 2)
    assert result["ok"]


def test_a_router_that_takes_long_is_run_if_it_is_asked_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("popsnet.advice.comparison._MOST_SLOTS", 0)
    figure = tmp_path / "c.svg"
    nothing = cli("compare", 4, 4, "--runs", 1, "--figure", figure)
    assert "long: direct (about 4 slots on 16 processors); --router direct runs" in nothing.out
    assert nothing.out.endswith("No figure is written.\nFAILED: no router was run.\n")
    assert nothing.code == 1
    assert not figure.exists()
    assert "Every packet was delivered." in cli("compare", 4, 4, "--router", "direct").out


def test_an_interrupted_comparison_reports_what_is_finished(cli: Cli, tmp_path: Path) -> None:
    stops = tmp_path / "stops.py"
    stops.write_text(
        "import popsnet\n\n@popsnet.register('stops', summary='', slots='', buffers=1)\n"
        "def stops(*_):\n    raise KeyboardInterrupt\n    yield\n"
    )
    finished = cli("compare", 4, 4, "--runs", 1, "--router", "direct", "--router", stops)
    assert (finished.code, finished.err) == (130, "Interrupted: 1 router finished.\n")
    assert "direct" in finished.out
    nothing = cli("compare", 4, 4, "--runs", 1, "--router", stops)
    assert (nothing.code, nothing.out) == (130, "")


def test_plan_says_why(cli: Cli) -> None:
    assert "Use batcher: 21 slots on every permutation" in cli("plan", 1, 64).out
    result = json.loads(cli("plan", 1024, 1024, "--json").out)
    assert result["router"] == "relay"
    assert "on average" in result["reason"]


def test_bad_input_is_refused(cli: Cli, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="runs = 0: it must be at least 1"):
        compare(Network(2, 2), runs=0)
    assert cli("compare", 2**9, 2**9).code == 2
    assert cli("compare", 2, 2, "--figure", tmp_path / "x.txt").code == 2
    assert cli("plan", 0, 2).code == 2
    assert "d = -1: " in cli("compare", -1, 2).err


def test_compare_has_the_options_of_the_library(cli: Cli) -> None:
    chosen = ("--router", "direct", "--router", "relay", "--permutation", "transpose")
    asked = ("compare", 8, 8, "--runs", 2, *chosen, "--seed", 1, "--permutation-seed", 2)
    finished = cli(*asked, "--csv")
    assert finished.code == 0
    rows = list(csv.DictReader(finished.out.splitlines()))
    found = compare(
        8, 8, routers=["direct", "relay"], runs=2, permutation="transpose", seed=1,
        permutation_seed=2,
    )  # fmt: skip
    assert [row["router"] for row in rows] == [one.router.name for one in found.done]
    assert [float(row["mean_slots"]) for row in rows] == [one.mean_slots for one in found.done]
    text = cli(*asked).out
    assert "Every packet was delivered." in text
    assert "not delivered" not in text
    capped = cli("compare", 8, 8, "--router", "mei-rizzi", "--runs", 2, "--max-steps", 1)
    assert {"not", "delivered"} <= set(capped.out.split())
    assert "FAILED: not every run of mei-rizzi ended with all packets delivered." in capped.out
    assert capped.err == "2 runs were stopped by --max-steps 1; raise it to let them end.\n"


FAILING = """
import numpy as np
import popsnet

@popsnet.register("failing", summary="", slots="", buffers=1)
def failing(network, destination, coins, memory):
    {what}
    yield popsnet.Slot()
"""


@pytest.mark.parametrize(
    ("what", "code"),
    [("memory.drop(np.array([0]), np.array([1]))", 1), ("raise popsnet.InputError('No.')", 2)],
)
@pytest.mark.usefixtures("forget_routers")
def test_compare_names_the_router_that_fails(
    cli: Cli, tmp_path: Path, what: str, code: int
) -> None:
    file = tmp_path / "failing.py"
    file.write_text(FAILING.format(what=what))
    finished = cli("compare", 2, 2, "--runs", 1, "--router", "direct", "--router", file)
    assert finished.code == code
    assert finished.err.startswith("Error: failing: ")


def test_plan_chooses_from_the_routers_that_are_given(cli: Cli) -> None:
    asked = ("plan", 64, 64, "--router", "direct", "--router", "mei-rizzi", "--json")
    result = json.loads(cli(*asked).out)
    assert {row["router"] for row in result["routers"]} == {"direct", "mei-rizzi"}
    assert "There is no router 'dir'. Did you mean" in cli("plan", 4, 4, "--router", "dir").err
