"""Values with errors, and curves fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from popsnet.plots import style


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
        columns = {"g": self.g, "values": self.values, "errors": self.errors}
        style.require_equal_lengths(f"{self.row}, {self.column}", **columns)


@style.styled()
def draw_fits(panels: Sequence[Fitted], unit: str) -> Figure:
    """A panel for each, in rows and columns by their names."""
    rows = list(dict.fromkeys(panel.row for panel in panels))
    columns = list(dict.fromkeys(panel.column for panel in panels))
    figure = Figure(figsize=(style.WIDTH, 0.6 + 2.2 * len(rows)))
    grid = figure.subplots(len(rows), len(columns), squeeze=False)
    for axes in grid.flat:
        axes.set_visible(False)
    for panel in panels:
        axes = grid[rows.index(panel.row)][columns.index(panel.column)]
        axes.set_visible(True)
        axes.set_title(f"{panel.row}, {panel.column}")
        for look, (name, curve) in zip(style.LOOKS, panel.curves.items(), strict=False):
            axes.plot(*curve, linewidth=1.2, label=name, **look.curve)
        axes.errorbar(
            panel.g, panel.values, yerr=panel.errors, color=style.BLACK, marker="o", markersize=3.5,
            linestyle="none", elinewidth=0.9, capsize=2.5, zorder=4,
            label="measured (± standard error)",
        )  # fmt: skip
        style.log2_axis(axes, "number of groups g", FixedLocator(panel.g[::-3]))
        axes.yaxis.set_major_locator(MaxNLocator(6))
        axes.set_ylabel(unit)
    style.add_legend(figure)
    return style.settled(figure)
