"""popsnet sweep with a precision, a time or a part; what it says when it is ended."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from popsnet.sweeps.store import Store
from tests.conftest import Cli
from tests.each import each
from tests.sweeps.edits import results

SWEEP = """
runs = 40
[[grid]]
shapes = [[4, 4], [8, 8]]
[[grid]]
shapes = [[3, 5]]
routers = "direct"
"""


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(SWEEP)
    return tmp_path


def rows(path: str) -> list[list[tuple[object, ...]]]:
    with Store(path) as store:
        return results(store)


def test_a_precision_is_reached_and_said(cli: Cli, sweep: Path) -> None:
    finished = cli("sweep", "sweep.toml", "--precision", "5.88%", "--json")
    found = json.loads(finished.out)["experiments"]
    assert all(one["precise"] and not one["runs_missing"] for one in found)
    assert [one["runs"] for one in found] == [90, 50, 50]
    text = cli("sweep", "sweep.toml", "--precision", "5.88%").out
    assert "3 of 3 experiments reached a 95 % interval of at most ±5.88 % of the mean." in text
    text = cli("sweep", "sweep.toml", "--precision", "0.001", "--max-runs", 100).out
    assert "1 of 3 experiments reached a 95 % interval of at most ±0.1 % of the mean." in text
    assert "2 reached the limit of 100 runs before that." in text


def test_parts_together_are_the_whole(cli: Cli, sweep: Path) -> None:
    assert cli("sweep", "sweep.toml", "--store", "whole").code == 0
    for part in (1, 2, 3):
        finished = cli("sweep", "sweep.toml", "--part", f"{part}/3", "--store", f"part{part}")
        assert finished.code == 0
        assert f"Part {part} of 3: 4 of 4 parts of 10 runs are in part{part}." in finished.out
        cli("sweep", "sweep.toml", "--part", f"{part}/3", "--store", "shared")
    assert cli("results", "merge", "part2", "part3", "--store", "part1").code == 0
    assert rows("part1") == rows("shared") == rows("whole")


def test_time_ends_a_sweep_and_the_same_command_does_the_rest(
    cli: Cli, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(10**9))
    monkeypatch.setattr("popsnet.sweeps.runner.time.monotonic", lambda: float(next(now)))
    finished = cli("sweep", "sweep.toml", "--time-limit", "2s", "--workers", 1)
    assert (finished.code, finished.err) == (0, "Running 12 parts of 10 runs, of 3 experiments…\n")
    text = " ".join(finished.out.split())
    assert "Stopped after 2s: " in text
    assert re.search(r"\d of 12 parts of 10 runs (is|are) in results.sqlite. The same", text)
    monkeypatch.undo()
    monkeypatch.chdir(sweep)
    finished = cli("sweep", "sweep.toml", "--time-limit", "1h", "--workers", 1)
    assert "Stopped" not in finished.out
    assert cli("sweep", "sweep.toml", "--store", "whole").code == 0
    assert rows("results.sqlite") == rows("whole")


def test_an_interrupt_before_any_run_says_so(
    cli: Cli, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for where in ("popsnet.sweeps.goals.Goals.of", "popsnet.sweeps.runner.pursue"):
        with monkeypatch.context() as patched:
            patched.setattr(where, interrupt)
            finished = cli("sweep", "sweep.toml")
        assert (finished.code, finished.out) == (130, "")
        assert "Interrupted before any run was finished; there are no results." in finished.err


def test_a_csv_says_nothing_of_experiments_without_results(
    cli: Cli, sweep: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("popsnet.sweeps.runner.pursue", lambda *_: None)
    finished = cli("sweep", "sweep.toml", "--csv")
    assert "Not in the CSV" not in finished.err


@each(
    ("options", "complaint"),
    [
        (("--precision", "x"), "--precision x: it must be between 0 and 1"),
        (("--precision", "1%", "--max-runs", 39), "--max-runs 39: it must be at least 50"),
        (("--max-runs", 100), "--max-runs needs --precision."),
        (("--time-limit", "soon"), "--time-limit soon: give a time such as 90s, 10min or 2h."),
        (("--time-limit", "0"), "--time-limit 0: give a time"),
        (("--part", "4/3"), "--part 4/3: parts are numbered from 1 to 3."),
        (("--part", "0/3"), "--part 0/3: parts are numbered from 1 to 3."),
        (("--part", "0/0"), "--part 0/0: there must be at least 1 part."),
        (("--part", "4"), "--part 4: give the part and how many there are"),
    ],
)
def test_bad_limits_are_refused_before_any_work(
    options: tuple[object, ...], complaint: str, cli: Cli, sweep: Path
) -> None:
    finished = cli("sweep", "sweep.toml", *options)
    assert (finished.code, finished.out) == (2, "")
    assert complaint in finished.err
    assert not Path("results.sqlite").exists()
