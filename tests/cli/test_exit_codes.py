"""How every command ends: if all is well, on bad input, and if a check fails."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import pytest

import popsnet
from popsnet.cli.signals import ExitCode
from popsnet.engines import Tally
from popsnet.paper.plan import make_plan
from popsnet.paper.reproduce import Reproduction
from popsnet.paper.rows import make_rows
from popsnet.paper.theory.section import Theory
from popsnet.studies.comparisons import prediction
from tests.commands import COMMANDS, FAILURES
from tests.conftest import Cli
from tests.each import each, sampled
from tests.project.schemas import require_schemas

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "exit-codes.md"


def rows_of_the_page(first: str) -> list[tuple[str, ...]]:
    return re.findall(rf"^\| {first} \| (.*) \|$", PAGE.read_text(), re.MULTILINE)


def test_the_page_has_all_codes() -> None:
    rows = rows_of_the_page(r"(\d+) \| `(\w+)`")
    assert rows == [(str(code.value), code.name, code.meaning) for code in ExitCode]


def test_the_page_says_when_each_command_fails() -> None:
    """The table has what the helps say, without the commands that check nothing."""
    assert rows_of_the_page(r"`([a-z -]+)`") == list(FAILURES.items())


BAD_INPUT = {
    "demo": "--out page.txt",
    "view": "0 4",
    "route": "0 4",
    "compare": "0 4",
    "plan": "0 4",
    "traffic": "4 4 --load 1.5",
    "schedule": "0 4",
    "check": "none.jsonl",
    "sweep": "none.toml",
    "results list": "",
    "results show": "abc",
    "results plot": "--figure plot.svg",
    "results export": "--out results.csv",
    "results drop": "",
    "results merge": "none.sqlite",
    "results rescue": "none.sqlite new.sqlite",
    "results verify": "",
    "faults": "0 4",
    "paper": "--runs 7",
    "theory": "0 4",
    "exact": "0 4",
    "distribution": "0 4",
    "adversary oblivious": "0 4",
    "adversary congestion": "--largest 0",
    "adversary rigid": "0 4",
    "adversary conflict-free": "0 4",
    "adversary two-hop": "0 4",
    "adversary separation": "--largest 0",
    "sort": "0 4",
    "compute": "move 3 3",
    "sorting-network": "nothing 4",
    "routers": "extra",
    "budget": "0 4",
    "doctor": "extra",
    "cite": "extra",
}
"""Arguments that cannot be used, by command. That examples end with 0 is tested in test_help."""


def test_every_command_has_a_row() -> None:
    """A new command needs an entry here, and in FAILING if it checks anything."""
    assert BAD_INPUT.keys() == COMMANDS.keys()
    assert FAILING.keys() == FAILURES.keys()


@pytest.mark.parametrize("words", BAD_INPUT)
def test_bad_input(words: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    finished = cli(*words.split(), *BAD_INPUT[words].split())
    assert (finished.code, finished.out) == (2, "")
    assert finished.err.startswith("Error: ")
    assert list(tmp_path.iterdir()) == []


Prepare = Callable[[pytest.MonkeyPatch], object]


def with_field(path: str, **fields: object) -> Prepare:
    """Change fields of the result that a function of the library returns."""

    def prepare(monkeypatch: pytest.MonkeyPatch) -> None:
        module, name = path.rsplit(".", 1)
        function: Any = getattr(sys.modules[module], name)
        monkeypatch.setattr(path, lambda *args, **kw: replace(function(*args, **kw), **fields))

    return prepare


def never_confirmed(path: str) -> Prepare:
    return lambda monkeypatch: monkeypatch.setattr(
        f"popsnet.studies.adversaries.{path}.confirmed", False
    )


def capped_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    popsnet.route(4, 4, max_steps=1, trace="capped.jsonl")


def capped_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("s.toml").write_text("runs = 10\nmax_steps = 1\n[[grid]]\nn = 16\nratio = 1\n")


def changed_store(monkeypatch: pytest.MonkeyPatch) -> None:
    popsnet.collect([popsnet.Experiment(4, 4)], runs=10, store="results.sqlite")
    with sqlite3.connect("results.sqlite") as store:
        store.execute("UPDATE results SET runs = 11")


def partly_changed_store(monkeypatch: pytest.MonkeyPatch) -> None:
    experiments = [popsnet.Experiment(4, 4), popsnet.Experiment(2, 2)]
    popsnet.collect(experiments, runs=10, store="results.sqlite")
    with sqlite3.connect("results.sqlite") as store:
        one = "digest = (SELECT min(digest) FROM results)"
        store.execute(f"UPDATE results SET runs = 11 WHERE {one}")


def stopped_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "route", partial(popsnet.route, max_steps=1))


def lost_packet(monkeypatch: pytest.MonkeyPatch) -> None:
    scheduled = popsnet.schedule(popsnet.Network(4, 4))
    outcome = replace(scheduled.execute(), delivered=15)
    monkeypatch.setattr("popsnet.schedule", lambda *_, **__: replace(scheduled, outcome=outcome))


def unsorted(monkeypatch: pytest.MonkeyPatch) -> None:
    examined = popsnet.theory.sorting.examine("bitonic", 4, check=True)
    assert examined.verdict is not None
    verdict = replace(examined.verdict, sorts=False)
    wrong = replace(examined, verdict=verdict)
    monkeypatch.setattr("popsnet.theory.sorting.examine", lambda *_, **__: wrong)


def another_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run of POPS(2, 2) took fifty steps, which is not what the paper has."""
    plan = replace(make_plan(10, 4), rivals=(), routers=(), relay=(), exact=())
    steps = Counter({50: 10})
    tally = Tally(10, 0, steps, Counter({250: 10}), Counter({250: 10}), Counter({0: 10}))
    rows = make_rows(plan, dict.fromkeys(plan.wanted, tally))
    found = Reproduction(Path("paper"), plan, rows, Theory((), (), (), ()), ())
    assert found.failures == ["3 of the comparisons with the paper"]
    monkeypatch.setattr("popsnet.paper.reproduce", lambda *_, **__: found)


def nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("popsnet.studies.comparisons.comparison._MOST_SLOTS", 0)


def missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("popsnet.cli.about._NEEDED", ("no_such_library",))


def nothing(monkeypatch: pytest.MonkeyPatch) -> None: ...


FAILING: dict[str, list[tuple[Prepare, str]]] = {
    "view": [(nothing, "4 4 --max-steps 1 --no-open"), (capped_trace, "capped.jsonl --no-open")],
    "route": [
        (nothing, "4 4 --max-steps 1"),
        (nothing, "3 2 --variant published --seed 17 --permutation-seed 17"),
    ],
    "compare": [
        (nothing, "4 4 --router direct --router mei-rizzi --max-steps 1"),
        (nothing_is_run, "4 4"),
    ],
    "schedule": [(lost_packet, "4 4")],
    "check": [(capped_trace, "capped.jsonl")],
    "sweep": [(capped_sweep, "s.toml")],
    "results rescue": [(partly_changed_store, "results.sqlite new.sqlite")],
    "results verify": [(changed_store, "--all")],
    "faults": [(nothing, "4 4 --router relay:survive --runs 2 --max-steps 1")],
    "paper": [(another_mean, "")],
    "theory": [(stopped_runs, "4 4 --runs 10")],
    "distribution": [
        (nothing, "3 3 --runs 20 --max-steps 1"),
        (nothing, "8 2 --runs 9 --variant published"),
    ],
    "adversary oblivious": [(never_confirmed("oblivious.attack.ObliviousAttack"), "4 4 --runs 1")],
    "adversary rigid": [(nothing, "4 4 --router batcher --slots 1000")],
    "adversary conflict-free": [(never_confirmed("conflict_free.ConflictFreeCheck"), "2 2")],
    "adversary two-hop": [(never_confirmed("two_hop.attack.TwoHopAttack"), "4 4")],
    "adversary separation": [
        (never_confirmed("two_hop.separation.Separation"), "--largest 8 --runs 1 --most-slots 4")
    ],
    "sort": [(with_field("popsnet.sort", in_order=False), "2 2")],
    "compute": [(with_field("popsnet.compute", correct=False), "sum 2 2")],
    "sorting-network": [(unsorted, "bitonic 4 --check")],
    "budget": [(nothing, "512 4 --preset pon")],
    "doctor": [(missing_library, "")],
}
"""What to prepare, and the arguments of a command whose check then fails."""


