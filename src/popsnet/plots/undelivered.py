"""The part of all packets that is not delivered, slot by slot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from popsnet.plots import style


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
        columns = {"slots": self.slots, "measured": self.measured, "fluid": self.fluid}
        style.require_equal_lengths(self.label, **columns)


@style.styled()
def draw_undelivered(panels: Mapping[str, Sequence[Decline]], least: float) -> Figure:
    """A panel for each title; fractions below ``least``, half a packet, say, are off the page."""
    figure, row = style.row_of_axes(len(panels), 3.2, sharey=True)
    for axes, (title, declines) in zip(row, panels.items(), strict=True):
        axes.set_title(title)
        axes.set_yscale("log")
        axes.set_ylim(least, 1.3)
        axes.yaxis.set_major_locator(LogLocator(base=100, numticks=99))
        axes.set_xlabel("slots")
        for one in declines:
            look, slots = style.LOOKS[one.look], (0, *one.slots)
            label = f"{one.label}, fluid limit"
            axes.plot(slots, (1.0, *one.fluid), linewidth=0.9, label=label, **look.curve)
            axes.plot(
                slots, (1.0, *one.measured), color=look.colour, linestyle="none",
                marker=look.marker, markersize=3.5, label=f"{one.label}, measured",
            )  # fmt: skip
    row[0].set_ylabel("undelivered, of all packets")
    style.add_legend(figure, columns=2)
    return style.settled(figure)
