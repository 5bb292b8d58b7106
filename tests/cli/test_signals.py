"""Ctrl-C and SIGTERM: how commands end, at whatever moment a signal comes."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Sequence
from pathlib import Path

import pytest

from popsnet import Store
from popsnet.cli import signals
from popsnet.cli.exit_codes import ExitCode
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
    assert (finished.code, finished.err) == (128 + number, "Interrupted.\n")


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


def test_a_signal_in_a_callback_is_not_lost(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python prints exceptions in such callbacks, among others of imports, and goes on."""

    def send(*arguments: object, **options: object) -> None:
        value = {1}
        gone = weakref.ref(value, lambda _: os.kill(os.getpid(), TERM))
        del value
        assert gone() is None
        for _ in range(500):
            time.sleep(0.01)

    monkeypatch.setattr("popsnet.recommend", send)
    finished = cli("plan", 4, 4)
    assert (finished.code, finished.out, finished.err) == (143, "", "Interrupted.\n")


def test_what_fails_after_a_signal_in_a_callback(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a compiler does whose callback was interrupted: the signal has not come again yet."""

    def send(*arguments: object, **options: object) -> None:
        value = {1}
        gone = weakref.ref(value, lambda _: os.kill(os.getpid(), TERM))
        del value
        raise RuntimeError(gone)

    monkeypatch.setattr("popsnet.recommend", send)
    finished = cli("plan", 4, 4)
    assert (finished.code, finished.out, finished.err) == (143, "", "Interrupted.\n")


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
        monkeypatch.setattr("popsnet.cli.cite.Report", _sending(INT))
        assert cli("cite").code == 0
    finally:
        signal.signal(INT, before)


def _sending(number: signal.Signals) -> object:
    from popsnet.report import Report

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
    """Whether a process ended as documented; before popsnet begins, Python itself decides.

    Python then ends by the signal, perhaps with a traceback of its own modules, which the first
    lines of popsnet import; or with 1, if its own start has failed. Of two signals that come
    during one instruction, Python takes SIGINT first.
    """
    if "Traceback" in errors or "Exception ignored" in errors:
        ours = re.findall(r'File "[^"]*popsnet[/\\]([^"]*)", line \d+, in (.*)', errors)
        begun = {("__init__.py", "<module>"), ("__main__.py", "<module>")}
        return INT in sent and code in (-INT, 0, 1) and set(ours) <= begun
    return (
        code == 0 or code in (128 + number for number in sent) or (code, errors) == (-sent[0], "")
    )


@pytest.mark.parametrize("program", [("-m", "popsnet"), ("-c", SCRIPT)])
def test_a_signal_while_a_text_is_executed(program: tuple[str, ...], tmp_path: Path) -> None:
    """Python remembers such an interrupt, and would end ``python -m`` by SIGINT."""
    (tmp_path / "mine.py").write_text("exec('import os; os.kill(os.getpid(), 15)')\n")
    command = [sys.executable, *program, "route", "2", "2", "--router", "mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "Interrupted.\n")


def starts(
    tries: int, seed: int
) -> list[tuple[tuple[str, ...], tuple[signal.Signals, ...], float]]:
    choose = random.Random(seed)
    programs = (("-m", "popsnet"), ("-c", SCRIPT))
    sent = ((INT,), (TERM,), (INT, INT), (TERM, INT))
    return [
        (choose.choice(programs), choose.choice(sent), choose.uniform(0, 1.5)) for _ in range(tries)
    ]


@pytest.mark.parametrize(("program", "numbers", "after"), starts(4, seed=1))
def test_signals_at_the_start(
    program: tuple[str, ...], numbers: tuple[signal.Signals, ...], after: float, tmp_path: Path
) -> None:
    ended = ending([*program, "route", "8", "8"], numbers, after, tmp_path)
    assert is_in_order(*ended, *numbers), ended


@pytest.mark.long
def test_signals_at_many_moments_of_the_start(tmp_path: Path) -> None:
    for program, numbers, after in starts(300, seed=2):
        ended = ending([*program, "route", "8", "8"], numbers, after, tmp_path)
        assert is_in_order(*ended, *numbers), (after, ended)


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
        ended = ending(arguments, sent, choose.uniform(0.3, 8), folder)
        assert is_in_order(*ended, *sent), ended
        assert not list(folder.rglob("*.part"))
        for store in folder.rglob("*.sqlite"):
            with Store(store) as kept:
                assert kept.experiments() or "finished" not in ended[1]
