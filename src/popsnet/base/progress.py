"""Progress for people who wait: a bar after two seconds; in the log of a command, lines."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol, TypeAlias

from popsnet.base.errors import wrong
from popsnet.base.terminal import escape_controls

_PATIENCE_SECONDS = 2.0
_SECONDS_BETWEEN_UPDATES = 0.05
_SECONDS_BETWEEN_LINES = 30.0

Progress: TypeAlias = Callable[[int, int], None] | bool | None
"""A function of the amount done and the total, None for a bar on a terminal, False for nothing.

True is None, with a line every 30 seconds where there is no terminal.
"""

writes_lines = False
"""Whether None writes these lines, too, as it does in commands."""

_Show: TypeAlias = Callable[[float, str], None]


class Update(Protocol):
    """A report of how much is done, or only of where the work is, for people."""

    def __call__(self, done: int | None = None, detail: str = "") -> None:
        """Report the amount done, or a detail to show.

        Parameters
        ----------
        done : int, optional
            The amount done so far.
        detail : str
            What to show beside the bar.
        """
        ...


@contextmanager
def patient_progress(
    what: str, total: int | None = None, progress: Progress = None, unit: str = ""
) -> Iterator[Update]:
    """Return a function that reports how far work is, shown as ``progress`` asks.

    Work with a total of None or 1 has unknown length. Without a detail people see how many of the
    ``unit`` are done, if that is given.
    """
    if not callable(progress) and progress not in (None, True, False):
        raise wrong("progress", repr(progress))(
            "give a function of the amount done and the total, or False."
        )
    done_before = 0
    with _display(escape_controls(what, lines=False), total, progress) as show:

        def update(done: int | None = None, detail: str = "") -> None:
            nonlocal done_before
            if done is not None:
                done_before = done
                if callable(progress) and total is not None:
                    progress(done, total)
            if show is not None:
                counted = f"{done_before:,} of {total:,} {unit}" if unit else ""
                show(done_before, escape_controls(detail, lines=False) or counted)

        yield update


class _Detail:
    """The text beside a bar at the moment when it is shown: a compilation goes first."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        from popsnet.base import compiled  # needs NumPy, which takes time

        what = compiled.compiling()
        return f"compiling {what}, once per version and machine" if what else self._text


def _display(
    what: str, total: int | None, progress: Progress
) -> AbstractContextManager[_Show | None]:
    if callable(progress) or progress is False:
        return nullcontext()
    if sys.stderr is not None and sys.stderr.isatty():
        return _bar(what, total)
    if "ipykernel" in sys.modules:
        return _line(what)
    is_silent = sys.stderr is None or not (writes_lines or progress)
    return nullcontext(None if is_silent else _log(what))


def _log(what: str) -> _Show:
    """Return a function that writes a line now and then, for files and other programs."""
    begin = time.monotonic()
    next_update = begin + _SECONDS_BETWEEN_LINES

    def show(done: float, detail: str) -> None:
        nonlocal next_update
        if (now := time.monotonic()) >= next_update:
            next_update = now + _SECONDS_BETWEEN_LINES
            text = _Detail(detail or f"{done:,.0f} done")
            sys.stderr.write(f"{what}: {text}, {now - begin:.0f} s\n")
            sys.stderr.flush()

    return show


@contextmanager
def _bar(what: str, total: int | None) -> Iterator[_Show]:
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    what_for = TextColumn("{task.description}", markup=False)
    beside = TextColumn("{task.fields[detail]}", markup=False)
    columns = SpinnerColumn(), what_for, BarColumn(), beside, TimeElapsedColumn()
    bar = Bar(*columns, console=Console(stderr=True), transient=True)
    length = None if total == 1 else total
    task, next_update = bar.add_task(what, total=length, detail=_Detail("")), 0.0

    def show(done: float, detail: str) -> None:
        nonlocal next_update
        now = time.monotonic()
        if now >= next_update:
            next_update = now + _SECONDS_BETWEEN_UPDATES
            bar.update(task, completed=done, detail=_Detail(detail))

    timer = threading.Timer(_PATIENCE_SECONDS, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield show
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


@contextmanager
def _line(what: str) -> Iterator[_Show]:
    """Show a line that is rewritten, for notebooks, which have no terminal.

    It is an output of its own, whose content is replaced, and which is empty in the end.
    """
    from IPython.display import display  # type: ignore[import-not-found]

    begin, over, last = time.monotonic(), threading.Event(), ["…"]

    def write() -> None:
        """Write the last report again and again, for a compilation may come after it."""
        if over.wait(_PATIENCE_SECONDS):
            return
        shown = display({"text/html": ""}, raw=True, display_id=True)
        going_on = True
        while going_on:
            text = f"{what}: {_Detail(last[0])}, {time.monotonic() - begin:.0f} s"
            shown.update({"text/plain": text}, raw=True)
            going_on = not over.wait(10 * _SECONDS_BETWEEN_UPDATES)
        shown.update({"text/html": ""}, raw=True)

    def show(done: float, detail: str) -> None:
        last[0] = detail or f"{done:,.0f} done"

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield show
    finally:
        over.set()
        thread.join()


def duration(seconds: float) -> str:
    """Return a time in words, in one or two units.

    >>> duration(3.2), duration(200), duration(7380), duration(300000)
    ('3 s', '3 min 20 s', '2 h 3 min', '3 d 11 h')
    """
    whole = round(seconds)
    for size, unit, smaller, name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // smaller} {name}"
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"
