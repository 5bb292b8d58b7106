"""Progress: who hears of it, and what a notebook shows."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from popsnet import InputError, route
from popsnet.base import compiled
from popsnet.base import progress as progress_module
from tests.conftest import Cli


def test_progress_is_told_how_many_are_done() -> None:
    told: list[tuple[int, int]] = []
    route(4, 4, runs=3, engine="slots", progress=lambda *both: told.append(both))
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("progress", [7, "bar"])
def test_progress_is_a_function_or_nothing(progress: Any) -> None:
    with pytest.raises(InputError, match="progress = "):
        route(2, 2, progress=progress)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What a notebook shows: every content of the output, which it replaces."""
    shown: list[dict[str, str]] = []

    def display(data: dict[str, str], raw: bool, display_id: bool) -> SimpleNamespace:
        assert (raw, display_id) == (True, True)
        shown.append(data)
        return SimpleNamespace(update=lambda data, raw: shown.append(data))

    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setitem(sys.modules, "IPython", sys)
    module = cast("ModuleType", SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    return shown


def test_a_notebook_sees_progress(
    monkeypatch: pytest.MonkeyPatch, shown: list[dict[str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no terminal: an output of its own is replaced, and empty in the end."""
    route(4, 4, runs=30, engine="slots")
    assert not shown
    monkeypatch.setattr(progress_module, "_PATIENCE_SECONDS", 0.0)
    with progress_module.patient_progress("work"):
        while len(shown) < 2:
            time.sleep(0.001)
    assert shown[1] == {"text/plain": "work: …, 0 s"}
    assert shown[0] == shown[-1] == {"text/html": ""}
    assert capsys.readouterr() == ("", "")


def test_a_log_gets_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    route(4, 4, runs=3, engine="slots")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress_module, "_SECONDS_BETWEEN_LINES", 0.0)
    with progress_module.patient_progress("runs", 400, unit="shards") as report:
        report(120)
    assert capsys.readouterr().err == ""
    with progress_module.patient_progress("runs", 400, True, unit="shards") as report:
        report(120)
    assert capsys.readouterr().err == "runs: 120 of 400 shards, 0 s\n"
    monkeypatch.setattr(progress_module, "writes_lines", True)
    with progress_module.patient_progress("runs", 400, unit="shards") as report:
        report(120)
    assert capsys.readouterr().err == "runs: 120 of 400 shards, 0 s\n"


COMPILING = "compiling relay, once per version and machine"


def test_a_log_and_a_bar_say_what_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress_module, "_SECONDS_BETWEEN_LINES", 0.0)
    monkeypatch.setattr(progress_module, "writes_lines", True)
    detail = progress_module._Detail("slot 3")
    with progress_module.patient_progress("runs") as report:
        monkeypatch.setattr(compiled, "_compiling", ["relay"])
        report(detail="slot 3")
        assert str(detail) == COMPILING
    assert capsys.readouterr().err == f"runs: {COMPILING}, 0 s\n"
    monkeypatch.setattr(compiled, "_compiling", [])
    assert str(detail) == "slot 3"


def test_a_notebook_sees_what_is_compiled_though_nothing_is_reported(
    monkeypatch: pytest.MonkeyPatch, shown: list[dict[str, str]]
) -> None:
    monkeypatch.setattr(progress_module, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(compiled, "_compiling", ["relay"])
    with progress_module.patient_progress("runs"):
        while len(shown) < 2:
            time.sleep(0.001)
    assert COMPILING in shown[1]["text/plain"]


COMPILES = """
import logging, sys
logging.basicConfig(level=logging.INFO)
from popsnet.base import progress
progress._SECONDS_BETWEEN_LINES = progress._PATIENCE_SECONDS = 0.0
import popsnet
popsnet.route(4, 4, runs=3, engine="slots", {more})
popsnet.simulate(2, 2, scheduler="tdm", load=0.1, slots=100, {more})
"""


@pytest.mark.program
def test_a_service_without_a_terminal_prints_nothing(tmp_path: Path) -> None:
    """Also while code is compiled; the folder of compiled code is empty."""
    for more, is_silent in (("", True), ("progress=True", False)):
        program = [sys.executable, "-c", COMPILES.format(more=more)]
        environment = {**os.environ, "POPSNET_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            program, env=environment, capture_output=True, text=True, check=True,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.stdout == ""
        assert (done.stderr == "") is is_silent, done.stderr
    assert any(tmp_path.iterdir())


def test_a_command_writes_lines(monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setattr(progress_module, "_SECONDS_BETWEEN_LINES", 0.0)
    assert "mei-rizzi on POPS(4, 4)" in cli("route", 4, 4, "--runs", 3).err
    assert not progress_module.writes_lines