@pytest.mark.parametrize(
    ("words", "prepare", "arguments"),
    [(words, *case) for words, cases in FAILING.items() for case in cases],
)
def test_a_check_that_fails(
    words: str,
    prepare: Prepare,
    arguments: str,
    cli: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    prepare(monkeypatch)
    if words != "paper":  # of which only a part is made here
        require_schemas(monkeypatch, words)
    finished = cli(*words.split(), *arguments.split())
    assert finished.code == 1
    assert finished.out
    assert "Error" not in finished.err
    for form in ("--json", "--csv"):
        Path("new.sqlite").unlink(missing_ok=True)  # a rescue does not overwrite
        again = cli(*words.split(), *arguments.split(), form)
        assert again.code == 1
        assert ("FAILED" in finished.out) == ("FAILED" in again.err)


@pytest.mark.parametrize(
    ("command", "cure"),
    [
        (
            "route 4 4 --max-steps 1",
            "1 run was stopped by --max-steps 1; raise it to let it end.\n",
        ),
        (
            "compare 4 4 --router mei-rizzi --runs 2 --max-steps 1",
            "2 runs were stopped by --max-steps 1; raise it to let them end.\n",
        ),
        (
            "view 4 4 --max-steps 1 --no-open",
            "1 run was stopped by --max-steps 1; raise it to let it end.\n",
        ),
        (
            "sweep s.toml",
            "Running 1 part of 10 runs, of 1 experiment…\n"
            "10 runs were stopped by max_steps of the sweep; raise it to let them end.\n",
        ),
    ],
)
def test_the_cure_of_capped_runs_is_on_standard_error(
    command: str, cure: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    capped_sweep(monkeypatch)
    assert cli(*command.split()).err == cure


def test_results_of_capped_runs_are_kept(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same sweep ends in the same way when it has nothing left to run."""
    monkeypatch.chdir(tmp_path)
    capped_sweep(monkeypatch)
    first, again = cli("sweep", "s.toml"), cli("sweep", "s.toml")
    assert (first.code, first.out) == (again.code, again.out) == (1, first.out)
    assert "FAILED: 10 runs capped." in first.out
    assert "10, 10 capped" in cli("results", "list").out


class _Full:
    """A standard output that can be written to no more."""

    def __init__(self, number: int, file: TextIO) -> None:
        self._number, self._file = number, file

    def write(self, text: str) -> int:
        raise OSError(self._number, os.strerror(self._number))

    def flush(self) -> None: ...

    def fileno(self) -> int:
        return self._file.fileno()

    def isatty(self) -> bool:
        return False


@pytest.mark.parametrize(("number", "code"), [(errno.ENOSPC, 74), (errno.EPIPE, 141)])
@pytest.mark.parametrize("form", ["text", "--json"])
def test_an_output_that_cannot_be_written(
    number: int, code: int, form: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All commands print in one place, so one command stands for all."""
    with (tmp_path / "out").open("w") as file:
        monkeypatch.setattr(sys, "stdout", _Full(number, file))
        finished = cli("route", 2, 2, *([form] if form != "text" else []))
    assert finished.code == code
    assert finished.err == ("" if code == 141 else FULL)


def shell(command: str) -> tuple[int, str, str]:
    program = f"{sys.executable} -m popsnet"
    done = subprocess.run(
        ["bash", "-c", command.replace("popsnet", program)], capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


FULL = "Error: The output could not be written: No space left on device.\n"


STREAMS = [
    ("popsnet cite --json >&-", (0, "", "")),
    ("popsnet rout 2>&-", (2, "", "")),
    ("popsnet cite >&- 2>&- <&-", (0, "", "")),
    ("popsnet cite > /dev/full", (74, "", FULL)),
    ("popsnet --help > /dev/full", (74, "", FULL)),
    ("popsnet rout 2> /dev/full", (2, "", "")),
    ("set -o pipefail; popsnet --help | true", (141, "", "")),
]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@each(("command", "ends"), sampled(STREAMS, 4))
def test_streams_that_are_closed_full_or_not_read(command: str, ends: tuple[int, str, str]) -> None:
    assert shell(command) == ends


def test_a_file_on_a_full_disk(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.fsync", full)
    finished = cli("route", 4, 4, "--trace", tmp_path / "t")
    assert finished.code == ExitCode.CANNOT_WRITE
    assert (
        finished.err == f"Error: {tmp_path / 't'} could not be written: No space left on device.\n"
    )
    assert list(tmp_path.iterdir()) == []
