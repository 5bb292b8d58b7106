"""Processors and couplers: where they stand in a picture, and how they are drawn."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch

from popsnet.network import Network

__all__ = ["HALF", "RADIUS", "add_coupler", "add_processor", "coupler_height", "processor_height"]

RADIUS = 0.3
HALF = 0.45
"""Of a processor, and half the width of a coupler."""

_GROUP_GAP = 0.8


def processor_height(network: Network, processor: int) -> float:
    """Groups from top to bottom, as tall as their couplers."""
    group, index = divmod(processor, network.d)
    return _height(network, group, (index + 0.5) / network.d)


def coupler_height(network: Network, to: int, source: int) -> float:
    """Coupler c(to, source) stands beside the group it leads to."""
    return _height(network, to, (source + 0.5) / network.g)


def _height(network: Network, group: int, part: float) -> float:
    tall = max(network.d, network.g)
    return -(group * (tall + _GROUP_GAP) + part * tall)


def add_processor(axes: Axes, x: float, y: float, number: int, **looks: Any) -> None:
    """A circle with a number."""
    looks = {"facecolor": "white", "edgecolor": "black", **looks}
    axes.add_patch(Circle((x, y), RADIUS, zorder=2, **looks))
    axes.text(x, y, f"{number}", ha="center", va="center", fontsize=8, zorder=3)


def add_coupler(axes: Axes, x: float, y: float, colour: str, width: float = 1.4) -> None:
    """A box with round corners."""
    axes.add_patch(
        FancyBboxPatch(
            (x - HALF, y - 0.3), 2 * HALF, 0.6, boxstyle="round,pad=0,rounding_size=0.1",
            facecolor="white", edgecolor=colour, linewidth=width, zorder=2,
        )
    )  # fmt: skip
