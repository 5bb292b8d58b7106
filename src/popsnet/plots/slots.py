"""Some slots of a traced run, side by side: everything that is sent, heard and kept in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import fill

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType

from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.plots.light import Coupler, count_load
from popsnet.plots.shapes import (
    HALF,
    RADIUS,
    add_coupler,
    add_processor,
    coupler_height,
    processor_height,
)
from popsnet.plots.style import BLUE, GREEN, GREY, PALE, VERMILLION, settled, styled
from popsnet.trace.reader import SlotLine, read_trace

__all__ = ["draw_trace"]

_PITCH = 4.4
_TOP = 2.0
_INCHES = 0.4
"""The width of a slot, the height of headings, and how large a unit is."""

_PACKET: tuple[str, LineStyleType, float] = BLUE, "-", 1.5
_CONTROL: tuple[str, LineStyleType, float] = GREEN, (0, (6, 1.5, 1, 1.5)), 1.3
_COLLIDED: tuple[str, LineStyleType, float] = VERMILLION, (0, (2, 1.6)), 1.5
_VAIN: tuple[str, LineStyleType, float] = PALE, (0, (1, 2)), 0.7
_HOME, _WAITING = "#b4b4b4", "white"
_STILL, _RID = 2.2, 0.6

Holdings = Mapping[int, Sequence[int]]
"""The packets that each processor holds."""


@styled()
def draw_trace(path: Path, slots: range, a_row: int = 4) -> Figure:
    """Draw the slots of a trace with these numbers, from left to right, so many a row.

    Between two slots stand the processors, as they are after the one and before the other. Kinds
    of messages have lines of their own, and colour is not needed to tell them apart.
    """
    trace = read_trace(path)
    header = trace.header
    network = Network(header.d, header.g)
    executed = (line for line in trace if isinstance(line, SlotLine))
    shown = list(_with_holdings(network, executed, slots))
    if len(shown) == 1:
        raise InputError(f"{path} has no slots from {slots.start} to {slots.stop - 1}.")
    rows = [shown[first : first + a_row + 1] for first in range(0, len(shown) - 1, a_row)]
    columns = len(rows[0]) - 1
    height = _TOP - _bottom(network)
    size = ((columns * _PITCH + 3.4) * _INCHES, len(rows) * height * _INCHES + 0.5)
    figure = Figure(figsize=size)
    for axes, row in zip(figure.subplots(len(rows), squeeze=False)[:, 0], rows, strict=True):
        for column, (holdings, line) in enumerate(row):
            _processors(axes, network, column, holdings, header.destination)
            if line is not None and column < a_row:
                _slot(axes, network, column, line)
        _margins(axes, network, header.destination, columns)
    _legend(figure, columns)
    return settled(figure)


def _with_holdings(
    network: Network, lines: Iterator[SlotLine], slots: range
) -> Iterator[tuple[Holdings, SlotLine | None]]:
    """Who holds what before each slot that is asked for, and the slot; at the end without one."""
    holds: dict[int, list[int]] = {one: [one] for one in range(network.n)}
    for line in lines:
        if line.slot in slots:
            yield {one: tuple(held) for one, held in holds.items()}, line
        for processor, packet in line.drops:
            holds[processor].remove(packet)
        for processor, packet in line.keeps:
            holds[processor].append(packet)
        if line.slot + 1 >= slots.stop:
            break
    yield holds, None


def _slot(axes: Axes, network: Network, column: int, line: SlotLine) -> None:
    load = count_load(network, line.sends)
    cargo: dict[Coupler, tuple[str, int | None]] = {}
    middle = (column + 0.5) * _PITCH
    for sender, groups, kind, packet in line.sends:
        for coupler in ((to, sender // network.d) for to in groups):
            cargo[coupler] = (kind, packet)
            look = _COLLIDED if load[coupler] > 1 else _look(kind)
            start = (column * _PITCH + RADIUS, processor_height(network, sender))
            _beam(axes, start, (middle - HALF, coupler_height(network, *coupler)), look)
    for listener, group in line.listens:
        coupler = (listener // network.d, group)
        look = _look(cargo[coupler][0]) if load[coupler] == 1 else _VAIN
        end = ((column + 1) * _PITCH - RADIUS, processor_height(network, listener))
        _beam(axes, (middle + HALF, coupler_height(network, *coupler)), end, look)
    for coupler in ((to, source) for to in range(network.g) for source in range(network.g)):
        _coupler(axes, network, middle, coupler, load[coupler], cargo.get(coupler))
    words = re.sub(r" (?=\d)", "\N{NO-BREAK SPACE}", line.phase)  # a number stays with its noun
    heading = f"slot {line.slot}\n{fill(words, 19)}"
    axes.text(middle, 0.5, heading, ha="center", va="bottom", fontsize=8)


def _look(kind: str) -> tuple[str, LineStyleType, float]:
    return _PACKET if kind == "packet" else _CONTROL


def _beam(
    axes: Axes,
    start: tuple[float, float],
    end: tuple[float, float],
    look: tuple[str, LineStyleType, float],
) -> None:
    colour, line, width = look
    ends = zip(start, end, strict=True)
    axes.plot(
        *ends, color=colour, linestyle=line, linewidth=width, zorder=0.5 if look is _VAIN else 1
    )


def _coupler(
    axes: Axes, network: Network, x: float, coupler: Coupler, load: int,
    cargo: tuple[str, int | None] | None,
) -> None:  # fmt: skip
    y = coupler_height(network, *coupler)
    if cargo is None:
        add_coupler(axes, x, y, PALE, 0.7)
        return
    kind, packet = cargo
    colour = (_COLLIDED if load > 1 else _look(kind))[0]
    add_coupler(axes, x, y, colour)
    name = f"{packet}" if kind == "packet" else "bits" if packet is None else f"ack {packet}"
    text, size = ("×", 10) if load > 1 else (name, 8 if kind == "packet" else 6)
    axes.text(x, y, text, ha="center", va="center", fontsize=size, color=colour, zorder=3)
    label = "c({},{})".format(*coupler)
    axes.text(x, y + 0.33, label, ha="center", va="bottom", fontsize=5, color=GREY, zorder=3)


def _processors(
    axes: Axes, network: Network, column: int, holdings: Holdings, destination: Sequence[int]
) -> None:
    x = column * _PITCH
    for processor, held in holdings.items():
        y = processor_height(network, processor)
        home = any(destination[packet] == processor for packet in held)
        still = any(packet == processor for packet in held) and destination[processor] != processor
        add_processor(
            axes, x, y, processor,
            facecolor=_HOME if home else _WAITING,
            linewidth=_STILL if still else _RID,
        )  # fmt: skip
        copies = [one for one in held if one != processor and destination[one] != processor]
        if copies:
            text = "holds " + ", ".join(map(str, copies))
            axes.text(x, y + 0.33, text, ha="center", va="bottom", fontsize=5.5, zorder=3)


def _margins(axes: Axes, network: Network, destination: Sequence[int], columns: int) -> None:
    """Where the packets must go, and the groups."""
    for processor, goal in enumerate(destination):
        y = processor_height(network, processor)
        text = "at home" if goal == processor else f"for {goal}"
        axes.text(-0.5, y, text, ha="right", va="center", fontsize=7, color=GREY)
    for group in range(network.g):
        first = group * network.d
        y = (
            processor_height(network, first) + processor_height(network, first + network.d - 1)
        ) / 2
        axes.text(-2.2, y, f"group {group}", ha="center", va="center", fontsize=8, rotation=90)
    axes.set_xlim(-2.6, columns * _PITCH + 0.8)
    axes.set_ylim(_bottom(network), _TOP)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _bottom(network: Network) -> float:
    last = network.g - 1
    lowest = min(processor_height(network, network.n - 1), coupler_height(network, last, last))
    return lowest - 0.5


def _legend(figure: Figure, columns: int) -> None:
    kinds = (
        ("packet, by its number", _PACKET),
        ("control message", _CONTROL),
        ("destroyed (×)", _COLLIDED),
        ("hears nothing", _VAIN),
    )
    handles: list[Artist] = [
        Line2D([], [], label=label, color=colour, linestyle=line, linewidth=width)
        for label, (colour, line, width) in kinds
    ]
    rings = (
        ("still holds its own packet", _WAITING, _STILL),
        ("is rid of it", _WAITING, _RID),
        ("has received the packet for it", _HOME, _RID),
    )
    handles += [
        Line2D(
            [], [], label=label, linestyle="none", marker="o", markersize=8,
            markerfacecolor=fill_colour, markeredgecolor="black", markeredgewidth=width,
        )
        for label, fill_colour, width in rings
    ]  # fmt: skip
    figure.legend(
        handles=handles, loc="outside lower center", ncols=min(columns, 4), handlelength=3
    )
