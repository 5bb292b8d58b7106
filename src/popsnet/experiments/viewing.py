"""Runs and traces side by side on one page."""

from __future__ import annotations

from collections import deque
from pathlib import Path

from popsnet.errors import InputError
from popsnet.experiments.run import Run, Runs
from popsnet.experiments.shown import recorded
from popsnet.trace.reader import read_trace
from popsnet.viewer import Page, Recording

__all__ = ["view"]


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
