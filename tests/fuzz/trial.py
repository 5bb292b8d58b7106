"""One input: given to the command line in this process, and what has to be true afterwards."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import sys
import traceback
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import psutil
import typer.main

from popsnet.base.errors import InputError
from popsnet.cli import main as command_line
from popsnet.sweeps import runner

MEMORY = SimpleNamespace(available=0)
"""Bytes of memory that popsnet finds available: what needs more is refused, not executed."""

MOST_PACKETS = 3_000
"""A sweep of more packets in all its runs is read, but not run."""

_LONGEST_MESSAGE = 2_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


_HELP = frozenset(("-h", "--help", "--version"))


class Finding(Exception):
    """Something that must not happen: the first line says what."""


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    arguments: list[str]
    code: int
    out: str
    err: str
    file: Path
    """The input, if it is in a file."""
    data: bytes

    @property
    def refused(self) -> bool:
        """Whether the input cannot be used, or there is not enough memory for it."""
        return _is_refusal(self.code, self.err)

    @property
    def result(self) -> dict[str, Any]:
        """The object that the command printed with --json."""
        found: dict[str, Any] = json.loads(self.out)
        return found


@cache
def _app(app: typer.Typer = command_line.app) -> Any:
    """Make the commands of the command line once: it takes longer than most of them."""
    return typer.main.get_command(app)


@contextmanager
def limited() -> Iterator[None]:
    """Give popsnet little memory, no browser, and no sweep that takes long."""
    pursue = runner.pursue

    def pursue_little(goals: Any, *others: Any) -> None:
        for one in goals.goals:
            runs = 10 * len(goals.goals[one].stages[-1])
            numbers = [int(number) for number in re.findall(r"\d+", one.variant)]
            if runs * one.network.n > MOST_PACKETS or max(numbers, default=0) > 50:
                raise InputError("input: the sweep is too large for a test.")
        pursue(goals, *others)

    with (
        mock.patch.object(psutil, "virtual_memory", return_value=MEMORY),
        mock.patch.object(webbrowser, "open", return_value=False),
        mock.patch.object(runner, "pursue", pursue_little),
        mock.patch.object(command_line, "app", _app()),
        mock.patch.dict(os.environ, COLUMNS="120"),
    ):
        yield


@contextmanager
def empty_folder(path: Path) -> Iterator[None]:
    """Work in a folder that is empty at first."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)
        shutil.rmtree(path, ignore_errors=True)


def call(arguments: list[str]) -> tuple[int, str, str]:
    """Call the command line; an exception that it does not turn into an exit code is a finding."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    try:
        with (
            redirect_stdout(out),
            redirect_stderr(err),
            mock.patch.object(sys, "argv", ["popsnet", *arguments]),
        ):
            command_line.main()
    except SystemExit as end:
        code = end.code
    except Exception as error:
        raise Finding(f"{type(error).__name__}: {error}\n{traceback.format_exc()}") from error
    assert isinstance(code, int)
    return code, _written(out), _written(err)


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def tried(
    arguments: list[str], data: bytes, file: Path | None, may_write: Callable[[str], bool]
) -> Done:
    """Call a command in the present folder; check what is true of all commands and inputs."""
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    code, out, err = call(arguments)
    _require_end(code, out, err)
    refused = _is_refusal(code, err)
    if not refused and _asks_for_json(arguments):
        json.loads(out, parse_constant=_refuse_constant)
    if refused and file is not None and not re.search(r"\binput\b|\bout\.|^Error: POPS", err):
        raise Finding(f"the message does not name the file\n{err}")
    after = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    for name, content in before.items():
        if after.pop(name, b"") != content:
            if may_write(name) and not refused:
                continue
            raise Finding(f"{name} was changed")
    for name in after:
        if not may_write(name) or (refused and not name.endswith(".sqlite")):
            raise Finding(f"{name} was written, exit code {code}")
    return Done(arguments, code, out, err, file or Path(), data)


def _is_refusal(code: int, err: str) -> bool:
    return code == 2 or (code == 1 and err.startswith("Error: "))


def _require_end(code: int, out: str, err: str) -> None:
    """Require an exit code that is documented, and a message that can be shown."""
    if code not in (0, 1, 2):
        raise Finding(f"exit code {code}\n{err}")
    if "Traceback (most recent call last)" in err:
        raise Finding(f"a traceback is printed\n{err}")
    if _is_refusal(code, err):
        if not re.match(r"(Running .*\n)?Error: \s*\S", err):
            raise Finding(f"exit code {code} without a message\n{err!r:.200}")
        if out:
            raise Finding(f"exit code {code} with output\n{out!r:.200}")
        if len(err) > _LONGEST_MESSAGE:
            raise Finding(f"the message is too long\n{err[:300]!r} and more")
    if code == 0 and re.search("^Error", err, re.MULTILINE):
        raise Finding(f"exit code 0 with an error\n{err!r:.200}")
    for text in (out, err):
        if found := _CONTROL.search(text):
            around = text[max(found.start() - 60, 0) : found.end() + 20]
            raise Finding(f"a control character is printed\n{around!r}")


def _asks_for_json(arguments: list[str]) -> bool:
    """Whether the last word is an option of its own, and no help is asked for."""
    *others, before, last = ["", *arguments]
    return last == "--json" and before[:1] != "-" and not _HELP.intersection((*others, before))


def _refuse_constant(name: str) -> None:
    raise Finding(f"the JSON has {name}, which is not JSON")


def in_words(arguments: list[str]) -> str:
    """Return a command as one would type it."""
    return shlex.join(["popsnet", *arguments]).encode("utf-8", "backslashreplace").decode()
