"""A progress bar for those who wait: shown after two seconds, on a terminal only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["Update", "patient_progress"]

_PATIENCE_SECONDS = 2.0


class Update(Protocol):
    """Tells the bar how far the work is; the total can be told later."""

    def __call__(self, completed: float, detail: str = "", total: float | None = None) -> None: ...


@contextmanager
def patient_progress(what: str, total: float | None) -> Iterator[Update]:
    """A bar on standard error; a total of None is work of unknown length."""
    console = Console(stderr=True)
    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[detail]}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    task = bar.add_task(what, total=total, detail="")

    def update(completed: float, detail: str = "", total: float | None = None) -> None:
        bar.update(task, completed=completed, detail=detail, total=total)

    timer = threading.Timer(_PATIENCE_SECONDS, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield update
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
