"""Figures of measured times, losses, fits and distributions beside the paper and theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import log2
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator

from popsnet.plots import style

_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class CurveKind(Enum):
    """The origin of the numbers of a series, which decides how they are drawn.

    Examples
    --------
    >>> from popsnet.plots import CurveKind
    >>> [kind.name for kind in CurveKind]
    ['MEASURED', 'PUBLISHED', 'THEORY']
    """

    MEASURED = auto()
    """From runs: filled markers, joined by lines."""
    PUBLISHED = auto()
    """From the paper: hollow markers."""
    THEORY = auto()
    """From a formula or a limit: a thin dashed line."""


@dataclass(frozen=True, slots=True)
class Series(style.Columns):
    """A series of values over numbers of processors, groups or slots.

    Examples
    --------
    >>> from popsnet.plots import Series
    >>> Series("relay", x=(64, 256), y=(12.1, 14.6)).error_is
    'standard error'
    """

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] | None = None
    error_is: str = "standard error"
    """The meaning of the error bars, for the legend."""
    kind: CurveKind = CurveKind.MEASURED
    look: int = 0
    """The index of its look in the style; series with the same look belong together."""
    at_least: tuple[bool, ...] | None = None
    """Which values are only lower bounds, because a search or a run was cut short."""


@dataclass(frozen=True, slots=True)
class Fitted(style.Columns):
    """A panel of :func:`draw_fits`: measured values over g, and fitted curves.

    Examples
    --------
    >>> from popsnet.plots import Fitted
    >>> Fitted("relay", "d = g", (8, 16), (12.1, 14.6), (0.1, 0.1), curves={}).g
    (8, 16)
    """

    row: str
    column: str
    g: tuple[int, ...]
    values: tuple[float, ...]
    errors: tuple[float, ...]
    curves: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """The curves by name, each as values of g and of the curve."""


@dataclass(frozen=True, slots=True)
class Decline(style.Columns):
    """The fraction of packets left after each step of a router, measured and in the fluid limit.

    Examples
    --------
    >>> from popsnet.plots import Decline
    >>> Decline("relay", slots=(4, 7), measured=(0.63, 0.3), fluid=(0.632, 0.296)).look
    0
    """

    label: str
    slots: tuple[int, ...]
    """The slot in which each step ends."""
    measured: tuple[float, ...]
    fluid: tuple[float, ...]
    look: int = 0
    """The index of its look in the style."""


@dataclass(frozen=True)
class DistributionBars:
    """The exact probability of each number of steps, and how many runs took that many.

    Examples
    --------
    >>> from popsnet.plots import DistributionBars
    >>> DistributionBars("POPS(2, 2)", exact=(0, 0.6, 0.4), measured={1: 58, 2: 42}).what
    'steps'
    """

    title: str
    exact: tuple[float, ...]
    """P(steps = s) for s = 0, 1, …"""
    measured: Mapping[int, int]
    what: str = "steps"

    def __post_init__(self) -> None:
        if not 0.5 < sum(self.exact) <= 1 + 1e-9 or sum(self.measured.values()) < 1:
            raise ValueError(
                f"{self.title}: the probabilities sum to {sum(self.exact):g}, of "
                f"{sum(self.measured.values())} runs; they must sum to about 1, of at least 1 run."
            )


@style.styled()
def draw_steps(panels: Mapping[str, Sequence[Series]]) -> Figure:
    """Draw steps against n, with a panel for each title.

    Parameters
    ----------
    panels : mapping of str to sequence of Series
        The series of each panel, by title.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.plots import Series, draw_steps
    >>> figure = draw_steps({"d = g": [Series("mei-rizzi", (64, 256), (5.2, 6.0))]})
    >>> figure.axes[0].get_title()
    'd = g'
    """
    figure, row = style.row_of_axes(len(panels), 2.7)
    for axes, (title, series) in zip(row, panels.items(), strict=True):
        _plot(axes, series, title)
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    row[0].set_ylabel("steps")
    return style.with_legend(figure)


@style.styled()
def draw_slots(title: str, randomized: Sequence[Series], deterministic: Sequence[Series]) -> Figure:
    """Draw slots against n: all routers on the left, only the randomized ones on the right.

    Parameters
    ----------
    title : str
        The beginning of the panels' titles.
    randomized, deterministic : sequence of Series
        The series of both kinds of routers.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.plots import Series, draw_slots
    >>> relay, batcher = Series("relay", (64,), (12.1,)), Series("batcher", (64,), (42,))
    >>> len(draw_slots("d = g", [relay], [batcher]).axes)
    2
    """
    figure, (both, alone) = style.row_of_axes(2, 3.1)
    _plot(both, [*randomized, *deterministic], f"{title}: all routers")
    _plot(alone, randomized, f"{title}: only the randomized routers")
    both.set_ylim(bottom=0)
    both.set_ylabel("slots")
    return style.with_legend(figure)


@style.styled()
def draw_losses(series: Sequence[Series]) -> Figure:
    """Draw the share of lost packets against n.

    Parameters
    ----------
    series : sequence of Series
        The shares, between 0 and 1.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.plots import Series, draw_losses
    >>> draw_losses([Series("published", (64, 256), (0.1, 0.2))]).axes[0].get_ylabel()
    'packets lost'
    """
    figure, (axes,) = style.row_of_axes(1, 3.0, style.WIDTH / 2)
    _plot(axes, series)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("packets lost")
    axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(lambda part, _: f"{100 * part:g} %")
    return style.with_legend(figure, columns=1)


@style.styled()
def draw_fits(panels: Sequence[Fitted], unit: str) -> Figure:
    """Draw measured values and fitted curves against g, with panels in rows and columns.

    Parameters
    ----------
    panels : sequence of Fitted
        The panels; each names its row and its column.
    unit : str
        The label of the vertical axes.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.plots import Fitted, draw_fits
    >>> curves = {"fit": ((8, 16), (12, 14))}
    >>> panel = Fitted("relay", "d = g", (8, 16), (12, 14), (0.1, 0.1), curves)
    >>> draw_fits([panel], "slots").axes[0].get_title()
    'relay, d = g'
    """
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
    return style.with_legend(figure)


@style.styled()
def draw_undelivered(panels: Mapping[str, Sequence[Decline]], least: float) -> Figure:
    """Draw the fractions of undelivered packets against slots, with a panel for each title.

    Parameters
    ----------
    panels : mapping of str to sequence of Decline
        The routers of each panel, by title.
    least : float
        The lower end of the axis, such as the fraction of half a packet.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.plots import Decline, draw_undelivered
    >>> decline = Decline("relay", slots=(4, 7), measured=(0.63, 0.3), fluid=(0.632, 0.296))
    >>> draw_undelivered({"d = g": [decline]}, least=1e-3).axes[0].get_xlabel()
    'slots'
    """
    figure, row = style.row_of_axes(len(panels), 3.2, sharey=True)
    for axes, (title, declines) in zip(row, panels.items(), strict=True):
        axes.set_title(title)
        axes.set_yscale("log")
        axes.set_ylim(least, 1.3)
        axes.yaxis.set_major_locator(LogLocator(base=100, numticks=99))
        axes.set_xlabel("slots")
        for one in declines:
            look, slots = style.LOOKS[one.look], (0, *one.slots)
            label = f"{one.label}, fluid limit"
            axes.plot(slots, (1.0, *one.fluid), linewidth=0.9, label=label, **look.curve)
            axes.plot(
                slots, (1.0, *one.measured), color=look.colour, linestyle="none",
                marker=look.marker, markersize=3.5, label=f"{one.label}, measured",
            )  # fmt: skip
    row[0].set_ylabel("undelivered, of all packets")
    return style.with_legend(figure, columns=2)


@style.styled()
def draw_distributions(distributions: Sequence[DistributionBars]) -> Figure:
    """Draw exact distributions as bars, with runs and two standard errors, in a panel each.

    Parameters
    ----------
    distributions : sequence of DistributionBars
        The distributions.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.plots import DistributionBars, draw_distributions
    >>> bars = DistributionBars("POPS(2, 2)", exact=(0, 0.6, 0.4), measured={1: 58, 2: 42})
    >>> draw_distributions([bars]).axes[0].get_title()
    'POPS(2, 2), 100 runs'
    """
    figure, row = style.row_of_axes(len(distributions), 2.7)
    for axes, one in zip(row, distributions, strict=True):
        exact, runs = np.array(one.exact), sum(one.measured.values())
        steps = np.arange(len(exact))
        seen = np.array([one.measured.get(int(s), 0) for s in steps]) / runs
        error = 2 * np.sqrt(exact * (1 - exact) / runs)
        axes.bar(steps, exact, color=style.BLUE, alpha=0.45, label="exact")
        axes.errorbar(
            steps, seen, yerr=error, color=style.VERMILLION, marker="o", markersize=2.5, capsize=2,
            elinewidth=0.8, linestyle="none", label="runs (± 2 standard errors)",
        )  # fmt: skip
        axes.set_title(f"{one.title}, {runs:,} runs")
        axes.set_xlabel(one.what)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    row[0].set_ylabel("probability")
    return style.with_legend(figure, columns=2)


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
