"""Slots of several routers on the same permutations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from popsnet.plots.style import BLUE, GREY, VERMILLION, row_of_axes, settled, styled

__all__ = ["Mark", "draw_comparison"]


class Mark(NamedTuple):
    """One router: its mean and its worst run."""

    label: str
    mean: float
    worst: float
    online: bool


@styled()
def draw_comparison(title: str, marks: Sequence[Mark], lower_bound: float) -> Figure:
    """A dot a router, the quickest on top; a tick at its worst run, dashes at the lower bound.

    The axis is logarithmic, so that lengths would mean nothing: there are no bars.
    """
    figure, (axes,) = row_of_axes(1, 1.1 + 0.3 * len(marks))
    axes.set_title(title)
    axes.set_xscale("log")
    axes.set_xlabel("slots: mean (dot), worst (tick), lower bound for any schedule (dashes)")
    axes.grid(axis="y", visible=False)
    places, colours = list(range(len(marks))), [BLUE if mark.online else GREY for mark in marks]
    worst = [max(mark.worst, 0.5) for mark in marks]
    axes.scatter([max(mark.mean, 0.5) for mark in marks], places, c=colours, s=36, zorder=3)
    axes.plot(worst, places, "|", color=VERMILLION, markersize=11)
    for at, mark in zip(zip(worst, places, strict=True), marks, strict=True):
        axes.annotate(
            f" {mark.mean:,.1f}", at, (3, 0), textcoords="offset points", va="center", fontsize=7
        )
    axes.axvline(max(lower_bound, 0.5), color=GREY, linestyle="--", linewidth=0.8)
    labels = [mark.label + ("" if mark.online else ", off-line") for mark in marks]
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    return settled(figure)
