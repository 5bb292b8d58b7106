"""Progress: who hears of it, and what a notebook shows."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from popsnet import InputError, route
from popsnet import progress as progress_module


def test_progress_is_told_how_many_are_done() -> None:
    told: list[tuple[int, int]] = []
    route(4, 4, runs=3, engine="slots", progress=lambda *both: told.append(both))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("progress", [7, "bar"])
def test_progress_is_a_function_or_nothing(progress: Any) -> None:
    with pytest.raises(InputError, match="progress = "):
        route(2, 2, progress=progress)


def test_a_notebook_sees_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no terminal: a line is written again and again, and taken away in the end."""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr(progress_module, "_PATIENCE_SECONDS", 0.0)
    route(4, 4, runs=30, engine="slots")
    written = capsys.readouterr().err
    assert "\rmei-rizzi on POPS(4, 4)" in written
    assert written.split("\r")[-2:] == [" " * 78, ""]


def test_a_log_gets_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    route(4, 4, runs=3, engine="slots")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress_module, "_SECONDS_BETWEEN_LINES", 0.0)
    with progress_module.patient_progress("runs", 400, unit="shards") as report:
        report(120)
    assert capsys.readouterr().err == "runs: 120 of 400 shards, 0 s\n"
