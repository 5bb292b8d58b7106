"""Figures that are written twice, as SVG and as PNG, under a name that the user gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from popsnet.files import require_writable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["require_figure", "save_figure"]


def _stem(path: Path) -> str:
    """The name as it was given: ``growth.v2`` has no ending that says how to draw."""
    return path.stem if path.suffix.lower() in (".svg", ".png") else path.name


def require_figure(path: Path) -> None:
    """Refuse a name under which neither file could be written, before any work is done."""
    for ending in ("svg", "png"):
        require_writable(path.with_name(f"{_stem(path)}.{ending}"))


def save_figure(figure: Figure, path: Path) -> tuple[Path, Path]:
    """Write both; their paths."""
    from popsnet.plots import save

    return save(figure, path.parent, _stem(path))
