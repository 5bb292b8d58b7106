"""Ctrl-C and SIGTERM: the first ends a command in order, and the next ones do not disturb it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from popsnet.cli.exit_codes import ExitCode

_SECONDS_TO_END = 2.0
"""So long a command may take to end in order; a signal after that ends it at once."""

_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_first = 0
"""The number of the first signal, 0 if there was none."""
_came = 0.0
"""When it came."""


@contextmanager
def interrupting() -> Iterator[None]:
    """Let the first signal raise a KeyboardInterrupt, whichever it is."""
    global _first
    _first = 0
    before = {one: signal.getsignal(one) for one in _SIGNALS}
    heeded = [one for one, handler in before.items() if handler != signal.SIG_IGN]
    try:
        for one in heeded:
            signal.signal(one, _interrupt)
    except ValueError:  # not in the main thread, which alone gets signals
        heeded = []
    try:
        yield
    finally:
        for one in heeded:
            signal.signal(one, before[one])


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
