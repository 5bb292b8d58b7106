"""What the benchmarks have in common: their command line, and a figure of how figures grow."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.figure import Figure

from popsnet.base.files import write_whole

__all__ = ["HERE", "draw_growth", "read_arguments"]

HERE = Path(__file__).parent


def read_arguments(description: str | None, least: int, most: int) -> argparse.Namespace:
    """The largest exponent, and the folder for results; makes the folder."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--max-exponent", type=int, default=most, help="largest n as a power of 2")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    arguments = parser.parse_args()
    if arguments.max_exponent < least:
        parser.error(f"--max-exponent is at least {least}.")
    arguments.out.mkdir(parents=True, exist_ok=True)
    return arguments


def draw_growth(
    path: Path,
    rows: list[dict[str, Any]],
    curves: Iterable[tuple[str, str]],
    *,
    x: str,
    y: str,
    guide: tuple[str, npt.NDArray[np.float64]] | None = None,
) -> None:
    """A curve, with its marker, for each column by n, where rows have it; and a dashed guide."""
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for name, marker in curves:
        points = [(row["n"], row[name]) for row in rows if row.get(name) is not None]
        if points:
            axes.plot(*zip(*points, strict=True), marker=marker, label=name)
    if guide is not None:
        label, line = guide
        axes.plot([row["n"] for row in rows], line, color="grey", linestyle="--", label=label)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)
    axes.legend()
    with write_whole(path) as file:
        figure.savefig(file.buffer, format=path.suffix.removeprefix("."), dpi=120)
