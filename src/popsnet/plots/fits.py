"""Values with errors, and curves fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from popsnet.plots.style import BLACK, LOOKS, WIDTH, settled, styled

__all__ = ["Fitted", "draw_fits"]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Values over g, and curves."""

    row: str
    column: str
    g: tuple[int, ...]
    values: tuple[float, ...]
    errors: tuple[float, ...]
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """By name: some g, and the curve there."""

    def __post_init__(self) -> None:
        if not len(self.g) == len(self.values) == len(self.errors):
            raise ValueError(f"{self.row}, {self.column}: g, values, errors are not of one length.")


@styled()
def draw_fits(panels: Sequence[Fitted], unit: str) -> Figure:
    """A panel for each, in rows and columns by their names."""
    rows = list(dict.fromkeys(panel.row for panel in panels))
    columns = list(dict.fromkeys(panel.column for panel in panels))
    figure = Figure(figsize=(WIDTH, 0.6 + 2.2 * len(rows)))
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    found: dict[str, Artist] = {}
    for axes in grid.flat:
        axes.set_visible(False)
    for panel in panels:
        axes = grid[rows.index(panel.row)][columns.index(panel.column)]
        axes.set_visible(True)
        axes.set_title(f"{panel.row}, {panel.column}")
        for look, (name, curve) in zip(LOOKS, panel.curves.items(), strict=False):
            (line,) = axes.plot(*curve, color=look.colour, linestyle=look.line, linewidth=1.2)
            found.setdefault(name, line)
        points = axes.errorbar(
            panel.g, panel.values, yerr=panel.errors, color=BLACK, marker="o", markersize=3.5,
            linestyle="none", elinewidth=0.9, capsize=2.5, zorder=4,
        )  # fmt: skip
        found.setdefault("measured (± standard error)", points)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator(panel.g[::-3]))
        axes.xaxis.set_major_formatter(lambda g, _: f"{g:g}")
        axes.yaxis.set_major_locator(MaxNLocator(6))
        axes.minorticks_off()
        axes.set_xlabel("number of groups g")
        axes.set_ylabel(unit)
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=3)
    return settled(figure)
