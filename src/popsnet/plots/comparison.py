"""The figure of several routers on the same permutations."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from popsnet.base.report import plural
from popsnet.base.terminal import escape_controls
from popsnet.plots import style
from popsnet.studies.comparisons.comparison import Comparison, RouterRuns


@style.styled()
def draw_comparison(found: Comparison) -> Figure:
    """Draw a dot per router, the fastest on top, with its worst run and the lower bound.

    The axis is logarithmic, so there are dots instead of bars, whose lengths would mean nothing.
    If runs of a router were capped, its mean is a lower bound: the dot is hollow, the number has ≥
    before it, and there is no worst run.

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
    figure, (axes,) = style.row_of_axes(1, 1.3 + 0.3 * len(done))
    what = plural(found.runs, "permutation")
    if found.demand is not None:
        what = plural(found.demand.packets, "packet")
    axes.set_title(f"{found.network}, {what}")
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(style.plain_number)
    axes.xaxis.set_minor_formatter(LogFormatter())  # without powers, if decades are few
    capped = ",\ncapped runs, so at least this (hollow dot)" * any(row.capped for row in done)
    bounds = [] if found.lower_bound is None else [found.lower_bound]
    dashes = ",\nlower bound for any schedule (dashes)" * len(bounds)
    axes.set_xlabel(f"slots: mean (dot), worst (tick){dashes}{capped}")
    axes.grid(axis="y", visible=False)
    places = range(len(done))
    for place, row in enumerate(done):
        _draw_router(axes, place, row)
    for bound in bounds:
        axes.axvline(max(bound, 0.5), color=style.GREY, linestyle="--", linewidth=0.8)
    labels = [row.label + ("" if row.router.online else ", off-line") for row in done]
    axes.set_yticks(places, list(map(escape_controls, labels)))
    axes.set_ylim(len(done) - 0.4, -0.6)  # the fastest on top, and room above and below
    _leave_room(axes, [*bounds, *(max(row.mean_slots, row.worst_slots) for row in done)])
    return style.settled(figure)


def _leave_room(axes: Axes, values: Sequence[float]) -> None:
    """Set the limits of the axis, with room for a number right of the last value."""
    least, most = max(min(values), 0.5), max(*values, 0.5)
    span = max(most / least, 4)
    axes.set_xlim(least / span**0.08, most * span**0.25)


def _draw_router(axes: Axes, place: int, row: RouterRuns) -> None:
    colour, mean = style.BLUE if row.router.online else style.GREY, max(row.mean_slots, 0.5)
    inside = "white" if row.capped else colour
    axes.scatter([mean], [place], s=36, facecolor=inside, edgecolor=colour, zorder=3)
    end = mean if row.capped else max(row.worst_slots, 0.5)
    if not row.capped:
        axes.plot([end], [place], "|", color=style.VERMILION, markersize=11)
    text = f"{'≥ ' * row.capped}{row.mean_slots:,.1f}"
    style.beside(axes, text, (end, place), (6, 0), va="center", fontsize=7)
