"""Routers side by side, and a planner that is held against what was measured."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import pytest

from popsnet import InputError, Network
from popsnet.advice.comparison import Comparison, compare
from popsnet.advice.recommendation import forecast, forecasts, recommend
from popsnet.routing import get_router
from popsnet.routing.deterministic import aks_slots
from tests.conftest import Cli

GRID = [
    (1, 1), (1, 8), (1, 100), (1, 256), (2, 64), (4, 16), (5, 12), (16, 64), (3, 3), (8, 8),
    (32, 32), (40, 40), (64, 8), (48, 16), (50, 9), (13, 4), (7, 1), (128, 4), (256, 16),
]  # fmt: skip


@cache
def compared(d: int, g: int) -> Comparison:
    return compare(Network(d, g), runs=6)


@pytest.mark.parametrize(("d", "g"), GRID)
def test_the_planner_is_right(d: int, g: int) -> None:
    """What it recommends is the measured winner, or as good but for chance: 3 % of six runs."""
    measured = {one.router.name: one for one in compared(d, g).done if one.router.online}
    best = min(one.mean_slots for one in measured.values())
    advised = measured[recommend(Network(d, g)).router]
    assert advised.mean_slots <= 1.03 * best


@pytest.mark.parametrize(("d", "g"), GRID)
def test_what_is_exact_is_exact(d: int, g: int) -> None:
    measured = {one.router.name: one for one in compared(d, g).done}
    for one in forecasts(Network(d, g)):
        if one.router.name not in measured:
            assert one.router.name == "aks"
            continue
        ran = measured[one.router.name]
        assert ran.runs is not None
        if one.exact and d * g > 1:
            assert ran.mean_slots == ran.worst_slots == one.slots
        elif one.router.name == "aks" and (ran.runs.steps == 1).all():
            assert ran.mean_slots == one.slots
        elif one.router.name == "relay" and d * g >= 1024:  # the limit is of large networks
            assert abs(ran.mean_slots - one.slots) <= 0.1 * one.slots + 3


@pytest.mark.parametrize(("d", "g"), [(256, 64), (512, 32), (100, 60), (128, 128)])
def test_the_slots_of_a_large_bag_tree_are_estimated(d: int, g: int) -> None:
    found = forecast(get_router("aks"), Network(d, g))
    assert found is not None
    assert found.slots == pytest.approx(aks_slots(Network(d, g)), rel=0.2)


def test_all_routers_have_the_same_permutations() -> None:
    found = compared(8, 8)
    assert {one.router.name for one in found.done} >= {"batcher", "datta", "direct", "relay"}
    assert not any(one.failed for one in found.done)
    assert all(one.mean_slots >= found.lower_bound for one in found.done)


def test_what_takes_too_long_is_left_out() -> None:
    (one,) = compared(128, 4).left_out
    assert one.router.name == "aks"
    assert one.expected is not None


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
    assert capped.code == 0
    assert "not delivered" in capped.out
    assert "Packets are missing only where runs were capped." in capped.out


def test_plan_says_why(cli: Cli) -> None:
    assert "Use batcher: 21 slots, always the same" in cli("plan", 1, 64).out
    result = json.loads(cli("plan", 1024, 1024, "--json").out)
    assert result["router"] == "relay"
    assert "on average" in result["reason"]


def test_bad_input_is_refused(cli: Cli, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing to compare"):
        compare(Network(2, 2), runs=0)
    assert cli("compare", 2**9, 2**9).code == 2
    assert cli("compare", 2, 2, "--figure", tmp_path / "x.txt").code == 2
    assert cli("plan", 0, 2).code == 2
    assert "is below 1" in cli("compare", -1, 2).err
