"""Ctrl-C and SIGTERM: the first ends a command in order, and the next ones do not disturb it."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from threading import Timer
from types import FrameType
from typing import Any

import typer

from popsnet.cli.exit_codes import ExitCode

_SECONDS_TO_END = 2.0
"""So long a command may take to end in order; a signal after that ends it at once."""

_SECONDS_UNTIL_AGAIN = 0.01

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_first = 0
"""The number of the first signal, 0 if there was none."""
_came = 0.0
"""When it came."""
_lost = 0
"""The number of a signal whose interrupt came in a callback."""
_again: Timer | None = None
"""What sends it again."""


@contextmanager
def interrupting() -> Iterator[None]:
    """Let the first signal raise a KeyboardInterrupt, whichever it is."""
    global _first, _again
    _first, _again = 0, None
    before = {one: signal.getsignal(one) for one in _SIGNALS}
    heeded = [one for one, handler in before.items() if handler != signal.SIG_IGN]
    try:
        for one in heeded:
            signal.signal(one, _interrupt)
    except ValueError:  # not in the main thread, which alone gets signals
        heeded = []
    hook, sys.unraisablehook = sys.unraisablehook, partial(_raise_again, sys.unraisablehook)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for one in heeded:
            signal.signal(one, before[one])


def _raise_again(otherwise: Callable[[Any], object], lost: Any) -> None:
    """Send a signal again soon, if its interrupt came in a callback, where exceptions are lost."""
    global _first, _lost, _again
    if not issubclass(lost.exc_type, KeyboardInterrupt) or not _first:
        otherwise(lost)
        return
    _again = Timer(_SECONDS_UNTIL_AGAIN, signal.raise_signal, [_first])
    _again.daemon, _lost, _first = True, _first, 0
    _again.start()


def was_interrupted(error: BaseException | None) -> bool:
    """Whether an interrupt is behind an exception.

    Compiled code makes a SystemError of one, and Python a RuntimeError if a class is being made.
    What called a callback that lost one may fail before the signal comes again, and needs no other.
    """
    global _first
    if _again is not None:
        _again.cancel()
        _first = _lost
        return True
    while error is not None and not isinstance(error, KeyboardInterrupt | typer.Abort):
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return error is not None


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
