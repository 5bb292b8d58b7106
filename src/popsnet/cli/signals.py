"""How a command ends: its exit codes, and the signals that end it in order."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from types import FrameType


class ExitCode(IntEnum):
    """The exit codes of every command, with their meaning as ``meaning``."""

    meaning: str

    def __new__(cls, value: int, meaning: str) -> ExitCode:
        """Keep the meaning beside the number."""
        code = int.__new__(cls, value)
        code._value_, code.meaning = value, meaning
        return code

    DONE = 0, "The command did what was asked."
    FAILED = 1, "A check failed, a router broke a rule, packets are missing, or memory ran out."
    BAD_INPUT = 2, "An argument, an option or a file cannot be used."
    CANNOT_WRITE = 74, "The output could not be written, for example to a full disk."
    INTERRUPTED = 130, "Interrupted by Ctrl-C; finished work is reported and kept."
    BROKEN_PIPE = 141, "The program that read the output closed it."
    TERMINATED = 143, "Ended by SIGTERM, in the same way as by Ctrl-C."


_SECONDS_TO_END = 2.0
"""How long a command may take to end in order; a signal after that ends it at once."""

_first, _came = 0, 0.0
"""The number of the first signal, 0 if there was none, and when it came."""


@contextmanager
def interrupting() -> Iterator[None]:
    """Let the first signal raise a KeyboardInterrupt, whichever it is."""
    global _first
    _first = 0
    both = signal.SIGINT, signal.SIGTERM
    heeded = [number for number in both if signal.getsignal(number) != signal.SIG_IGN]
    before = [signal.signal(number, _interrupt) for number in heeded]
    try:
        yield
    finally:
        for number, handler in zip(heeded, before, strict=True):
            signal.signal(number, handler)


def was_interrupted() -> bool:
    """Whether a signal came, which compiled code, for example, turns into other exceptions."""
    return _first != 0


def exit_code() -> ExitCode:
    """Return how an interrupted command ends."""
    return ExitCode.TERMINATED if _first == signal.SIGTERM else ExitCode.INTERRUPTED


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _first, _came
    if not _first:
        _first, _came = number, time.monotonic()
        raise KeyboardInterrupt
    if time.monotonic() > _came + _SECONDS_TO_END:
        os._exit(exit_code())
