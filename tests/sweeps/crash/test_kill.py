"""A sweep that is killed loses nothing that was finished, and ends with the same rows."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from popsnet.sweeps.runner import collect
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep
from tests.sweeps import edits

COMMAND = Path(sys.executable).parent / "popsnet"
HERE = Path(__file__).parent
OLD_STORE = HERE.parents[1] / "fixtures" / "results-format-2-mixed.sqlite"

SWEEP = """
runs = 5000
[[grid]]
shapes = [[4, 4], [8, 8], [16, 16]]
[[grid]]
shapes = [[2, 2]]
routers = "direct"
"""


def results(path: Path) -> list[list[tuple[Any, ...]]]:
    with Store(path) as store:
        assert store.flaws() == []
        return edits.results(store)


def log_of(store: Path) -> Path:
    return store.with_name(f"{store.name}-wal")


def kill_while_it_writes(command: list[str], store: Path, written: int) -> bool:
    """Kill the command once it has written so much; False if it ended before."""
    log = log_of(store)
    before = log.stat().st_size if log.exists() else 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None:
        if log.exists() and log.stat().st_size >= before + written:
            process.kill()
        time.sleep(0.001)
    _, said = process.communicate()
    assert all(line.startswith(b"Running ") for line in said.splitlines())
    return process.returncode != 0


def as_it_was_left(store: Path, folder: Path) -> Path:
    """A copy, so that looking at it repairs nothing."""
    folder.mkdir()
    for path in (store, log_of(store)):
        if path.exists():
            shutil.copy(path, folder / path.name)
    return folder / store.name


@pytest.mark.program
def test_killed_at_random_moments(tmp_path: Path) -> None:
    file, store, whole = tmp_path / "s.toml", tmp_path / "r.sqlite", tmp_path / "whole.sqlite"
    file.write_text(SWEEP)
    with Store(whole, create=True) as uninterrupted:
        collect(Sweep.read(file), store=uninterrupted)
    expected = results(whole)
    command = [str(COMMAND), "sweep", str(file), "--store", str(store)]
    random, there, kills = Random(20), 0, 0
    for turn in range(3):
        kills += kill_while_it_writes(command, store, random.randrange(1, 100_000))
        _, shards = results(as_it_was_left(store, tmp_path / f"{turn}"))
        assert len(shards) >= there
        assert set(shards) <= set(expected[1])
        there = len(shards)
    assert kills == 3
    assert 0 < there < len(expected[1])
    subprocess.run(command, check=True, capture_output=True)
    assert results(store) == expected
    assert not log_of(store).exists()


@pytest.mark.skipif(sys.platform == "win32", reason="it forks")
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.program)])
def test_killed_at_every_statement(tmp_path: Path, every: int) -> None:
    """Or at every seventh."""
    script = HERE / "killed_at_every_statement.py"
    warned = "ignore:This process:DeprecationWarning"  # it forks beside threads that do nothing
    command = [sys.executable, "-W", warned, str(script), str(tmp_path), str(OLD_STORE)]
    command.append(str(every))
    finished = subprocess.run(command, capture_output=True, text=True)
    assert (finished.returncode, finished.stderr) == (0, "")
    assert int(finished.stdout) > 40
