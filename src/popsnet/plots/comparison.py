"""Slots of several routers on the same permutations, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.figure import Figure

from popsnet.plots.style import BLUE, GREY, PALE, VERMILLION, WIDTH, settled, styled

__all__ = ["Bar", "draw_comparison"]


class Bar(NamedTuple):
    """One router: its mean and its worst run."""

    label: str
    mean: float
    worst: float
    online: bool


@styled()
def draw_comparison(title: str, bars: Sequence[Bar], lower_bound: float) -> Figure:
    """A bar a router, the quickest on top; a tick at its worst run, a line at the lower bound."""
    figure = Figure(figsize=(WIDTH, 1.1 + 0.3 * len(bars)))
    axes = figure.subplots()
    axes.set_title(title)
    axes.set_xscale("log")
    axes.set_xlabel("slots: mean (bar), worst (tick), lower bound for any schedule (dashes)")
    axes.grid(axis="y", visible=False)
    places = range(len(bars))
    colours = [BLUE if bar.online else PALE for bar in bars]
    axes.barh(places, [max(bar.mean, 0.5) for bar in bars], color=colours, height=0.6)
    axes.plot([max(bar.worst, 0.5) for bar in bars], places, "|", color=VERMILLION, markersize=11)
    for place, bar in enumerate(bars):
        axes.annotate(
            f" {bar.mean:,.1f}", (max(bar.worst, 0.5), place), va="center", fontsize=7,
            xytext=(3, 0), textcoords="offset points",
        )  # fmt: skip
    axes.axvline(max(lower_bound, 0.5), color=GREY, linestyle="--", linewidth=0.8)
    labels = [bar.label + ("" if bar.online else ", off-line") for bar in bars]
    axes.set_yticks(list(places), labels)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    return settled(figure)
