"""The figure of some slots of a traced run: everything that is sent, heard and held in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from pathlib import Path
from textwrap import fill

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from popsnet.base.errors import InputError
from popsnet.model.network import Network, require_one_wavelength
from popsnet.plots import style
from popsnet.plots.network import SentMessage, SlotDiagram, Stroke, messages_of
from popsnet.trace import SlotLine, read_trace

_PITCH = 4.4
_TOP = 2.0
_INCHES = 0.4
"""The width of a slot, the height of headings, and how large a unit is."""

_PACKET, _CONTROL = Stroke(style.BLUE, "-", 1.5), Stroke(style.GREEN, (0, (6, 1.5, 1, 1.5)), 1.3)
_COLLIDED = Stroke(style.VERMILION, (0, (2, 1.6)), 1.5)
_UNHEARD = Stroke(style.PALE, (0, (1, 2)), 0.7)
_DELIVERED, _WAITING = "#b4b4b4", "white"
_HELD, _SENT = 2.2, 0.6

Holdings = Mapping[int, Sequence[int]]
"""The packets that each processor holds."""


@style.styled()
def draw_trace(path: str | Path, slots: range, a_row: int = 4) -> Figure:
    """Draw some slots of a trace from left to right.

    Between two slots stand the processors, as they are after the one and before the other. Each
    kind of message has its own line style, so that they can be told apart without colour.

    Parameters
    ----------
    path : str or Path
        The trace.
    slots : range
        The numbers of the slots, counted from 1.
    a_row : int
        The number of slots per row.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.plots import draw_trace
    >>> run = popsnet.route(2, 2, trace="run.jsonl")
    >>> len(draw_trace("run.jsonl", range(1, 6)).axes)
    2
    """
    trace = read_trace(path)
    network, destination = trace.header.network, trace.header.destination
    require_one_wavelength(network)
    executed = (line for line in trace if isinstance(line, SlotLine))
    shown = list(_with_holdings(network, executed, slots))
    if len(shown) == 1:
        raise InputError(
            f"{path} has no slots from {slots.start} to {slots.stop - 1}; slots are counted from 1."
        )
    rows = [shown[first : first + a_row + 1] for first in range(0, len(shown) - 1, a_row)]
    columns = len(rows[0]) - 1
    figure = Figure()
    for axes, row in zip(figure.subplots(len(rows), squeeze=False)[:, 0], rows, strict=True):
        diagram = SlotDiagram(axes, network)
        for column, (holdings, line) in enumerate(row):
            _draw_processors(diagram, column, holdings, destination)
            if line is not None and column < a_row:
                _draw_slot(diagram, column, line)
        height = _draw_margins(diagram, destination, columns)
    below = _add_legend(figure, columns)
    size = (columns * _PITCH + 3.4) * _INCHES, len(rows) * height * _INCHES + below
    figure.set_size_inches(*size)
    return style.settled(figure)


def _with_holdings(
    network: Network, lines: Iterator[SlotLine], slots: range
) -> Iterator[tuple[Holdings, SlotLine | None]]:
    """Yield the holdings before each requested slot with the slot, and at last those after it."""
    holds: dict[int, list[int]] = {processor: [processor] for processor in range(network.n)}
    for line in lines:
        if line.slot in slots:
            yield {processor: tuple(held) for processor, held in holds.items()}, line
        for processor, packet in line.drops:
            holds[processor].remove(packet)
        for processor, packet in line.keeps:
            holds[processor].append(packet)
        if line.slot + 1 >= slots.stop:
            break
    yield holds, None


def _draw_slot(diagram: SlotDiagram, column: int, line: SlotLine) -> None:
    network, (messages, load) = diagram.network, messages_of(diagram.network, line.sends)
    carried = {message.coupler: message for message in messages}
    x, middle, end = (place * _PITCH for place in (column, column + 0.5, column + 1))
    for sender, coupler, kind, _ in messages:
        stroke = _COLLIDED if load[coupler] > 1 else _stroke(kind)
        diagram.add_line(x, sender, middle, coupler, stroke)
    for listener, group in line.listens:
        coupler = (network.group(listener), group)
        heard = load[coupler] == 1
        stroke = _stroke(carried[coupler].kind) if heard else _UNHEARD
        diagram.add_line(end, listener, middle, coupler, stroke, 1 if heard else 0.5)
    for coupler in diagram.couplers:
        if coupler in carried:
            _draw_used_coupler(diagram, middle, carried[coupler], load[coupler] > 1)
        else:
            diagram.add_coupler(middle, coupler, Stroke(style.PALE, width=0.7))
    words = re.sub(r" (?=\d)", "\N{NO-BREAK SPACE}", line.phase)  # a number stays with its noun
    heading = f"slot {line.slot}\n{fill(words, 19)}"
    style.centred(diagram.axes, middle, 0.5, heading, 8, va="bottom")


def _stroke(kind: str) -> Stroke:
    return _PACKET if kind == "packet" else _CONTROL


def _draw_used_coupler(diagram: SlotDiagram, x: float, message: SentMessage, met: bool) -> None:
    _, coupler, kind, packet = message
    name = f"{packet}" if kind == "packet" else "bits" if packet is None else f"ack {packet}"
    text, size = ("×", 10) if met else (name, 8 if kind == "packet" else 6)
    stroke = (_COLLIDED if met else _stroke(kind))._replace(width=1.4)
    diagram.add_coupler(x, coupler, stroke, text, size=size)
    y, label = diagram.coupler_height(coupler) + 0.33, "{1}→{0}".format(*coupler)
    style.centred(diagram.axes, x, y, label, 5, va="bottom", color=style.GREY, zorder=3)


def _draw_processors(
    diagram: SlotDiagram, column: int, holdings: Holdings, destination: Sequence[int]
) -> None:
    x = column * _PITCH
    for processor, held in holdings.items():
        delivered = any(destination[packet] == processor for packet in held)
        holds_own = processor in held and destination[processor] != processor
        colour, width = _DELIVERED if delivered else _WAITING, _HELD if holds_own else _SENT
        diagram.add_processor(x, processor, facecolor=colour, linewidth=width)
        copies = [copy for copy in held if copy != processor and destination[copy] != processor]
        if copies:
            y, text = diagram.processor_height(processor), "holds " + ", ".join(map(str, copies))
            style.centred(diagram.axes, x, y + 0.5, text, 5.5, zorder=3)  # halfway to the one above


def _draw_margins(diagram: SlotDiagram, destination: Sequence[int], columns: int) -> float:
    """Write where the packets must go, and the groups; return the height of the diagram."""
    axes, network, heights = diagram.axes, diagram.network, []
    for processor, goal in enumerate(destination):
        heights.append(diagram.processor_height(processor))
        text = "stays" if goal == processor else f"for {goal}"
        style.centred(axes, -0.5, heights[-1], text, 7, ha="right", color=style.GREY)
    for group in range(network.g):
        first = network.processor(group, 0)
        y = (heights[first] + heights[first + network.d - 1]) / 2
        style.centred(axes, -2.2, y, f"group {group}", 8, rotation=90)
    bottom = min(heights[-1], diagram.coupler_height((network.g - 1, network.g - 1))) - 0.5
    diagram.frame((-2.6, columns * _PITCH + 0.8), (bottom, _TOP))
    return _TOP - bottom


def _add_legend(figure: Figure, columns: int) -> float:
    """Explain the marks below the figure, and return the inches that this takes."""
    strokes = {
        "packet, by its number": _PACKET,
        "control message (ack 6: of packet 6;\nbits: any other)": _CONTROL,
        "destroyed (×)": _COLLIDED,
        "hears nothing": _UNHEARD,
    }
    circles = (
        ("still holds its own packet", _WAITING, _HELD),
        ("no longer holds it", _WAITING, _SENT),
        ("has received the packet for it", _DELIVERED, _SENT),
    )
    handles = [stroke.handle(label) for label, stroke in strokes.items()]
    for label, colour, width in circles:
        looks = style.Look("black", "o", "-").marks(8, markerfacecolor=colour)
        handles.append(Line2D([], [], label=label, markeredgewidth=width, **looks))
    label = "holds packet 6, which is\nneither its own nor for it"
    looks = style.Look("black", r"$\mathdefault{holds\ 6}$", "-").marks(22, markeredgewidth=0)
    handles.append(Line2D([], [], label=label, **looks))
    columns = min(columns, 4)
    style.legend_below(figure, handles, columns, handlelength=3)
    return 0.2 + 0.25 * ceil(len(handles) / columns)
