"""Knuth diagrams of comparator networks: horizontal wires, and comparators that join two."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from popsnet.base.errors import InputError
from popsnet.plots.style import BLUE, GREY, PALE, centred, settled, styled
from popsnet.theory.sorting import ComparatorNetwork, ComparatorStage

MOST_WIRES = 64
MOST_COLUMNS = 1000
"""Larger diagrams cannot be read."""

Columns = npt.NDArray[np.int64]

_COLUMN, _WIRE = 0.11, 0.16
"""Inches."""

_GAP = 1.0
"""The columns between two stages."""


@styled()
def draw_network(network: ComparatorNetwork) -> Figure:
    """Draw the Knuth diagram of a comparator network.

    Keys enter at the left, and the smallest leaves at the top. The comparators of a stage work at
    the same time. They share a band, numbered below, and stand in different columns of it only
    where one would cover another.

    Parameters
    ----------
    network : ComparatorNetwork
        The network, of at most 64 wires.

    Returns
    -------
    Figure
        The figure.

    Raises
    ------
    InputError
        If the diagram would be too large to read.

    Examples
    --------
    >>> from popsnet.plots import draw_network, svg_text
    >>> from popsnet.theory.sorting import merge_exchange
    >>> svg_text(draw_network(merge_exchange(4))).startswith("<svg")
    True
    """
    stages = list(_laid_out(network))
    width = sum(columns.max() + 1 + _GAP for _, columns in stages) + 5
    figure = Figure(figsize=(max(3.0, width * _COLUMN), max(1.2, (network.wires + 3) * _WIRE)))
    axes = figure.add_subplot()
    x = _GAP
    for number, (stage, columns) in enumerate(stages, start=1):
        last = x + columns.max()
        _draw_band(axes, network.wires, number, x, last)
        axes.vlines(x + columns, stage.low, stage.high, color=BLUE, linewidth=1.0, zorder=2)
        for ends in (stage.low, stage.high):
            axes.plot(x + columns, ends, "o", color=BLUE, markersize=2.6, zorder=3)
        x = last + 1 + _GAP
    _draw_wires(axes, network, x)
    return settled(figure)


def _laid_out(network: ComparatorNetwork) -> Iterator[tuple[ComparatorStage, Columns]]:
    """Yield the stages with the column of each comparator, if the diagram is small enough."""
    if network.wires > MOST_WIRES:
        raise InputError(
            f"A diagram of {network.wires:,} wires is too large to read; choose at most "
            f"{MOST_WIRES} wires."
        )
    used = 0
    for stage in network:
        columns = _columns(stage)
        used += int(columns.max()) + 1
        if used > MOST_COLUMNS:
            raise InputError(
                f"The diagram of {network.wires} wires has more than {MOST_COLUMNS:,} columns, "
                "which is too many to read; choose fewer wires."
            )
        yield stage, columns


def _columns(stage: ComparatorStage) -> Columns:
    """Give each comparator the first column in which it covers no other, from the top wire on."""
    columns = np.zeros(len(stage), dtype=np.int64)
    ends: list[int] = []
    for which in np.argsort(stage.low):
        low, high = int(stage.low[which]), int(stage.high[which])
        free = next((column for column, end in enumerate(ends) if end < low), len(ends))
        ends[free : free + 1] = [high]
        columns[which] = free
    return columns


def _draw_band(axes: Axes, wires: int, number: int, first: float, last: float) -> None:
    if number % 2:
        axes.axvspan(first - 1, last + 1, color="#f3f3f3", linewidth=0, zorder=0)
    centred(axes, (first + last) / 2, wires - 0.1, f"{number}", 5.5, va="top", color=GREY)


def _draw_wires(axes: Axes, network: ComparatorNetwork, end: float) -> None:
    axes.hlines(range(network.wires), -0.5, end, color=PALE, linewidth=0.7, zorder=1)
    for wire in range(network.wires):
        centred(axes, -1.0, wire, f"{wire}", 5.5, ha="right", color=GREY)
    axes.set(xlim=(-3.0, end + 0.5), ylim=(network.wires + 0.6, -0.8))
    axes.set_axis_off()
