"""Files of distributions: runs that are finished are kept, added to and never counted twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import Experiment, InputError, PopsnetError, distribution, read_distribution
from popsnet.runs import tally_file


def test_a_file_has_everything(tmp_path: Path) -> None:
    found = distribution(3, 3, runs=500, first=7, max_steps=3)
    assert found.capped > 0
    found.write(tmp_path / "f.json")
    again = read_distribution(tmp_path / "f.json")
    assert again == found
    assert again.tail("steps") == found.tail("steps")
    assert read_distribution(tmp_path / "f.json", confidence=0.5, exact=False).confidence == 0.5


def test_runs_that_are_there_are_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f.json"
    asked: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        asked.append((done, total))

    for first, runs in ((100, 100), (400, 50), (0, 500)):
        distribution(3, 3, runs=runs, first=first, engine="slots", keep=path, progress=note)
    whole = distribution(3, 3, runs=500, engine="slots")
    assert read_distribution(path) == whole
    assert [total for done, total in asked if done == total] == [100, 50, 350]
    before = path.read_bytes()
    smaller = distribution(3, 3, runs=10, keep=path, progress=note)
    assert (smaller, path.read_bytes()) == (whole, before)


def stop_after(runs: int) -> Callable[[int, int], None]:
    def stop(done: int, total: int) -> None:
        if done >= runs:
            raise KeyboardInterrupt

    return stop


def test_packets_of_a_file_are_found_again(tmp_path: Path) -> None:
    matrix, path = tmp_path / "matrix.csv", tmp_path / "runs.json"
    matrix.write_text("0,3\n2,0\n")
    options: dict[str, Any] = {"router": "direct", "matrix": matrix, "keep": path}
    popsnet.distribution(2, 2, runs=5, **options)
    assert popsnet.distribution(2, 2, runs=9, **options).runs == 9
    assert popsnet.read_distribution(path).runs == 9
    with pytest.raises(popsnet.InputError, match="have no name"):
        popsnet.distribution(2, 2, runs=9, unit=1, **options)
    matrix.write_text("0,1\n2,0\n")
    with pytest.raises(popsnet.InputError, match="runs of another experiment"):
        popsnet.distribution(2, 2, runs=9, **options)


def test_an_interruption_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    parameters: dict[str, Any] = {"runs": 100, "engine": "slots", "keep": path}
    for already in (30, 60):
        with pytest.raises(KeyboardInterrupt):
            distribution(3, 3, progress=stop_after(30), **parameters)
        assert read_distribution(path).runs == already
    assert distribution(3, 3, **parameters) == distribution(3, 3, runs=100, engine="slots")


def test_a_killed_program_loses_what_was_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is written while runs are executed, not only at the end."""
    monkeypatch.setattr(tally_file, "_SECONDS_BETWEEN_WRITES", 0.0)
    seen: list[int] = []

    def look(done: int, total: int) -> None:
        seen.append(read_distribution(tmp_path / "f.json", exact=False).runs)

    distribution(3, 3, runs=5, engine="slots", keep=tmp_path / "f.json", progress=look)
    assert seen == [1, 2, 3, 4, 5]


