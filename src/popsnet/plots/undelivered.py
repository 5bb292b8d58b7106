"""The part of all packets that is not delivered, slot by slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from popsnet.plots.style import LOOKS, WIDTH, settled, styled

__all__ = ["Decline", "draw_undelivered"]


@dataclass(frozen=True, slots=True)
class Decline:
    """What is left of all packets after each step of a router: runs, and the fluid limit."""

    label: str
    slots: tuple[int, ...]
    """When each step ends."""
    measured: tuple[float, ...]
    fluid: tuple[float, ...]
    look: int = 0
    """Which of the style's looks it has."""

    def __post_init__(self) -> None:
        if not len(self.slots) == len(self.measured) == len(self.fluid):
            raise ValueError(f"{self.label}: slots, measured and fluid are not of one length.")


@styled()
def draw_undelivered(panels: Mapping[str, Sequence[Decline]], least: float) -> Figure:
    """A panel for each title; fractions below ``least``, half a packet, say, are off the page."""
    figure = Figure(figsize=(WIDTH, 3.2))
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for title, axes in zip(panels, row, strict=True):
        axes.set_title(title)
        axes.set_yscale("log")
        axes.set_ylim(least, 1.3)
        axes.yaxis.set_major_locator(LogLocator(base=100, numticks=99))
        axes.set_xlabel("slots")
        for one in panels[title]:
            look = LOOKS[one.look]
            axes.plot(
                (0, *one.slots), (1.0, *one.fluid), color=look.colour, linestyle=look.line,
                linewidth=0.9, label=f"{one.label}, fluid limit",
            )  # fmt: skip
            axes.plot(
                (0, *one.slots), (1.0, *one.measured), color=look.colour, linestyle="none",
                marker=look.marker, markersize=3.5, label=f"{one.label}, measured", clip_on=True,
            )  # fmt: skip
    row[0].set_ylabel("undelivered, of all packets")
    figure.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return settled(figure)
