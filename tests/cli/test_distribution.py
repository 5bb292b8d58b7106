"""``popsnet distribution``: what it prints and refuses."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

import popsnet
from popsnet.runs import tally_file
from tests.conftest import Cli


def test_it_prints_what_the_library_returns(cli: Cli) -> None:
    arguments = ("distribution", 3, 3, "--runs", 400, "--seed", 2, "--first", 7)
    found = popsnet.distribution(3, 3, runs=400, seed=2, first=7)
    text = cli(*arguments)
    assert text.code == 0, text.err
    for part in (
        "400 runs of mei-rizzi (published)",
        "exact",
        "fluid limit",
        "Every packet was delivered.",
    ):
        assert part in text.out
    printed = json.loads(cli(*arguments, "--json").out)
    assert printed["numbers"] == [[7, 407]]
    assert printed["steps"] == found.report().to_dict()["steps"]
    lines = list(csv.DictReader(io.StringIO(cli(*arguments, "--csv").out)))
    assert [int(line["at_least"]) for line in lines] == [row.at_least for row in found.tail()]
    assert "exact" not in cli(*arguments, "--no-exact").out


def test_capped_runs_end_with_1(cli: Cli) -> None:
    finished = cli("distribution", 3, 3, "--runs", 50, "--max-steps", 1)
    assert finished.code == 1
    assert "FAILED" in finished.out
    assert "stopped by --max-steps 1; raise it" in finished.err


def test_options_are_named_in_errors(cli: Cli) -> None:
    assert "--confidence 2.0: it must be" in cli("distribution", 2, 2, "--confidence", 2).err
    assert "--first -1: it must be" in cli("distribution", 2, 2, "--first", -1).err


def test_an_interruption_prints_what_was_finished(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = popsnet.distribution(2, 2, runs=30)

    def interrupted(*_: object, **__: object) -> None:
        stop = KeyboardInterrupt()
        stop.distribution = kept  # type: ignore[attr-defined]
        raise stop

    monkeypatch.setattr("popsnet.distribution", interrupted)
    finished = cli("distribution", 2, 2, "--runs", 1000)
    assert finished.code == 130
    assert "30 runs of mei-rizzi" in finished.out
    assert "Interrupted: 30 runs are finished." in finished.err


def test_finished_runs_are_kept(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kept.json"
    arguments = ("distribution", 3, 3, "--runs", 400, "--no-exact", "--keep", path)
    reading, calls = tally_file.TallyWriter.is_due, []

    def interrupted(self: tally_file.TallyWriter) -> bool:
        calls.append(1)
        if len(calls) == 30:
            raise KeyboardInterrupt
        return reading(self)

    monkeypatch.setattr(tally_file.TallyWriter, "is_due", interrupted)
    stopped = cli(*arguments, "--engine", "slots")
    assert stopped.code == 130
    assert f"They are in {path}, and the same command does the rest." in stopped.err
    assert popsnet.read_distribution(path).runs == 30
    finished = json.loads(cli(*arguments, "--json").out)
    whole = json.loads(cli(*arguments[:-2], "--json").out)
    assert finished["slots"] == whole["slots"]
    assert finished["numbers"] == [[0, 400]]
    refused = cli(*arguments, "--seed", 3)
    assert refused.code == 2
    assert "another experiment: --seed 0 and not 3" in refused.err
