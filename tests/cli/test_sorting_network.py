"""``popsnet network``: what it prints, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from popsnet.sorting import ComparatorNetwork, ComparatorStage, examination
from tests.conftest import Cli


def test_json_has_everything(cli: Cli, tmp_path: Path) -> None:
    figure = tmp_path / "f.svg"
    finished = cli(
        "network", "merge-exchange", 16, "--seed", 3, "--figure", figure, "--check", "--json"
    )
    assert (finished.code, finished.err) == (0, "")
    assert json.loads(finished.out) == {
        "network": "merge-exchange",
        "wires": 16,
        "seed": 3,
        "proved": True,
        "depth": 10,
        "size": 63,
        "comparators_a_stage": {"min": 4, "mean": 6.3, "max": 8},
        "figure": str(figure),
        "check": {"sorts": True, "exhaustive": True, "inputs": 65536, "counterexample": None},
        "growth": None,
    }
    assert figure.read_text().startswith("<svg")


def test_text_says_what_was_tried(cli: Cli) -> None:
    assert "OK: all 4,096 inputs" in cli("network", "merge-exchange", 12, "--check").out
    tried = cli("network", "bag-tree", 40, "--check").out
    assert "bag-tree on 40 wires, not proved to sort" in tried
    assert "OK: 3,072 inputs" in tried
    assert "a test, not a proof" in tried
    assert "OK: all 2 inputs" in cli("network", "bitonic", 1, "--check").out


def test_text_does_not_contradict_the_check(cli: Cli) -> None:
    assert "bag-tree on 7 wires, not proved to sort" in cli("network", "bag-tree", 7).out
    tried = cli("network", "bag-tree", 7, "--check").out
    assert "bag-tree on 7 wires, proved to sort by trying all inputs" in tried
    assert "not proved" not in tried
    assert "OK: all 128 inputs" in tried


def test_the_same_seed_prints_the_same(cli: Cli) -> None:
    asked = ("network", "bag-tree", 50, "--seed", 9, "--check", "--json")
    assert cli(*asked).out == cli(*asked).out


@pytest.mark.parametrize("wires", [4, 80])
def test_a_network_that_does_not_sort_ends_with_1(
    wires: int, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = [ComparatorStage(np.array([0]), np.array([wires - 1]))]
    broken = ComparatorNetwork("bag-tree", wires, lambda: stages)
    monkeypatch.setattr(examination, "make_network", lambda name, n, seed: broken)
    finished = cli("network", "bag-tree", wires, "--check")
    assert finished.code == 1
    assert f"bag-tree on {wires} wires, which does not sort" in finished.out
    assert "FAILED: this input is not sorted (wire 0 first): " in finished.out
    finished = cli("network", "bag-tree", wires, "--check", "--json")
    assert finished.code == 1
    failed = np.array(json.loads(finished.out)["check"]["counterexample"])
    assert not np.array_equal(broken.sort(failed), np.sort(failed))


def test_growth_is_told_with_its_line(cli: Cli) -> None:
    growth = json.loads(cli("network", "bag-tree", 256, "--growth", "--json").out)["growth"]
    assert [row["depth"] for row in growth["rows"]] == [142, 261, 370]
    assert growth["rows"][2]["batcher_depth"] == 36
    assert growth["slope"] == pytest.approx(114)
    assert growth["crossover_log2_n"] > 200
