"""The figure of several routers on the same permutations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from popsnet.base.report import plural
from popsnet.base.terminal import escape_controls
from popsnet.plots import style
from popsnet.studies.comparisons.comparison import Comparison, RouterRuns


@style.styled()
def draw_comparison(found: Comparison) -> Figure:
    """Draw a dot per router, the fastest on top, with the slots of its runs and the lower bound.

    The dot is the mean, with its number above it, and every tick is a run. If runs of a router were
    capped, the mean is a lower bound: the dot is hollow, the number has ≥ before it, and there are
    no ticks. The axis is logarithmic from a factor of 10 between the values on.

    Parameters
    ----------
    found : Comparison
        The outcome of :func:`popsnet.compare`.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.plots import draw_comparison
    >>> draw_comparison(popsnet.compare(4, 4, runs=1)).axes[0].get_title()
    'POPS(4, 4), 1 permutation'
    """
    done = found.done
    figure, (axes,) = style.row_of_axes(1, 1.3 + 0.32 * len(done))
    what = plural(found.runs, "permutation")
    if found.demand is not None:
        what = plural(found.demand.packets, "packet")
    axes.set_title(f"{found.network}, {what}")
    capped = ",\ncapped runs, so at least this (hollow dot)" * any(row.capped for row in done)
    bounds = [] if found.lower_bound is None else [found.lower_bound]
    dashes = ",\nlower bound for any schedule (dashes)" * len(bounds)
    axes.set_xlabel(f"slots: mean (dot), each run (tick){dashes}{capped}")
    axes.grid(axis="y", visible=False)
    for place, row in enumerate(done):
        _draw_router(axes, place, row)
    for bound in bounds:
        axes.axvline(max(bound, 0.5), color=style.GREY, linestyle="--", linewidth=0.8)
    labels = [row.label + " (knows all destinations)" * (not row.router.online) for row in done]
    axes.set_yticks(range(len(done)), list(map(escape_controls, labels)))
    axes.set_ylim(len(done) - 0.4, -0.6)  # the fastest on top, and room above and below
    _set_axis(axes, [*bounds, *(slots for row in done for slots in _slots(row))])
    return style.settled(figure)


def _slots(row: RouterRuns) -> tuple[float, float]:
    """Return the fewest and the most slots that are drawn."""
    mean = max(row.mean_slots, 0.5)
    if row.capped or row.runs is None:
        return mean, mean
    return max(int(row.runs.slots.min()), 0.5), max(int(row.runs.slots.max()), 0.5)


def _set_axis(axes: Axes, values: Sequence[float]) -> None:
    """Set scale and limits, with room for numbers above the first and the last dot."""
    least, most = max(min(values), 0.5), max(*values, 0.5)
    if most < style.WIDE_RANGE * least:
        axes.set_xlim(0, 1.08 * most)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    style.log10_axis(axes, "x")
    axes.set_xlim(least / (most / least) ** 0.08, most * (most / least) ** 0.08)


def _draw_router(axes: Axes, place: int, row: RouterRuns) -> None:
    colour, mean = style.BLUE if row.router.online else style.GREY, max(row.mean_slots, 0.5)
    inside = "white" if row.capped else colour
    axes.scatter([mean], [place], s=36, facecolor=inside, edgecolor=colour, zorder=3)
    if not row.capped and row.runs is not None:
        runs = np.maximum(np.unique(row.runs.slots), 0.5)
        axes.plot(runs, np.full(len(runs), place), "|", color=style.VERMILION, markersize=7)
    text = f"{'≥ ' * row.capped}{row.mean_slots:,.1f}"
    style.beside(axes, text, (mean, place), (0, 4), ha="center", va="bottom", fontsize=7)
