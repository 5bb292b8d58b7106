"""Routing times and losses against the size of the network, as the paper draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import log2
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from popsnet.plots import style

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class CurveKind(Enum):
    """Where the numbers of a series come from; it decides how they are drawn."""

    MEASURED = auto()
    """By runs: filled markers, joined."""
    PUBLISHED = auto()
    """By the paper: hollow markers."""
    THEORY = auto()
    """By a formula or a limit: a thin broken line."""


@dataclass(frozen=True, slots=True)
class Series:
    """Values of one thing, over numbers of processors, groups or slots."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] | None = None
    error_is: str = "standard error"
    """What the error bars are; the legend may say it."""
    kind: CurveKind = CurveKind.MEASURED
    look: int = 0
    """Which of the style's looks it has: series with one look belong together."""
    at_least: tuple[bool, ...] | None = None
    """Which values are known to be at least so large, no more: a search or a run was cut there."""

    def __post_init__(self) -> None:
        columns = {"x": self.x, "y": self.y, "error": self.error, "at_least": self.at_least}
        style.require_equal_lengths(self.label, **columns)


@style.styled()
def draw_steps(panels: Mapping[str, Sequence[Series]]) -> Figure:
    """Steps against n, a panel for each title."""
    figure, row = style.row_of_axes(len(panels), 2.7)
    for axes, (title, series) in zip(row, panels.items(), strict=True):
        _plot(axes, series, title)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    row[0].set_ylabel("steps")
    style.add_legend(figure)
    return style.settled(figure)


@style.styled()
def draw_slots(title: str, randomized: Sequence[Series], deterministic: Sequence[Series]) -> Figure:
    """Slots against n: all routers on the left, the randomized ones alone on the right."""
    figure, (both, alone) = style.row_of_axes(2, 3.1)
    _plot(both, [*randomized, *deterministic], f"{title}: all routers")
    _plot(alone, randomized, f"{title}: the randomized routers alone")
    both.set_ylim(bottom=0)
    both.set_ylabel("slots")
    style.add_legend(figure)
    return style.settled(figure)


@style.styled()
def draw_losses(series: Sequence[Series]) -> Figure:
    """The part of all packets that is lost, against n."""
    figure, (axes,) = style.row_of_axes(1, 3.0, style.WIDTH / 2)
    _plot(axes, series)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("packets lost")
    axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(lambda part, _: f"{100 * part:g} %")
    style.add_legend(figure, columns=1)
    return style.settled(figure)


def _power_of_two(n: float, _: object) -> str:
    return "2" + f"{round(log2(n))}".translate(_RAISED)


def _plot(axes: Axes, series: Sequence[Series], title: str = "") -> None:
    axes.set_title(title)
    ticks = LogLocator(base=4, numticks=99)
    style.log2_axis(axes, "number of processors n", ticks, _power_of_two)
    for one in series:
        label = one.label if one.error is None else f"{one.label} (± {one.error_is})"
        axes.errorbar(one.x, one.y, yerr=one.error, label=label, **_looks(one))


def _looks(series: Series) -> dict[str, Any]:
    look = style.LOOKS[series.look]
    bars = {
        "color": look.colour, "elinewidth": 0.9, "capsize": 2.5, "capthick": 0.9, "clip_on": False,
    }  # fmt: skip
    kinds: dict[CurveKind, dict[str, Any]] = {
        CurveKind.MEASURED: {
            "marker": look.marker, "markersize": 3, "linestyle": look.line, "linewidth": 1.1,
            "zorder": 3,
        },
        CurveKind.PUBLISHED: {
            "marker": look.marker, "markersize": 7, "markerfacecolor": "none",
            "markeredgewidth": 0.9, "linestyle": "none", "zorder": 4,
        },
        CurveKind.THEORY: {"linestyle": (0, (6, 2)), "linewidth": 0.7, "zorder": 2},
    }  # fmt: skip
    return bars | kinds[series.kind]