def test_a_router_that_fails_keeps_the_runs_before(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text(FAILS)
    experiment = Experiment(2, 2, router=tmp_path / "fails.py")
    with pytest.raises(RuntimeError, match="enough"):
        distribution(experiment, runs=50, keep=tmp_path / "f.json", engine="slots")
    assert read_distribution(tmp_path / "f.json").runs == 4


FAILS = """
import numpy as np
from popsnet import Slot, register
calls = []
@register('fails', summary='', slots='', buffers=2)
def fails(network, destination, coins, memory):
    calls.append(1)
    if len(calls) == 5:
        raise RuntimeError('enough')
    yield Slot()
    memory.deliver(np.arange(network.n)[destination == np.arange(network.n)],
                   np.arange(network.n)[destination == np.arange(network.n)])
"""


def test_another_experiment_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    distribution(3, 3, runs=10, keep=path)
    with pytest.raises(InputError, match=r"another experiment: seed = 0 and not 1, max_steps = "):
        distribution(3, 3, runs=10, seed=1, max_steps=5, keep=path)
    with pytest.raises(InputError, match="have no name"):
        distribution(3, 3, runs=10, permutation=np.arange(9), keep=tmp_path / "g.json")
    with pytest.raises(InputError, match="no folder"):
        distribution(3, 3, runs=10, keep=tmp_path / "nowhere" / "g.json")


def test_a_file_of_another_program_is_not_overwritten(tmp_path: Path) -> None:
    path, other = tmp_path / "f.json", tmp_path / "other.json"
    distribution(3, 3, runs=50, first=1000, keep=other)

    def meanwhile(done: int, total: int) -> None:
        if done == 3:
            other.replace(path)

    with pytest.raises(PopsnetError, match="Another program has changed"):
        distribution(3, 3, runs=5, engine="slots", keep=path, progress=meanwhile)
    assert read_distribution(path).numbers == (range(1000, 1050),)


FIRST = """
import sys
from popsnet import distribution

def meanwhile(done, total):
    if done == 3:
        print("begun", flush=True)
        sys.stdin.readline()

distribution(3, 3, runs=5, engine="slots", keep=sys.argv[1], progress=meanwhile)
"""


@pytest.mark.skipif(os.name == "nt", reason="files are not locked there")
def test_a_second_program_is_refused_before_it_computes(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    (tmp_path / "same.json").symlink_to(path)
    with subprocess.Popen(
        [sys.executable, "-c", FIRST, path], stdin=PIPE, stdout=PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        for name in ("f.json", "same.json"):
            with pytest.raises(InputError, match=r"json is in use: another program adds to it"):
                distribution(3, 3, runs=50, first=1000, keep=tmp_path / name)
        distribution(3, 3, runs=5, keep=tmp_path / "another.json")
        first.communicate("go on\n")
    assert first.returncode == 0
    found = distribution(3, 3, runs=50, first=1000, keep=path)
    assert found.numbers == read_distribution(path).numbers == (range(5), range(1000, 1050))
    assert sorted(one.name for one in tmp_path.iterdir()) == ["another.json", "f.json", "same.json"]


@pytest.mark.skipif(os.name == "nt", reason="files are not locked there")
def test_a_program_that_was_killed_keeps_no_other_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    with subprocess.Popen(
        [sys.executable, "-c", FIRST, path], stdin=PIPE, stdout=PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "begun\n"
        first.kill()
    assert len(list(tmp_path.glob(".popsnet-*.lock"))) == 1
    assert distribution(3, 3, runs=5, keep=path).runs == 5
    assert [one.name for one in tmp_path.iterdir()] == ["f.json"]


def one_more(record: dict[str, Any]) -> None:
    record["numbers"] = [[0, 501]]


def twice(record: dict[str, Any]) -> None:
    record["numbers"] = [[0, 300], [200, 400]]


def other_runs(record: dict[str, Any]) -> None:
    record["tally"]["slots"]["10"] += 1


def other_capped(record: dict[str, Any]) -> None:
    record["capped_tally"]["steps"] = {"2": record["tally"]["capped"]}


def negative(record: dict[str, Any]) -> None:
    record["tally"]["slots"]["10"] = -1


def later(record: dict[str, Any]) -> None:
    record["version"] = 2


def unknown(record: dict[str, Any]) -> None:
    record["more"] = 1


DAMAGES = (one_more, twice, other_runs, other_capped, negative, later, unknown)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda one: one.__name__)
def test_damaged_files_are_refused(tmp_path: Path, damage: Callable[[Any], None]) -> None:
    path = tmp_path / "f.json"
    distribution(3, 3, runs=500, max_steps=3).write(path)
    record = json.loads(path.read_text())
    damage(record)
    path.write_text(json.dumps(record))
    with pytest.raises(InputError, match=r"f\.json is not a file of a distribution, or is damaged"):
        read_distribution(path)


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '{"format": "popsnet trace"}', "\ud800", "[" * 9999]
)
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "f.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(InputError, match="is not a file of a distribution"):
        distribution(3, 3, runs=5, keep=tmp_path / "f.json")


def test_missing_files_and_experiments_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json cannot be read: No such file"):
        read_distribution(tmp_path / "none.json")
    np.save(tmp_path / "p.npy", np.arange(9))
    found = distribution(3, 3, permutation=tmp_path / "p.npy", runs=5)
    found.write(tmp_path / "f.json")
    assert read_distribution(tmp_path / "f.json") == found
    (tmp_path / "p.npy").unlink()
    with pytest.raises(InputError, match=r"The experiment of .*f\.json cannot be found again"):
        read_distribution(tmp_path / "f.json")
    with pytest.raises(InputError, match="confidence = 2"):
        read_distribution(tmp_path / "f.json", confidence=2)


def test_it_is_public() -> None:
    assert popsnet.read_distribution is read_distribution
