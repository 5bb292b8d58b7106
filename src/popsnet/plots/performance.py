"""Figures of measured times, losses, fits and distributions beside the paper and theory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, Locator, LogLocator, MaxNLocator
from matplotlib.typing import FillStyleType

from popsnet.base.errors import wrong
from popsnet.base.terminal import escape_controls
from popsnet.plots import style
from popsnet.theory.exact import ExactSteps

_FILLS: tuple[FillStyleType, ...] = ("full", "none", "left", "bottom", "right", "top")

_ONE_PANEL = 4.3
"""The width of a figure with one panel, in inches: readable on a narrow screen."""

_DOT_COLUMNS = 2
"""Columns of the legend of a figure with a dot for each router."""

_LANES = (0.0, -0.27, 0.27)
"""Where dots of a row are drawn, from its middle and as parts of its height."""

_DOT_ROOM = 3.5
_CHARACTER = 4.2
"""Half the width of a dot with its surroundings, and the width of a character, in points."""

_MANY_TIMES = 600
"""From this ratio of the most to the fewest slots on, ticks are two per power of ten, not three."""

_FEW_SIZES = 4
"""Up to this many values of n, each has a tick."""

_MOST_FINE = 12
"""Up to this many doublings of n, ticks are a factor of 4 apart, and beyond it 16."""

_LEAST_BAR = 0.001
"""The bars of an exact distribution end where less than this is left."""

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


class Dot(NamedTuple):
    """The slots of a router on one network, as a dot of :func:`draw_dots`.

    Examples
    --------
    >>> from popsnet.plots import Dot
    >>> Dot("relay", 12.1).look
    0
    """

    label: str
    slots: float
    look: int = 0
    """The index of its look in the style."""
    variant: int = 0
    """How the look is filled: wholly, not at all, or one of four halves."""
    text: str = ""
    """A few characters beside the dot."""


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
    return style.with_legend(figure, columns=4)


@style.styled()
def draw_slots(
    panels: Mapping[str, Sequence[Series]], *, log: bool = False,
    size: tuple[float, float] = (style.WIDTH, 3.4), columns: int = 4,
) -> Figure:  # fmt: skip
    """Draw slots against n, a panel for each title, with one legend.

    Parameters
    ----------
    panels : mapping
        The series of each panel, by its title.
    log : bool
        Whether slots are on a logarithmic axis, the same in all panels.
    size : tuple of float
        Width and height in inches.
    columns : int
        Columns of the legend.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.plots import Series, draw_slots
    >>> draw_slots({"d = g": [Series("relay", (64,), (12.1,))]}).axes[0].get_ylabel()
    'slots'
    """
    width, height = size
    figure, row = style.row_of_axes(len(panels), height, width, sharey=log)
    for axes, (title, series) in zip(row, panels.items(), strict=True):
        _plot(axes, series, title)
        if log:
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(style.plain_number)
            axes.tick_params(labelleft=True)  # each panel can be read alone
        else:
            axes.set_ylim(bottom=0)
            axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    row[0].set_ylabel("slots")
    return style.with_legend(figure, columns)


@style.styled()
def draw_dots(rows: Mapping[str, Sequence[Dot]]) -> Figure:
    """Draw slots on a logarithmic axis, a row for each network and a dot for each router.

    Dots with one label have one look. Within a row, dots and texts that would cover each other are
    drawn above one another.

    Parameters
    ----------
    rows : mapping of str to sequence of Dot
        The routers of each network, by the network's name.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.plots import Dot, draw_dots
    >>> draw_dots({"POPS(8, 8)": [Dot("relay", 12.1)]}).axes[0].get_xlabel()
    'mean slots, logarithmic'
    """
    labels = list(dict.fromkeys(dot.label for dots in rows.values() for dot in dots))
    height = 0.55 + 0.42 * len(rows) + 0.16 * ceil(len(labels) / _DOT_COLUMNS)
    figure, (axes,) = style.row_of_axes(1, height, _ONE_PANEL)
    _dot_axes(axes, rows)
    figure.draw_without_rendering()  # the width of the panel is known from here on
    heights = [
        (dot, place + lane)
        for place, dots in enumerate(rows.values())
        for dot, lane in zip(dots, _lanes(axes, dots), strict=True)
    ]
    for label in labels:
        drawn = [(dot, y) for dot, y in heights if dot.label == label]
        first, points = drawn[0][0], [(dot.slots, y) for dot, y in drawn]
        look, fill = style.LOOKS[first.look % len(style.LOOKS)], _FILLS[first.variant % len(_FILLS)]
        looks = look.marks(5, fillstyle=fill, zorder=3, label=label, clip_on=False)
        axes.plot(*zip(*points, strict=True), **looks)
        for dot, y in drawn:
            if dot.text:
                looks = {"va": "center", "fontsize": 6.5, "color": style.GREY}
                style.beside(axes, dot.text, (dot.slots, y), (5, 0), **looks)
    return style.with_legend(figure, _DOT_COLUMNS)


def _dot_axes(axes: Axes, rows: Mapping[str, Sequence[Dot]]) -> None:
    """Prepare the axes of :func:`draw_dots`."""
    for place in range(0, len(rows), 2):
        axes.axhspan(place - 0.5, place + 0.5, color=style.PALE, alpha=0.25, linewidth=0, zorder=0)
    axes.grid(visible=False, axis="y")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.5, -0.5)
    slots = [dot.slots for dots in rows.values() for dot in dots]
    style.log10_axis(axes, "x", (1, 2, 5) if max(slots) < _MANY_TIMES * min(slots) else (1, 3))
    axes.set(xlim=(min(slots) / 1.3, max(slots) * 1.3), xlabel="mean slots, logarithmic")


def _lanes(axes: Axes, dots: Sequence[Dot]) -> list[float]:
    """Return the lane of each dot of a row: the first one with room, dots with a text first."""
    taken: dict[float, list[tuple[float, float]]] = {lane: [] for lane in _LANES}
    lanes: dict[int, float] = {}

    def room(lane: float, start: float, end: float) -> float:
        return min((max(left - end, start - right) for left, right in taken[lane]), default=np.inf)

    for place in sorted(range(len(dots)), key=lambda k: (not dots[k].text, dots[k].slots)):
        x = axes.transData.transform((dots[place].slots, 0))[0] * 72 / axes.figure.dpi
        span = x - _DOT_ROOM, x + _DOT_ROOM + _CHARACTER * len(dots[place].text)
        free = [lane for lane in _LANES if room(lane, *span) >= 0]
        lanes[place] = free[0] if free else max(_LANES, key=lambda lane: room(lane, *span))
        taken[lanes[place]].append(span)
    return [lanes[place] for place in range(len(dots))]


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
    figure, (axes,) = style.row_of_axes(1, 2.7, _ONE_PANEL)
    _plot(axes, series)
    axes.set(ylim=(0, None), ylabel="packets lost")
    axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))
    axes.yaxis.set_major_formatter(lambda part, _: f"{100 * part:g}%")
    return style.with_legend(figure)


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
        axes = grid[rows.index(panel.row), columns.index(panel.column)]
        axes.set(visible=True, title=f"{panel.row}, {panel.column}", ylabel=unit)
        for look, (name, curve) in zip(style.LOOKS, panel.curves.items(), strict=False):
            axes.plot(*curve, linewidth=1.2, label=name, **look.curve)
        dots = style.Look(style.BLACK, "o", "-").marks(3.5, elinewidth=0.9, capsize=2.5, zorder=4)
        label = "measured (± standard error)"
        axes.errorbar(panel.g, panel.values, panel.errors, label=label, **dots)
        style.log2_axis(axes, "number of groups g", FixedLocator(panel.g[::-3]))
        axes.yaxis.set_major_locator(MaxNLocator(6))
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
        axes.set(title=title, xlabel="slots", yscale="log", ylim=(least, 1.3))
        axes.yaxis.set_major_locator(LogLocator(base=100, numticks=99))
        axes.tick_params(labelleft=True)  # each panel can be read alone
        for decline in declines:
            look, slots = style.LOOKS[decline.look], (0, *decline.slots)
            label = f"{decline.label}, fluid limit"
            axes.plot(slots, (1.0, *decline.fluid), linewidth=0.9, label=label, **look.curve)
            label = f"{decline.label}, measured"
            axes.plot(slots, (1.0, *decline.measured), label=label, **look.marks(3.5))
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
    for axes, bars in zip(row, distributions, strict=True):
        exact, runs = np.array(bars.exact), sum(bars.measured.values())
        steps = np.arange(len(exact))
        seen = np.array([bars.measured.get(int(s), 0) for s in steps]) / runs
        error = 2 * np.sqrt(exact * (1 - exact) / runs)
        axes.bar(steps, exact, color=style.BLUE, alpha=0.45, label="exact")
        dots = style.Look(style.VERMILION, "o", "-").marks(2.5, elinewidth=0.8, capsize=2)
        axes.errorbar(steps, seen, error, label="runs (± 2 standard errors)", **dots)
        axes.set(title=f"{bars.title}, {runs:,} runs", xlabel=bars.what)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    row[0].set_ylabel("probability")
    return style.with_legend(figure, columns=2)


@style.styled()
def draw_exact(solved: ExactSteps) -> Figure:
    """Draw an exact distribution of steps as bars, with the mean.

    Parameters
    ----------
    solved : ExactSteps
        The outcome of :func:`popsnet.theory.exact.exact_steps`. Steps are drawn up to its ``upto``,
        or as long as a bar can be seen.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> from popsnet.plots import draw_exact
    >>> from popsnet.theory.exact import exact_steps
    >>> draw_exact(exact_steps(2, 2)).axes[0].get_title()
    'mei-rizzi on POPS(2, 2), permutation random'
    """
    exact = solved.distribution
    last = len(exact.within) - 1
    seen = next((s for s in range(last) if exact.within[s] > 1 - _LEAST_BAR), last)
    steps = range(exact.fewest, min(last, seen if solved.upto is None else solved.upto) + 1)
    if not steps:
        raise wrong("upto", solved.upto)(f"every run takes at least {exact.fewest} steps.")
    figure, (axes,) = style.row_of_axes(1, 3.2)
    axes.bar(steps, [float(exact.probability(s)) for s in steps], color=style.BLUE)
    axes.set_axisbelow(True)
    mean = float(exact.mean)
    axes.axvline(mean, color=style.VERMILION, linestyle="--", label=f"mean {mean:.4g}")
    name = f"{exact.router} on {exact.network}, permutation {solved.permutation}"
    what = "stages" if exact.router == "relay" else "steps"
    axes.set(title=escape_controls(name), xlabel=what, ylabel="probability")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return style.with_legend(figure)


def _power_of_two(n: float, _: object) -> str:
    power = log2(n)
    return "2" + f"{power:.0f}".translate(_RAISED) if power.is_integer() else f"{n:,g}"


def _plot(axes: Axes, series: Sequence[Series], title: str = "") -> None:
    axes.set_title(title)
    sizes = sorted({n for line in series for n in line.x})
    style.log2_axis(axes, "number of processors n", _ticks(sizes), _power_of_two)
    for line in series:
        label = line.label if line.error is None else f"{line.label} (± {line.error_is})"
        axes.errorbar(line.x, line.y, yerr=line.error, label=label, **_looks(line))
    if len(sizes) == 1:
        axes.set_xlim(sizes[0] / 2, sizes[0] * 2)


def _ticks(sizes: Sequence[float]) -> Locator:
    if len(sizes) <= _FEW_SIZES:
        return FixedLocator(sizes)
    fine = log2(sizes[-1] / sizes[0]) <= _MOST_FINE
    return LogLocator(base=4 if fine else 16, numticks=99)


def _looks(series: Series) -> dict[str, Any]:
    look = style.LOOKS[series.look]
    kinds: dict[CurveKind, dict[str, Any]] = {
        CurveKind.MEASURED: look.marked(3, linewidth=1.1, zorder=3),
        CurveKind.PUBLISHED: look.marks(7, markerfacecolor="none", markeredgewidth=0.9, zorder=4),
        CurveKind.THEORY: {"linestyle": (0, (6, 2)), "linewidth": 0.7, "zorder": 2},
    }
    return {"color": look.colour, "clip_on": False, **style.BARS, **kinds[series.kind]}
