from __future__ import annotations

import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations as all_permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from popsnet import Coins, Experiment, Network, PermutationError, make_permutation
from popsnet.workloads.permutations import NAMES, read_permutation, uniform
from tests.each import each

SHAPES = [(1, 1), (1, 5), (5, 1), (2, 2), (4, 4), (3, 5), (5, 3), (8, 4), (4, 8)]


def make(name: str, d: int, g: int, seed: int = 0) -> list[int]:
    values: list[int] = make_permutation(name, Network(d, g), Coins(seed)).tolist()
    return values


@each(("d", "g"), SHAPES)
@each("name", [*NAMES, "shift:d", "shift:-1", "shift:1000000007"])
def test_named_permutations_are_permutations(name: str, d: int, g: int) -> None:
    if name == "bit-reversal" and (d * g) & (d * g - 1):
        with pytest.raises(PermutationError, match="power of two"):
            make(name, d, g)
    else:
        assert sorted(make(name, d, g)) == list(range(d * g))


def test_named_permutations_are_what_they_say() -> None:
    assert make("identity", 2, 3) == [0, 1, 2, 3, 4, 5]
    assert make("reversal", 2, 3) == [5, 4, 3, 2, 1, 0]
    assert make("transpose", 2, 3) == [0, 3, 1, 4, 2, 5]
    assert make("bit-reversal", 2, 4) == [0, 4, 2, 6, 1, 5, 3, 7]
    assert make("shuffle", 2, 4) == [0, 2, 4, 6, 1, 3, 5, 7]
    assert make("shuffle", 5, 1) == [0, 2, 4, 1, 3]
    assert make("shift", 2, 3) == [1, 2, 3, 4, 5, 0]
    assert make("shift:1", 2, 3) == make("shift", 2, 3)
    assert make("shift:d", 2, 3) == [2, 3, 4, 5, 0, 1]
    assert make("shift:-1", 2, 3) == [5, 0, 1, 2, 3, 4]
    assert make("tornado", 1, 8) == [3, 4, 5, 6, 7, 0, 1, 2]
    assert make("tornado", 2, 3) == [2, 3, 4, 5, 0, 1]


def test_transposing_twice_is_the_identity_on_a_square() -> None:
    once = np.array(make("transpose", 7, 7))
    assert once[once].tolist() == list(range(49))


