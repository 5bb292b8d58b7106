"""Progress for people who wait: a bar on standard error, after two seconds, on a terminal only."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeAlias

from popsnet.errors import InputError

_PATIENCE_SECONDS = 2.0
_SECONDS_BETWEEN_UPDATES = 0.05

Progress: TypeAlias = Callable[[int, int], None] | bool | None
"""A function of what is done and the total; None for a bar on a terminal, False for nothing."""


class Update(Protocol):
    """Tells the bar how far the work is; the total can be told later."""

    def __call__(self, completed: float, detail: str = "", total: float | None = None) -> None: ...


@contextmanager
def patient_progress(what: str, total: float | None) -> Iterator[Update]:
    """Show a bar on standard error; a total of None is work of unknown length."""
    if sys.stderr is None or not sys.stderr.isatty():
        with _line(what) if "ipykernel" in sys.modules else _nothing() as update_other:
            yield update_other
        return
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    bar = Bar(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task, next_update = bar.add_task(what, total=total, detail=""), 0.0

    def update(completed: float, detail: str = "", total: float | None = None) -> None:
        nonlocal next_update
        now = time.monotonic()
        if now >= next_update:
            next_update = now + _SECONDS_BETWEEN_UPDATES
            bar.update(task, completed=completed, detail=detail, total=total)

    with _patience(bar.start, bar.stop):
        yield update


def require_progress(progress: Progress) -> None:
    """Refuse what cannot report progress."""
    if not callable(progress) and progress not in (None, True, False):
        raise InputError(
            f"progress = {progress!r}: give a function of what is done and the total, or False."
        )


@contextmanager
def reporter(progress: Progress, what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Return a function to be told what is done and the total, in the way the caller wants it."""
    require_progress(progress)
    if callable(progress):
        yield progress
    elif progress is False:
        yield lambda done, total: None
    else:
        with patient_progress(what, None) as update:
            yield lambda done, total: update(done, f"{done:,} of {total:,} {unit}", total)


@contextmanager
def watched(
    progress: Progress, what: str, total: int
) -> Iterator[tuple[Callable[[int], None], Callable[[str], None]]]:
    """Return a function for how much more is done, and one for where the work is just now.

    The second is for the bar alone. A total of 1 is work of unknown length.
    """
    require_progress(progress)
    done = 0
    length = total if total > 1 else None
    shown = progress is None or progress is True
    with patient_progress(what, length) if shown else _nothing() as update:

        def report(more: int) -> None:
            nonlocal done
            done += more
            update(done)
            if callable(progress):
                progress(done, total)

        yield report, lambda where: update(done, where)


@contextmanager
def _patience(begin: Callable[[], None], end: Callable[[], None]) -> Iterator[None]:
    """Begin after two seconds, if the work takes so long, and end with it."""
    timer = threading.Timer(_PATIENCE_SECONDS, begin)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        end()


@contextmanager
def _line(what: str) -> Iterator[Update]:
    """Show a line that is written again and again, for notebooks, which have no terminal."""
    begin = time.monotonic()
    next_update, shown = begin + _PATIENCE_SECONDS, False

    def write(text: str) -> None:
        nonlocal shown
        shown = True
        sys.stderr.write(f"\r{text:<78}")
        sys.stderr.flush()

    def update(completed: float, detail: str = "", total: float | None = None) -> None:
        nonlocal next_update
        if (now := time.monotonic()) >= next_update:
            next_update = now + 10 * _SECONDS_BETWEEN_UPDATES
            write(f"{what}: {detail or f'{completed:,.0f} done'}, {now - begin:.0f} s"[:78])

    def clear() -> None:
        if shown:
            write("")
            sys.stderr.write("\r")

    with _patience(lambda: write(f"{what} …"), clear):
        yield update


@contextmanager
def _nothing() -> Iterator[Update]:
    yield lambda completed, detail="", total=None: None
