"""Results of a store: means against the size or shape of the network."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, MaxNLocator

from popsnet.base.errors import InputError
from popsnet.base.report import plural
from popsnet.base.terminal import escape_controls
from popsnet.plots import style
from popsnet.runs.run import Runs
from popsnet.sweeps.curves import CurvePoint, Curves, number_text, result_curves
from popsnet.sweeps.selection import NEWEST, Selection
from popsnet.sweeps.store import Store

_MOST_LINES = 3 * len(style.LOOKS)

_WIDE_RANGE = 20.0
"""From this ratio of the largest to the smallest mean on, the y axis is logarithmic."""

_X_LABELS = {
    "n": "number of processors n", "d": "processors per group d", "g": "number of groups g",
    "d/g": "d/g",
}  # fmt: skip
_MEASURES = {
    "slots": "slots", "steps": "steps", "slots_delivered": "slots until the last delivery",
    "lost": "packets lost",
}  # fmt: skip


@style.styled()
def draw_runs(runs: Runs, measure: str = "slots") -> Figure:
    """Draw a histogram: how many of the runs of an experiment have each value of a count.

    Parameters
    ----------
    runs : Runs
        The outcome of :func:`popsnet.route`.
    measure : str
        A count, such as ``"slots"`` or ``"steps"``.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.plots.draw_runs(popsnet.route(4, 4, runs=20)).axes[0].get_title()
    'mei-rizzi (published) on POPS(4, 4), 20 runs'
    """
    values, counts = runs.histogram(measure)
    figure, (axes,) = style.row_of_axes(1, 3.2)
    axes.bar(values, counts, color=style.BLUE)
    axes.set_title(escape_controls(f"{runs.experiment}, {plural(len(runs), 'run')}"))
    axes.set(xlabel=_MEASURES.get(measure, measure.replace("_", " ")), ylabel="runs")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    return figure


@style.styled()
def draw_results(
    store: Store, x: str = "n", measure: str = "slots", only: Selection = NEWEST
) -> Figure:
    """Draw the means of a store's experiments with 95 % intervals, a line per router.

    The variants that a router chooses by itself, such as the schedules of relay, are one line. A
    variant that was asked for has a line of its own. Lines are divided further by permutation,
    seed, cap and shape where these differ. A mean of runs of which some were capped is a lower
    bound: its marker is hollow, with an arrow up, and has no interval. Means are over all runs up
    to the first missing shard. The y axis is logarithmic if the means differ by a factor of 20 or
    more.

    Parameters
    ----------
    store : Store
        Where the results are.
    x : str
        The horizontal axis: ``"n"``, ``"d"``, ``"g"`` or ``"d/g"``.
    measure : str
        The vertical axis: ``"slots"``, ``"steps"``, ``"slots_delivered"`` or ``"lost"``.
    only : Selection
        Which experiments; all by default.

    Returns
    -------
    matplotlib.figure.Figure
        The figure. ``savefig`` writes it.

    Examples
    --------
    >>> import popsnet
    >>> sweep = popsnet.Sweep.of_grid(shapes=[[4, 4], [8, 8]], routers=["mei-rizzi", "direct"])
    >>> tallies = popsnet.collect(sweep, store="results.sqlite")
    >>> with popsnet.Store("results.sqlite") as store:
    ...     figure = popsnet.plots.draw_results(store)
    >>> figure.axes[0].get_title()
    'd = g, permutation random, 40 runs, 10 per point'
    """
    return draw_curves(result_curves(store, x, measure, only))


@style.styled()
def draw_curves(curves: Curves) -> Figure:
    """Draw lines of means."""
    count = len(curves.lines)
    if count > _MOST_LINES:
        raise InputError(
            f"The figure would have {count:,} lines, and {_MOST_LINES} can be told apart. Select "
            "fewer routers, variants, permutations or sizes."
        )
    columns = 1 if max(map(len, curves.lines)) > 55 else 2
    figure, (axes,) = style.row_of_axes(1, 3.2 + 0.17 * -(-(count + 1) // columns))
    axes.set_title(curves.title)
    _set_x(axes, curves)
    for look, (label, line) in zip(_looks(curves), curves.lines.items(), strict=True):
        reach = [0.0 if dot.capped or dot.runs < 2 else dot.high - dot.mean for dot in line]
        x, means = [float(point.x) for point in line], [point.mean for point in line]
        looks = look.marked(4, linewidth=1.1, **style.BARS)
        drawn = axes.errorbar(x, means, reach, label=escape_controls(label), **looks)
        drawn.lines[0].set_clip_on(False)  # or the axis would cut markers at 0
        _mark_lower_bounds(axes, line, look)
    if any(point.capped for point in curves.points):
        looks = style.Look(style.GREY, "o", "-").marks(4, markerfacecolor="white")
        label = "↑ lower bound: some runs were capped"
        axes.errorbar([], [], label=label, **looks)  # not plot: its label would be the first
    _set_y(axes, curves)  # only now: limits that are set before would stay
    return style.with_legend(figure, columns)


def _looks(curves: Curves) -> list[style.Look]:
    """Return a look per line.

    If a router has several lines, they have one colour, and differ in markers and line styles.
    """
    count = len(style.LOOKS)
    routers = [line[0].experiment.router for line in curves.lines.values()]
    places = list(dict.fromkeys(routers))
    looks = []
    for place, router in enumerate(routers):
        colour, number, shift = place, place, place // count
        if 1 < len(places) < len(routers):
            colour, number = places.index(router), routers[:place].count(router)
            shift = colour + number // count  # or a line would hide an equal one of another router
        shape, line = style.LOOKS[number % count], (number + shift) % count
        look = style.Look(style.LOOKS[colour % count].colour, shape.marker, style.LOOKS[line].line)
        looks.append(look)
    return looks


def _mark_lower_bounds(axes: Axes, line: Sequence[CurvePoint], look: style.Look) -> None:
    """Draw the points of capped runs hollow, with an arrow up."""
    if capped := [(float(point.x), point.mean) for point in line if point.capped]:
        looks = look.marks(4, markerfacecolor="white", clip_on=False, zorder=3)
        axes.plot(*zip(*capped, strict=True), **looks)
        style.mark_above(axes, capped, r"$\uparrow$", 7, color=look.colour, zorder=3)


def _set_y(axes: Axes, curves: Curves) -> None:
    means = [point.mean for point in curves.points]
    axes.set_ylabel(f"{_MEASURES[curves.measure]}: mean, 95 % interval")
    if min(means) > 0 and max(means) >= _WIDE_RANGE * min(means):
        style.log10_axis(axes, "y")
    elif max(means) == 0:
        axes.set_ylim(0, 1)
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))


def _set_x(axes: Axes, curves: Curves) -> None:
    values = sorted({point.x for point in curves.points})
    words = {float(value): number_text(value) for value in values}
    locator = FixedLocator(list(words))
    style.log2_axis(axes, _X_LABELS[curves.x], locator, lambda value, _: words.get(value, ""))
    if len(values) == 1:
        axes.set_xlim(float(values[0]) / 2, float(values[0]) * 2)
