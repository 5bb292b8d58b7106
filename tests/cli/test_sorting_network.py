"""``popsnet sorting-network``: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from popsnet.theory.sorting import ComparatorNetwork, ComparatorStage, examination
from tests.conftest import Cli
from tests.each import each


def test_json_has_everything(cli: Cli, tmp_path: Path) -> None:
    figure = tmp_path / "f.svg"
    finished = cli(
        "sorting-network",
        "merge-exchange",
        16,
        "--seed",
        3,
        "--figure",
        figure,
        "--check",
        "--json",
    )
    assert (finished.code, finished.err) == (0, "")
    assert json.loads(finished.out) == {
        "name": "merge-exchange",
        "wires": 16,
        "depth": 10,
        "size": 63,
        "seed": 3,
        "proved": True,
        "stage_comparators": {"min": 4, "mean": 6.3, "max": 8},
        "check": {"sorts": True, "exhaustive": True, "inputs": 65536, "counterexample": None},
        "figure": str(figure),
        "ok": True,
    }
    assert figure.read_text().startswith("<svg")


def test_text_says_what_was_tried(cli: Cli) -> None:
    assert "OK: all 4,096 inputs" in cli("sorting-network", "merge-exchange", 12, "--check").out
    tried = cli("sorting-network", "bag-tree", 40, "--check").out
    assert "bag-tree on 40 wires, not proved to sort" in tried
    assert "OK: 3,072 inputs" in tried
    assert "a test, not a proof" in " ".join(tried.split())
    assert "OK: all 2 inputs" in cli("sorting-network", "bitonic", 1, "--check").out


def test_text_does_not_contradict_the_check(cli: Cli) -> None:
    assert "bag-tree on 7 wires, not proved to sort" in cli("sorting-network", "bag-tree", 7).out
    tried = cli("sorting-network", "bag-tree", 7, "--check").out
    assert "bag-tree on 7 wires, proved to sort by trying all inputs" in tried
    assert "not proved" not in tried
    assert "OK: all 128 inputs" in tried


def test_the_same_seed_prints_the_same(cli: Cli) -> None:
    asked = ("sorting-network", "bag-tree", 50, "--seed", 9, "--check", "--json")
    assert cli(*asked).out == cli(*asked).out


@pytest.mark.parametrize("wires", [4, 80])
def test_a_network_that_does_not_sort_ends_with_1(
    wires: int, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = [ComparatorStage(np.array([0]), np.array([wires - 1]))]
    broken = ComparatorNetwork("bag-tree", wires, lambda: stages)
    monkeypatch.setattr(examination, "make_network", lambda name, n, seed: broken)
    finished = cli("sorting-network", "bag-tree", wires, "--check")
    assert finished.code == 1
    assert f"bag-tree on {wires} wires, which does not sort" in finished.out
    assert "FAILED: this input is not sorted (wire 0 first): " in finished.out
    finished = cli("sorting-network", "bag-tree", wires, "--check", "--json")
    assert finished.code == 1
    failed = np.array(json.loads(finished.out)["check"]["counterexample"])
    assert not np.array_equal(broken.sort(failed), np.sort(failed))


def test_growth_is_told_with_its_line(cli: Cli) -> None:
    grown = json.loads(cli("sorting-network", "bag-tree", 256, "--growth", "--json").out)
    assert [row["depth"] for row in grown["growth"]] == [142, 261, 370]
    assert grown["growth"][2]["batcher_depth"] == 36
    assert grown["growth_line"]["slope"] == pytest.approx(114)
    assert grown["growth_line"]["crossover_log2_n"] > 200
    table = cli("sorting-network", "bag-tree", 256, "--growth", "--csv").out
    assert table.splitlines()[:2] == ["exponent,depth,size,batcher_depth", "6,142,3155,21"]


def test_the_diagram_has_any_format(cli: Cli, tmp_path: Path) -> None:
    assert cli("sorting-network", "bitonic", 4, "--figure", tmp_path / "f.png").code == 0
    assert (tmp_path / "f.png").stat().st_size > 1000


@each(
    ("arguments", "said"),
    [
        (("merge-exchange", 0), "n = 0: a network needs at least one wire"),
        (("bag-tree", -3), "n = -3: a network needs at least one wire; give n >= 1"),
        (("bag-tree", 2**20 + 1), "give at most 1,048,576 wires"),
        (("bitonic", 12), "needs a power of two"),
        (("nope", 4), "no sorting network 'nope'. Give one of: merge-exchange, bitonic, bag-tree"),
        (("bag-tree", 64, "--seed", 2**64), "a seed must be an integer"),
        (
            ("merge-exchange", 65, "--figure", "f.svg"),
            "A diagram of 65 wires is too large to read; choose at most 64",
        ),
        (("bitonic", 4, "--figure", "f.xyz"), "--figure f.xyz: the name must end in one of"),
        (("bitonic", 128, "--growth"), "--growth: it measures the depth of bag-tree"),
        (("bag-tree", 100, "--growth"), "--growth: with n = 100 there is one size"),
    ],
)
def test_bad_input_is_refused(cli: Cli, arguments: tuple[object, ...], said: str) -> None:
    finished = cli("sorting-network", *arguments)
    assert finished.code == 2
    assert said in finished.err
