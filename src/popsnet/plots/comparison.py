"""The figure of several routers on the same permutations."""

from __future__ import annotations

from matplotlib.figure import Figure

from popsnet.advice.comparison import Comparison
from popsnet.plots.style import BLUE, GREY, VERMILION, row_of_axes, settled, styled


@styled()
def draw_comparison(found: Comparison) -> Figure:
    """Draw a dot per router, the fastest on top, with its worst run and the lower bound.

    The axis is logarithmic, so there are dots instead of bars, whose lengths would mean nothing.

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
    'POPS(4, 4), 1 permutations'
    """
    done = found.done
    figure, (axes,) = row_of_axes(1, 1.1 + 0.3 * len(done))
    axes.set_title(f"{found.network}, {found.runs} permutations")
    axes.set_xscale("log")
    axes.set_xlabel("slots: mean (dot), worst (tick), lower bound for any schedule (dashes)")
    axes.grid(axis="y", visible=False)
    places, colours = list(range(len(done))), [BLUE if one.router.online else GREY for one in done]
    worst = [max(one.worst_slots, 0.5) for one in done]
    axes.scatter([max(one.mean_slots, 0.5) for one in done], places, c=colours, s=36, zorder=3)
    axes.plot(worst, places, "|", color=VERMILION, markersize=11)
    for at, one in zip(zip(worst, places, strict=True), done, strict=True):
        axes.annotate(
            f" {one.mean_slots:,.1f}", at, (3, 0), textcoords="offset points", va="center",
            fontsize=7,
        )  # fmt: skip
    axes.axvline(max(found.lower_bound, 0.5), color=GREY, linestyle="--", linewidth=0.8)
    labels = [one.label + ("" if one.router.online else ", off-line") for one in done]
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    return settled(figure)
