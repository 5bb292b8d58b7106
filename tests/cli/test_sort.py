"""``popsnet sort``: values are in order, in the slots it says; bad input is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from popsnet.studies.computing import computation
from popsnet.theory.sorting import ComparatorNetwork
from tests.conftest import Cli
from tests.each import each


@each(("d", "g", "slots"), [(1, 8, 6), (4, 8, 30), (8, 8, 42), (16, 4, 168), (7, 1, 84), (1, 1, 0)])
def test_values_are_sorted(cli: Cli, d: int, g: int, slots: int) -> None:
    finished = json.loads(cli("sort", d, g, "--json").out)
    assert (finished["in_order"], finished["collisions"]) == (True, 0)
    assert finished["slots"] <= finished["most_slots"] == slots


@each(("d", "g"), [(5, 3), (13, 4), (3, 7), (11, 5)])
@each("network", ["merge-exchange", "bag-tree"])
def test_odd_shapes_are_sorted(cli: Cli, d: int, g: int, network: str) -> None:
    finished = cli("sort", d, g, "--network", network)
    assert finished.code == 0
    assert "OK: in order" in finished.out


def test_the_sorted_values_are_shown(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text("4,3,9,1,-2,7,8,6,5")
    assert "\n-2 1 3 … 7 8 9\nOK" in cli("sort", 3, 3, "--keys", tmp_path / "k.csv").out
    result = json.loads(cli("sort", 3, 3, "--keys", tmp_path / "k.csv", "--json").out)
    assert (result["first"], result["last"]) == ([-2, 1, 3], [7, 8, 9])
    assert result["values"] == [-2, 1, 3, 4, 5, 6, 7, 8, 9]
    (tmp_path / "k.csv").write_text("0.5,inf,-inf,0")
    few = ("sort", 2, 2, "--keys", tmp_path / "k.csv")
    assert "\n-inf 0.0 0.5 inf\nOK" in cli(*few).out
    assert json.loads(cli(*few, "--json").out)["values"] == ["-inf", 0.0, 0.5, "inf"]
    many = json.loads(cli("sort", 64, 32, "--json").out)
    assert many["values"] is None
    assert sorted(many["first"] + many["last"]) == many["first"] + many["last"]


@pytest.mark.parametrize("name", ["v.npy", "v.txt"])
@pytest.mark.parametrize("option", ["--out", "-o"])
def test_the_sorted_values_are_written(cli: Cli, tmp_path: Path, option: str, name: str) -> None:
    path = tmp_path / name
    finished = cli("sort", 8, 4, "--seed", 3, option, path)
    assert f"Values written to {path}." in finished.out
    values = np.load(path) if name == "v.npy" else np.loadtxt(path, dtype=np.int64)
    listed = json.loads(cli("sort", 8, 4, "--seed", 3, "--json").out)["values"]
    assert values.tolist() == listed == sorted(listed)
    again = json.loads(cli("sort", 8, 4, "--keys", path, "--json").out)
    assert again["values"] == listed
    assert cli("sort", 8, 4, option, tmp_path / "no folder" / name).code == 2


def test_keys_come_from_files(cli: Cli, tmp_path: Path) -> None:
    np.save(tmp_path / "k.npy", np.array([3.5, -1, 2, 2]))
    (tmp_path / "k.csv").write_text("4,3\n2,1\n")
    for name in ("k.npy", "k.csv"):
        assert cli("sort", 2, 2, "--keys", tmp_path / name).code == 0


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("1 2 3", "must contain 4 numbers"),
        ("a b", "is not a file of numbers"),
        ("1 2 3 nan", "cannot be ordered"),
    ],
)
def test_bad_keys_are_refused(cli: Cli, tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "k.txt").write_text(text)
    finished = cli("sort", 2, 2, "--keys", tmp_path / "k.txt")
    assert finished.code == 2
    assert complaint in finished.err
    assert cli("sort", 2, 2, "--keys", "absent").code == 2


def test_what_is_not_in_order_is_seen(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def idle(name: str, n: int, seed: int) -> ComparatorNetwork:
        return ComparatorNetwork(name, n, lambda: ())

    monkeypatch.setattr(computation, "make_network", idle)
    finished = cli("sort", 4, 4)
    assert finished.code == 1
    assert "NOT in order" in finished.out
    assert cli("sort", 2**11, 2**10).code == 2
