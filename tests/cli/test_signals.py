"""Ctrl-C and SIGTERM: how commands end, at whatever moment a signal comes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from popsnet import Store
from popsnet.cli import signals
from popsnet.cli.signals import ExitCode
from tests.conftest import Cli

INT, TERM = signal.SIGINT, signal.SIGTERM
SCRIPT = "import sys; from popsnet.__main__ import main; sys.exit(main())"
"""What the installed command does, after Python's own start."""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no signals to send")


@pytest.mark.parametrize("number", [INT, TERM])
def test_a_signal_ends_a_command_in_order(
    number: signal.Signals, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(INT), signal.getsignal(TERM)

    def send(*arguments: object, **options: object) -> None:
        os.kill(os.getpid(), number)

    monkeypatch.setattr("popsnet.recommend", send)
    finished = cli("plan", 4, 4)
    assert (finished.code, finished.out, finished.err) == (128 + number, "", "Interrupted.\n")
    assert (signal.getsignal(INT), signal.getsignal(TERM)) == before


@pytest.mark.parametrize("number", [INT, TERM])
def test_a_signal_while_options_are_read(
    number: signal.Signals, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("popsnet.cli.options.find_spec", lambda name: os.kill(os.getpid(), number))
    finished = cli("compare", 4, 4, "--figure", "c.svg")
    assert finished.code == 128 + number


def test_more_signals_do_not_disturb_the_end(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first signal decides the code; the next ones come while the command ends."""
    ended = []

    def send(*arguments: object, **options: object) -> None:
        try:
            os.kill(os.getpid(), TERM)
        finally:
            for number in (INT, TERM, INT):
                os.kill(os.getpid(), number)
            ended.append(True)

    monkeypatch.setattr("popsnet.recommend", send)
    assert (cli("plan", 4, 4).code, ended) == (ExitCode.TERMINATED, [True])


def test_a_signal_that_becomes_another_exception(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python before 3.12 does this while it makes a class."""

    def send(*arguments: object, **options: object) -> None:
        try:
            os.kill(os.getpid(), TERM)
        except KeyboardInterrupt as stop:
            raise RuntimeError("Error calling __set_name__") from stop

    monkeypatch.setattr("popsnet.recommend", send)
    finished = cli("plan", 4, 4)
    assert (finished.code, finished.err) == (143, "Interrupted.\n")


def test_a_command_that_does_not_end_is_ended(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(BaseException):
        pass

    def leave(code: int) -> None:
        raise Gone(code)

    def send(*arguments: object, **options: object) -> None:
        try:
            os.kill(os.getpid(), INT)
        finally:
            with pytest.raises(Gone, match="130"):
                os.kill(os.getpid(), TERM)

    monkeypatch.setattr(signals, "_SECONDS_TO_END", -1.0)
    monkeypatch.setattr(os, "_exit", leave)
    monkeypatch.setattr("popsnet.recommend", send)
    assert cli("plan", 4, 4).code == ExitCode.INTERRUPTED


def test_a_signal_that_is_ignored_stays_ignored(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in ``nohup popsnet … &``, where a shell lets SIGINT be ignored."""
    before = signal.signal(INT, signal.SIG_IGN)
    try:
        monkeypatch.setattr("popsnet.cli.about.Report", _sending(INT))
        assert cli("cite").code == 0
    finally:
        signal.signal(INT, before)


def _sending(number: signal.Signals) -> object:
    from popsnet.base.report import Report

    def report(*parts: object, **more: object) -> Report:
        os.kill(os.getpid(), number)
        return Report(verdict="OK: still here.")

    return report


def ending(
    arguments: Sequence[str], numbers: Sequence[signal.Signals], after: float, folder: Path
) -> tuple[int, str]:
    """Start a process, send it signals after some seconds, and return its code and errors."""
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=folder, stdout=subprocess.DEVNULL, text=True,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    time.sleep(after)
    for number in numbers:
        process.send_signal(number)
        time.sleep(0.02)
    _, errors = process.communicate(timeout=300)
    return process.returncode, errors


def is_in_order(code: int, errors: str, *sent: signal.Signals) -> bool:
    """Whether a process ended as documented: while Python starts, signals are Python's."""
    return code == 0 or code in [128 + one for one in sent] or -code in sent


def test_a_signal_while_a_text_is_executed(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("exec('import os; os.kill(os.getpid(), 15)')\n")
    command = [sys.executable, "-c", SCRIPT, "route", "2", "2", "--router", "mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "Interrupted.\n")


SWEEP = "runs = 20000\n[[grid]]\nn = [1024, 4096]\nratio = 1\n"
COMMANDS = {
    "kernel": "route 1024 1024 --router relay --engine fused --runs 20",
    "sweep": "sweep sweep.toml",
    "paper": "paper --max-n 64 --runs 20",
    "trace": "route 128 128 --runs 1 --trace run.jsonl",
    "view": "view 32 32 --no-open",
}


@pytest.mark.long
@pytest.mark.parametrize("what", COMMANDS)
@pytest.mark.parametrize("compiled", [True, False])
def test_signals_while_commands_work(
    what: str, compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left but whole files and the store; also while kernels are compiled."""
    if not compiled:
        monkeypatch.setenv("POPSNET_CACHE_DIR", str(tmp_path / "cache"))
    choose = random.Random(what)
    for number in range(8):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "sweep.toml").write_text(SWEEP)
        sent = choose.choice(((INT,), (TERM,), (TERM, TERM), (INT, TERM)))
        arguments = ["-c", SCRIPT, *COMMANDS[what].split()]
        ended = ending(arguments, sent, choose.uniform(2, 8), folder)
        assert is_in_order(*ended, *sent), ended
        assert not list(folder.rglob("*.part"))
        for store in folder.rglob("*.sqlite"):
            with Store(store) as kept:
                assert kept.experiments() or "finished" not in ended[1]