def test_a_group_permutation_moves_groups_as_one() -> None:
    moved = np.array(make("group-permutation", 4, 9, seed=3)).reshape(9, 4)
    assert (moved % 4 == np.arange(4)).all()
    assert sorted(moved[:, 0] // 4) == list(range(9))
    assert (moved // 4 == moved[:, :1] // 4).all()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_random_is_uniform_over_all_permutations(n: int) -> None:
    """Chi-square over the n! permutations; fails for a uniform one with probability 10^-6."""
    drawn = Counter(tuple(make("random", n, 1, seed)) for seed in range(200 * 2 * 3 * 4 * 5))
    counts = [drawn[permutation] for permutation in all_permutations(range(n))]
    assert sum(counts) == drawn.total()
    assert chisquare(counts).pvalue > 1e-6


def test_random_is_uniform_over_the_runs_of_an_experiment() -> None:
    """The same with the seeds that runs really use."""
    experiment = Experiment(3, 1, router="direct", permutation_seed=11)
    drawn = Counter(tuple(experiment.destination(run).tolist()) for run in range(12_000))
    assert len(drawn) == 6
    assert chisquare(list(drawn.values())).pvalue > 1e-6


def test_positions_of_a_large_random_permutation_are_uniform() -> None:
    """Where block i of 16 goes: 256 cells, error rate 10^-6."""
    n = 2**16
    destination = make_permutation("random", Network(256, 256), Coins(5))
    cells = np.bincount(np.arange(n) // (n // 16) * 16 + destination // (n // 16), minlength=256)
    assert chisquare(cells).pvalue > 1e-6


@pytest.mark.parametrize("n", [1, 2, 1000, 5000])
def test_a_permutation_made_in_buckets_and_by_threads_is_the_same_one(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uniform, "_BUCKET_BITS", 8)
    made = uniform.UniformPermutation(n, Coins(9))
    assert sorted(made.array().tolist()) == list(range(n))
    for threads in (2, 3, 7):
        with ThreadPoolExecutor(threads) as executor:
            residues = np.empty(n, dtype=np.uint16)
            made.write(residues, 13, threads, executor.map)
        assert residues.tolist() == (made.array() % 13).tolist()


def test_a_permutation_made_in_buckets_is_uniform(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 120 of five items, in up to eight buckets; error rate 10^-6."""
    monkeypatch.setattr(uniform, "_BUCKET_BITS", 0)
    made = (uniform.UniformPermutation(5, Coins(seed)).array() for seed in range(24_000))
    drawn = Counter(tuple(permutation.tolist()) for permutation in made)
    assert len(drawn) == 120
    assert chisquare(list(drawn.values())).pvalue > 1e-6


def test_runs_and_seeds_decide_the_permutation_and_nothing_else_does() -> None:
    first = Experiment(8, 8, seed=1, permutation_seed=5)
    other_coins = Experiment(8, 8, seed=2, permutation_seed=5, max_steps=3)
    assert first.destination(4).tolist() == other_coins.destination(4).tolist()
    assert first.destination(4).tolist() != first.destination(5).tolist()
    assert first.destination(4).tolist() != Experiment(8, 8).destination(4).tolist()


def test_unknown_names_are_refused_with_those_there_are() -> None:
    with pytest.raises(PermutationError, match=r"no permutation 'nope'.*tornado.*npy"):
        make("nope", 2, 2)
    with pytest.raises(PermutationError, match="shift:1 or shift:d"):
        make("shift:x", 2, 2)


@given(
    values=st.permutations(range(12)),
    kind=st.sampled_from(["npy", "csv", "pairs", "json", "object"]),
)
def test_files_give_back_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, values: list[int], kind: str
) -> None:
    folder = tmp_path_factory.mktemp("permutation")
    pairs = sorted(enumerate(values), key=lambda pair: pair[1])
    texts = {
        "csv": "destination\n" + "\n".join(map(str, values)),
        "pairs": "source,destination\n" + "\n".join(f"{i},{j}" for i, j in pairs),
        "json": json.dumps(values),
        "object": "\ufeff" + json.dumps({"destination": values}),
    }
    path = folder / f"p.{({'pairs': 'csv', 'object': 'json'}).get(kind, kind)}"
    if kind == "npy":
        np.save(path, np.array(values))
    else:
        path.write_text(texts[kind], encoding="utf-8")
    assert read_permutation(path, 12).tolist() == values


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("short.csv", "0\n1\n2", "has 3 entries.*n = 4"),
        ("long.json", "[0, 1, 2, 3, 4]", "has 5 entries"),
        ("twice.csv", "0\n1\n1\n2", "entries 1 and 2 are both 1, and no entry is 3"),
        ("outside.json", "[0, 1, 2, 4]", "entry 3 is 4, outside 0 to 3"),
        ("negative.csv", "0\n1\n2\n-3", "entry 3 is -3, outside"),
        ("words.csv", "0\n1\ntwo\n3", "line 3, column 1: 'two' is not a number"),
        ("ragged.csv", "0,1\n1,0\n2\n3,3", "line 3 has 1 column; all rows must have 2"),
        ("three.csv", "0,1,2\n1,0,2\n2,2,2\n3,3,2", "has 3 columns; give one"),
        ("sources.csv", "0,1\n1,0\n1,2\n3,3", "each of 0 to 3 once"),
        ("empty.csv", "", "has no row of numbers"),
        ("float.json", "[0, 1, 2, 3.0]", "entry 3 is 3.0, not an integer"),
        ("bool.json", "[0, true, 2, 3]", "entry 1 is True"),
        ("huge.json", "[0, 1, 2, 100000000000000000000]", "too large"),
        ("torn.json", "[0, 1, 2", "not a complete JSON file"),
        ("foreign.json", '{"other": 1}', "not contain a list of destinations"),
        ("torn.npy", "\x93NUMPY", "not a complete .npy file"),
        ("binary.csv", "\x00\xff", "not a CSV text file|not a number"),
        ("zip.npy", "PK\x03\x04", "not a complete .npy file"),
        ("digits.json", "[" + "1" * 5000 + "]", "not a complete JSON file"),
        ("heading.csv", "0.5\n3\n2\n1\n0", "line 1, column 1: 0.5 is not an integer"),
        ("kind.txt", "0 1 2 3", "ends in .npy, .csv, .json"),
    ],
)
def test_bad_files_are_refused_with_place_and_reason(
    name: str, text: str, complaint: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="latin-1")
    with pytest.raises(PermutationError, match=complaint):
        read_permutation(tmp_path / name, 4)


@pytest.mark.parametrize(
    "text",
    [
        "1\n0\n2\n",
        "destination\n1\n0\n2\n",
        "\ufeffsource, Destination\n2,2\n0,1\n1,0\n",
        "destination,source\n2,2\n1,0\n0,1\n",
        "2,2\r\n0,1\r\n\r\n1,0",
        "to;from\n2;2\n1;0\n0;1\n",
    ],
)
def test_a_file_may_have_a_heading_and_any_order(text: str, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text, encoding="utf-8", newline="")
    assert read_permutation(path, 3).tolist() == [1, 0, 2]


def test_bad_arrays_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.npy"
    for array, complaint in (
        (np.arange(4.0), "type float64"),
        (np.arange(4).reshape(2, 2), r"shape \(2, 2\)"),
        (np.array([0, 1, 2, None]), "not a complete .npy file"),
    ):
        np.save(path, array, allow_pickle=True)
        with pytest.raises(PermutationError, match=complaint):
            read_permutation(path, 4)
    np.savez(tmp_path / "archive.npz", np.arange(4))
    (tmp_path / "archive.npz").rename(path)
    with pytest.raises(PermutationError, match="archive"):
        read_permutation(path, 4)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("absent.csv", "folder.csv"):
        with pytest.raises(PermutationError, match="cannot be read"):
            read_permutation(tmp_path / name, 4)


def test_a_file_is_read_again_if_another_thread_was_parsing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.11 raises SystemError then, though nothing is wrong with the file."""
    np.save(tmp_path / "p.npy", np.array([1, 0]))
    load, failures = np.load, iter([True, True, False])

    def sometimes(*arguments: Any, **options: Any) -> Any:
        if next(failures):
            raise SystemError("AST constructor recursion depth mismatch")
        return load(*arguments, **options)

    monkeypatch.setattr(np, "load", sometimes)
    assert read_permutation(tmp_path / "p.npy", 2).tolist() == [1, 0]


@pytest.mark.parametrize(
    "text",
    ["destination,source\n3,0\n2,1\n1,2\n0,3\n", "source,destination\n0,3\n1,2\n2,1\n3,0\n",
     ",0\n0,3\n1,2\n2,1\n3,0\n", "0,3\n1,2\n2,1\n3,0\n"],
)  # fmt: skip
def test_columns_are_what_their_heading_says(text: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text(text)
    assert read_permutation(tmp_path / "p.csv", 4).tolist() == [3, 2, 1, 0]
    (tmp_path / "p.csv").write_text("destination,source\n0,3\n1,0\n2,1\n3,2\n")
    assert read_permutation(tmp_path / "p.csv", 4).tolist() == [1, 2, 3, 0]
