"""Results of a store: means against the size or shape of the network."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator

from popsnet.errors import InputError
from popsnet.plots import style
from popsnet.sweeps.curves import Curves, result_curves
from popsnet.sweeps.selection import EVERYTHING, Selection
from popsnet.sweeps.store import Store

_MOST_LINES = 3 * len(style.LOOKS)
_MOST_TICKS = 9
_WIDE_RANGE = 20.0
"""From this ratio of the largest to the smallest mean on, the y axis is logarithmic."""

_X_LABELS = {
    "n": "number of processors n", "d": "processors per group d", "g": "number of groups g",
    "d/g": "d/g",
}  # fmt: skip
_MEASURES = {
    "slots": "slots", "slots_delivered": "slots until the last delivery", "steps": "steps",
    "lost": "packets lost",
}  # fmt: skip


def draw_results(
    store: Store, x: str = "n", measure: str = "slots", only: Selection = EVERYTHING
) -> Figure:
    """Draw the means of a store's experiments with 95 % intervals, a line per router and variant.

    Lines are divided further by permutation, seed, cap and shape where these differ. A mean of
    runs of which some were capped is a lower bound; it is marked "≥" and has no interval. Means
    are over all runs up to the first missing shard. A router that chooses a schedule for each
    network, such as relay, has one line for all of them. The y axis is logarithmic if the means
    differ by a factor of 20 or more.

    Parameters
    ----------
    store : Store
        Where the results are.
    x : str
        The horizontal axis: ``"n"``, ``"d"``, ``"g"`` or ``"d/g"``.
    measure : str
        The vertical axis: ``"slots"``, ``"slots_delivered"``, ``"steps"`` or ``"lost"``.
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
    rows = -(-(count + 1) // columns)
    figure, (axes,) = style.row_of_axes(1, 3.2 + 0.17 * rows)
    axes.set_title(curves.title)
    _set_x(axes, curves)
    for number, (label, line) in enumerate(curves.lines.items()):
        look = style.LOOKS[number % len(style.LOOKS)]
        other = style.LOOKS[(number + number // len(style.LOOKS)) % len(style.LOOKS)]
        reach = [0.0 if one.capped or one.runs < 2 else one.high - one.mean for one in line]
        axes.errorbar(
            [float(one.x) for one in line], [one.mean for one in line], yerr=reach, label=label,
            color=look.colour, marker=other.marker, linestyle=other.line, markersize=4,
            linewidth=1.1, elinewidth=0.9, capsize=2.5, capthick=0.9,
        )  # fmt: skip
    capped = [(float(one.x), one.mean) for one in curves.points if one.capped]
    style.mark_lower_bounds(axes, capped, "lower bound: some runs were capped")
    _set_y(axes, curves)  # only now: limits that are set before would stay
    return style.with_legend(figure, columns)


def _set_y(axes: Axes, curves: Curves) -> None:
    means = [point.mean for point in curves.points]
    axes.set_ylabel(f"{_MEASURES[curves.measure]}: mean, 95 % interval")
    if min(means) > 0 and max(means) >= _WIDE_RANGE * min(means):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=99))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:,g}")
        axes.minorticks_off()
    elif max(means) == 0:
        axes.set_ylim(0, 1)
    else:
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10]))


def _set_x(axes: Axes, curves: Curves) -> None:
    values = sorted({point.x for point in curves.points})
    ticks = _spread(values)
    words = {float(value): _number(value) for value in ticks}
    locator = FixedLocator(list(words))
    label = _X_LABELS[curves.x]
    style.log2_axis(axes, label, locator, lambda value, _: words.get(value, ""))
    if len(values) == 1:
        axes.set_xlim(float(values[0]) / 2, float(values[0]) * 2)


def _spread(values: Sequence[Fraction]) -> list[Fraction]:
    """Return the values that get a tick: at most nine, the last among them."""
    every = -(-len(values) // _MOST_TICKS)
    return list(values)[::-1][::every][::-1]


def _number(value: Fraction) -> str:
    return f"{value.numerator:,}" if value.denominator == 1 else str(value)
