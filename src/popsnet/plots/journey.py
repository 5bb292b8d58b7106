"""One packet's way through the slots of a traced run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.typing import LineStyleType

from popsnet.network import Network
from popsnet.plots.light import Coupler, count_load, find_heard
from popsnet.plots.shapes import (
    HALF,
    RADIUS,
    add_coupler,
    add_processor,
    coupler_height,
    processor_height,
)
from popsnet.plots.style import BLUE, GREY, PALE, VERMILLION, WIDTH, settled, styled
from popsnet.trace import Event

__all__ = ["Hop", "draw_journey", "hops_of"]

_PITCH = 4.0
_BOLD, _THIN = 2.2, 0.7
_COPY: tuple[str, LineStyleType] = BLUE, "-"
_ACK: tuple[str, LineStyleType] = VERMILLION, (0, (4, 1.5))
_DOTS: LineStyleType = (0, (1, 1.5))


class Hop(NamedTuple):
    """A message from its sender through a coupler to those who heard it."""

    column: int
    """The slot, counted from 0."""
    sender: int
    coupler: Coupler
    receivers: tuple[int, ...]
    """Nobody, if it met another or no one listened."""
    kind: str
    packet: int | None


def hops_of(network: Network, events: Sequence[Event]) -> Iterator[Hop]:
    """Every message of some slots, a hop for each coupler it was sent on."""
    for column, event in enumerate(events):
        sends, listens = event.records()
        heard: dict[Coupler, list[int]] = {}
        for coupler, listener in find_heard(network, count_load(network, sends), listens):
            heard.setdefault(coupler, []).append(listener)
        for sender, groups, kind, packet in sends:
            for coupler in ((to, sender // network.d) for to in groups):
                receivers = tuple(heard.get(coupler, ()))
                yield Hop(column, sender, coupler, receivers, kind, packet)


@styled()
def draw_journey(network: Network, events: Sequence[Event], packet: int) -> Figure:
    """Draw some slots side by side, what concerns one packet in colour and all else in grey.

    A copy of the packet is a solid line and an acknowledgement a dashed one; dots lead along
    the places where the packet waits.
    """
    hops = list(hops_of(network, events))
    ours = [hop for hop in hops if hop.packet == packet]
    figure = Figure(figsize=(WIDTH, 1.0 + 0.31 * -processor_height(network, network.n - 1)))
    axes = figure.add_subplot()
    for hop in hops:
        _hop(axes, network, hop, hop.packet == packet)
    for wait in _waits(ours, packet):
        _wait(axes, network, *wait)
    _couplers(axes, network, len(events), hops, ours)
    _processors(axes, network, len(events), ours)
    _headings(axes, network, events)
    _legend(figure, packet)
    return settled(figure)


def _hop(axes: Axes, network: Network, hop: Hop, ours: bool) -> None:
    left = hop.column * _PITCH
    middle, y = left + _PITCH / 2, coupler_height(network, *hop.coupler)
    start = (left + RADIUS, processor_height(network, hop.sender))
    _line(axes, hop, ours, start, (middle - HALF, y))
    for receiver in hop.receivers:
        end = (left + _PITCH - RADIUS, processor_height(network, receiver))
        _line(axes, hop, ours, (middle + HALF, y), end)


def _line(
    axes: Axes, hop: Hop, ours: bool, start: tuple[float, float], end: tuple[float, float]
) -> None:
    colour, line = _ACK if hop.kind == "ack" else _COPY
    axes.plot(
        *zip(start, end, strict=True),
        color=colour if ours else PALE,
        linestyle=line,
        linewidth=_BOLD if ours else _THIN,
        zorder=1.5 if ours else 1,
    )


def _wait(axes: Axes, network: Network, processor: int, start: int, end: int, copy: bool) -> None:
    y = processor_height(network, processor) + (-0.1 if copy else 0.1)
    colour = BLUE if copy else "black"
    axes.plot((start * _PITCH, end * _PITCH), (y, y), color=colour, linestyle=_DOTS, zorder=1)


def _waits(hops: Sequence[Hop], packet: int) -> Iterator[tuple[int, int, int, bool]]:
    """Where the packet stays, from column to column, and whether that is a copy.

    The original is at its source until the ack comes, a copy where it was heard until it is
    sent on.
    """
    arrived: dict[int, int] = {}
    for hop in hops:
        if hop.kind == "packet":
            if hop.sender in arrived:
                yield hop.sender, arrived[hop.sender], hop.column, True
            arrived.update((receiver, hop.column + 1) for receiver in hop.receivers)
        elif packet in hop.receivers:
            yield packet, 0, hop.column + 1, False


def _couplers(
    axes: Axes, network: Network, columns: int, hops: Sequence[Hop], ours: Sequence[Hop]
) -> None:
    named = {(hop.column, hop.coupler): hop for hop in ours}
    load = Counter((hop.column, hop.coupler) for hop in hops)
    for column in range(columns):
        for coupler in ((to, source) for to in range(network.g) for source in range(network.g)):
            x, y = (column + 0.5) * _PITCH, coupler_height(network, *coupler)
            hop = named.get((column, coupler))
            colour = PALE if hop is None else (_ACK if hop.kind == "ack" else _COPY)[0]
            add_coupler(axes, x, y, colour, _THIN if hop is None else 1.6)
            name = "c({},{})".format(*coupler) if hop else ""
            text = "×" if load[column, coupler] > 1 else name
            axes.text(x, y, text, ha="center", va="center", fontsize=5.5, color=GREY, zorder=3)


def _processors(axes: Axes, network: Network, columns: int, hops: Sequence[Hop]) -> None:
    ends = {(hop.column, hop.sender) for hop in hops}
    ends |= {(hop.column + 1, receiver) for hop in hops for receiver in hop.receivers}
    for column in range(columns + 1):
        for processor in range(network.n):
            on_the_way = (column, processor) in ends
            colour, width = ("black", 1.6) if on_the_way else (PALE, _THIN)
            y = processor_height(network, processor)
            add_processor(axes, column * _PITCH, y, processor, edgecolor=colour, linewidth=width)


def _headings(axes: Axes, network: Network, events: Sequence[Event]) -> None:
    for column, event in enumerate(events):
        words = fill(event.phase.lstrip("0123456789 "), 18)
        heading = f"slot {event.slot}\n{words}"
        axes.text((column + 0.5) * _PITCH, 1.9, heading, ha="center", va="top", fontsize=7)
    for group in range(network.g):
        y = processor_height(network, group * network.d + network.d // 2)
        axes.text(-0.6, y, f"group {group}", ha="right", va="center", fontsize=7)
    axes.set_xlim(-2.2, len(events) * _PITCH + 0.5)
    axes.set_ylim(processor_height(network, network.n - 1) - 0.5, 2.0)
    axes.set_aspect("equal")
    axes.set_axis_off()


def _legend(figure: Figure, packet: int) -> None:
    kinds: tuple[tuple[str, str, LineStyleType, float], ...] = (
        (f"copy of packet {packet}", *_COPY, _BOLD),
        ("acknowledgement", *_ACK, _BOLD),
        ("original waits", "black", _DOTS, 1.5),
        ("copy waits", BLUE, _DOTS, 1.5),
        ("other packets (×: destroyed)", PALE, "-", _THIN),
    )
    handles = [
        Line2D([], [], label=label, color=colour, linestyle=line, linewidth=width)
        for label, colour, line, width in kinds
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, handlelength=2.6)
