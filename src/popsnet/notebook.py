"""Runs as a notebook shows them: executed again with the trace kept, and played on a page."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

from popsnet.engines import Outcome
from popsnet.errors import InputError, PopsnetError
from popsnet.experiment import Experiment
from popsnet.runs.run import Run, Runs
from popsnet.runs.tracing import write_trace
from popsnet.trace import Observer
from popsnet.trace.reader import read_trace
from popsnet.viewer import MOST_TEXT, Page, Recording, require_showable, too_long

__all__ = ["record", "recorded", "shown", "view"]

_MOST_INLINE = 16_000_000
"""Bytes of a trace that is shown without being asked for: a notebook keeps its pages."""


def record(
    experiment: Experiment, number: int, observers: Sequence[Observer] = (), room: int = MOST_TEXT
) -> tuple[Run, Recording]:
    """Do a run with its trace kept; it is given up when the trace is longer than ``room``."""
    require_showable(experiment.network)
    file = _Bounded(f"{experiment.router} ({experiment.variant})", room)
    run = write_trace(experiment, number, file, observers)
    return run, Recording.of(file.getvalue())


def recorded(run: Run, room: int = MOST_TEXT) -> Recording:
    """The recording of a run: it is done again, and must come out as it did."""
    again, recording = record(run.experiment, run.number, room=room)
    if _counts(again.outcome) != _counts(run.outcome):
        raise InputError(
            "Done again, the run came out otherwise. Either a file that it needs has changed, or "
            "its router has coins of its own; do it anew."
        )
    return recording


def shown(run: Run) -> str:
    """The run as HTML: the page that plays it, or a table and the reason why there is none."""
    try:
        return Page.of([recorded(run, _MOST_INLINE)])._repr_html_()
    except PopsnetError as error:
        return _table(run, str(error))


def view(*runs: Run | Path | str) -> Page:
    """The page that plays runs of one permutation, or traces in files, side by side.

    A notebook shows it; ``save`` writes it to a file.
    """
    return Page.of([_recording(run) for run in runs])


def _recording(run: Run | Path | str) -> Recording:
    if isinstance(run, Run):
        return recorded(run)
    if isinstance(run, Runs):
        raise InputError(f"{run!r} are several; give one of them, as in runs[0].")
    if not isinstance(run, Path | str):
        raise InputError(
            f"{type(run).__name__} {run!r:.40} cannot be shown; give single runs, or names of "
            "files with traces."
        )
    recording = Recording.read(Path(run))
    deque(read_trace(Path(run)), maxlen=0)  # refuses a torn file
    return recording


class _Bounded(io.StringIO):
    """A text that may not grow for ever."""

    def __init__(self, name: str, room: int) -> None:
        super().__init__()
        self._name = name
        self._room = room

    def write(self, text: str) -> int:
        if self.tell() + len(text) > self._room:
            raise too_long(
                f"The trace of {self._name} is longer than the {self._room:,} bytes that there is "
                "room for here"
            )
        return super().write(text)


def _counts(outcome: Outcome) -> Outcome:
    """What every engine reports."""
    return replace(outcome, peak_buffers=None, control_bits=None)


def _table(run: Run, reason: str) -> str:
    outcome = run.outcome
    rows = [
        ("slots", f"{outcome.slots:,}{' (capped)' if outcome.capped else ''}"),
        ("of them to the last delivery", f"{outcome.slots_delivered:,}"),
        ("steps", f"{outcome.steps:,}"),
        ("packets delivered", f"{outcome.delivered:,}"),
        ("packets lost", f"{outcome.lost:,}"),
        ("couplers hit twice or more", f"{outcome.collisions:,}"),
    ]
    name = f"{run.experiment.router} ({run.experiment.variant})"
    rows = [("network", f"{run.experiment.network}"), ("router", name), *rows]
    cells = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td></tr>" for a, b in rows)
    return f"<table>{cells}</table><p>There is no picture of this run. {escape(reason)}</p>"
