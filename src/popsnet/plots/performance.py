"""Routing times and losses against the size of the network, as the paper draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import log2
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from popsnet.plots.style import LOOKS, WIDTH, settled, styled

__all__ = ["CurveKind", "Series", "draw_losses", "draw_slots", "draw_steps"]

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
    """Values over numbers of processors."""

    label: str
    n: tuple[int, ...]
    mean: tuple[float, ...]
    error: tuple[float, ...] | None = None
    error_is: str = "standard error"
    """What the error bars are; the legend says it."""
    kind: CurveKind = CurveKind.MEASURED
    look: int = 0
    """Which of the style's looks it has: series with one look belong together."""

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.n) or len(self.error or self.n) != len(self.n):
            raise ValueError(f"{self.label}: n, mean and error are not of one length.")


@styled()
def draw_steps(panels: Mapping[str, Sequence[Series]]) -> Figure:
    """Steps against n, a panel for each title."""
    figure = Figure(figsize=(WIDTH, 2.7))
    for title, axes in zip(panels, _row_of_axes(figure, len(panels)), strict=True):
        axes.set_title(title)
        _plot(axes, panels[title])
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    figure.axes[0].set_ylabel("steps")
    _legend(figure)
    return settled(figure)


@styled()
def draw_slots(title: str, randomized: Sequence[Series], deterministic: Sequence[Series]) -> Figure:
    """Slots against n: all routers on the left, the randomized ones alone on the right."""
    figure = Figure(figsize=(WIDTH, 3.1))
    both, alone = _row_of_axes(figure, 2)
    both.set_title(f"{title}: all routers")
    alone.set_title(f"{title}: the randomized routers alone")
    _plot(both, [*randomized, *deterministic])
    _plot(alone, randomized)
    both.set_ylim(bottom=0)
    both.set_ylabel("slots")
    _legend(figure)
    return settled(figure)


@styled()
def draw_losses(series: Sequence[Series]) -> Figure:
    """The part of all packets that is lost, against n."""
    figure = Figure(figsize=(WIDTH / 2, 3.0))
    (axes,) = _row_of_axes(figure, 1)
    _plot(axes, series)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("packets lost")
    axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(lambda part, _: f"{100 * part:g} %")
    _legend(figure, columns=1)
    return settled(figure)


def _row_of_axes(figure: Figure, count: int) -> list[Axes]:
    row = figure.subplots(1, count, squeeze=False)[0]
    for axes in row:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(LogLocator(base=4, numticks=99))
        axes.xaxis.set_major_formatter(_power_of_two)
        axes.minorticks_off()
        axes.set_xlabel("number of processors n")
    return list(row)


def _power_of_two(n: float, _: object) -> str:
    return "2" + f"{round(log2(n))}".translate(_RAISED)


def _plot(axes: Axes, series: Sequence[Series]) -> None:
    for one in series:
        axes.errorbar(one.n, one.mean, yerr=one.error, label=_label(one), **_looks(one))


def _label(series: Series) -> str:
    return series.label if series.error is None else f"{series.label} (± {series.error_is})"


def _looks(series: Series) -> dict[str, Any]:
    look = LOOKS[series.look]
    bars = {
        "color": look.colour, "elinewidth": 0.9, "capsize": 2.5, "capthick": 0.9, "clip_on": False,
    }  # fmt: skip
    match series.kind:
        case CurveKind.MEASURED:
            return bars | {
                "marker": look.marker, "markersize": 3, "linestyle": look.line, "linewidth": 1.1,
                "zorder": 3,
            }  # fmt: skip
        case CurveKind.PUBLISHED:
            return bars | {
                "marker": look.marker, "markersize": 7, "markerfacecolor": "none",
                "markeredgewidth": 0.9, "linestyle": "none", "zorder": 4,
            }  # fmt: skip
        case CurveKind.THEORY:
            return bars | {"linestyle": (0, (6, 2)), "linewidth": 0.7, "zorder": 2}


def _legend(figure: Figure, columns: int = 3) -> None:
    """One legend below all panels, each label once."""
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns)
