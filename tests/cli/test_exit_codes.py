"""How commands end where the output cannot go, and on signals."""

from __future__ import annotations

import builtins
import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from popsnet import __main__ as start
from popsnet.cli import output
from popsnet.cli.exit_codes import ExitCode
from tests.conftest import Cli

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "exit-codes.md"


def test_the_page_has_all_codes() -> None:
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    assert rows == [(str(code.value), code.name, code.meaning) for code in ExitCode]


def shell(command: str) -> tuple[int, str, str]:
    program = f"{sys.executable} -m popsnet"
    done = subprocess.run(
        ["bash", "-c", command.replace("popsnet", program)], capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


FULL = "Error: Standard output could not be written: No space left on device.\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@pytest.mark.parametrize(
    ("command", "ends"),
    [
        ("popsnet cite --json >&-", (0, "", "")),
        ("popsnet cite >&-", (0, "", "")),
        ("popsnet rout 2>&-", (2, "", "")),
        ("popsnet cite >&- 2>&- <&-", (0, "", "")),
        ("popsnet cite > /dev/full", (74, "", FULL)),
        ("popsnet --help > /dev/full", (74, "", FULL)),
        ("popsnet rout 2> /dev/full", (2, "", "")),
        ("set -o pipefail; popsnet --help | true", (141, "", "")),
    ],
)
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


def test_a_termination_reports_what_is_finished(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_terminated", False)
    before = signal.getsignal(signal.SIGTERM)

    def terminate(*arguments: object, **options: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("popsnet.cli.plan.popsnet.recommend", terminate)
    finished = cli("plan", 4, 4)
    assert (finished.code, finished.out, finished.err) == (143, "", "Interrupted.\n")
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_interrupt_while_modules_are_imported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(name: str, *others: Any) -> Any:
        if name == "popsnet.cli.main":
            raise KeyboardInterrupt
        return really(name, *others)

    really = builtins.__import__
    with monkeypatch.context() as patch:
        patch.setattr(builtins, "__import__", interrupted)
        with pytest.raises(SystemExit) as end:
            start.main()
    assert end.value.code == ExitCode.INTERRUPTED
    assert capsys.readouterr().err == "Interrupted.\n"
