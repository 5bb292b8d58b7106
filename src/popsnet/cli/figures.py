"""Figures that commands draw: to any file that matplotlib writes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from popsnet.errors import InputError
from popsnet.files import require_writable
from popsnet.progress import patient_progress
from popsnet.report import Fact, Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def require_figure(path: Path | None) -> None:
    """Refuse a file that a figure cannot be written to, before any work is done."""
    if path is None:
        return
    if find_spec("matplotlib") is None:
        raise InputError("--figure needs matplotlib, not installed: pip install 'popsnet[plots]'")
    from matplotlib.backend_bases import FigureCanvasBase

    endings = [f".{name}" for name in sorted(FigureCanvasBase.get_supported_filetypes())]
    if path.suffix.lower() not in endings:
        raise InputError(f"--figure {path}: the name must end in one of {', '.join(endings)}.")
    require_writable(path)


def with_figure(report: Report, figure: Figure, path: Path) -> Report:
    """Write a figure, and say so in the report."""
    from popsnet.plots.style import save_one

    with patient_progress(f"drawing {path.name}", None):
        save_one(figure, path)
    return report.plus(Fact("figure", str(path)), f"Figure written to {path}.")
