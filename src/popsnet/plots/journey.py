"""The figure of one packet's path through the slots of a traced run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from textwrap import fill
from typing import NamedTuple

from matplotlib.figure import Figure
from matplotlib.typing import LineStyleType

from popsnet.model.network import Network, on_network
from popsnet.plots import style
from popsnet.plots.network import Coupler, SlotDiagram, Stroke, messages_of
from popsnet.trace import Event

_PITCH = 4.0
_BOLD, _THIN = 2.2, 0.7
_COPY, _ACK = Stroke(style.BLUE, "-", _BOLD), Stroke(style.VERMILION, (0, (4, 1.5)), _BOLD)
_DOTS: LineStyleType = (0, (1, 1.5))


class Hop(NamedTuple):
    """A message from its sender through a coupler to the processors that heard it."""

    column: int
    """The slot, counted from 0."""
    sender: int
    coupler: Coupler
    receivers: tuple[int, ...]
    """Empty if the message collided or no processor listened."""
    kind: str
    packet: int | None

    @property
    def stroke(self) -> Stroke:
        """The line style of a message of this kind."""
        return _ACK if self.kind == "ack" else _COPY


def hops_of(network: Network, events: Sequence[Event]) -> Iterator[Hop]:
    """Yield a hop for every message of some slots and every coupler it was sent on."""
    for column, event in enumerate(events):
        sends, listens = event.records()
        (messages, load), heard = messages_of(network, sends), defaultdict[Coupler, list[int]](list)
        for listener, group in listens:
            heard[network.group(listener), group].append(listener)
        for sender, coupler, kind, packet in messages:
            receivers = tuple(heard[coupler]) if load[coupler] == 1 else ()
            yield Hop(column, sender, coupler, receivers, kind, packet)


@on_network
@style.styled()
def draw_journey(network: Network, events: Sequence[Event], packet: int) -> Figure:
    """Draw some slots side by side, with one packet in colour and all others in grey.

    A copy of the packet is a solid line and an acknowledgement a dashed one; dotted lines show
    where the packet waits.

    Parameters
    ----------
    network : Network, or int and int
        The network, or its d and g.
    events : sequence of Event
        The slots, as an observer of a run receives them.
    packet : int
        The packet to follow.

    Returns
    -------
    Figure
        The figure.

    Examples
    --------
    >>> import popsnet
    >>> from popsnet.plots import draw_journey
    >>> events = []
    >>> run = popsnet.route(3, 3, observers=[events.append])
    >>> len(draw_journey(popsnet.Network(3, 3), events[:5], packet=0).axes)
    1
    """
    hops = list(hops_of(network, events))
    ours = [hop for hop in hops if hop.packet == packet]
    figure = Figure()
    diagram = SlotDiagram(figure.add_subplot(), network)
    figure.set_size_inches(style.WIDTH, 1.0 - 0.31 * diagram.processor_height(network.n - 1))
    for hop in hops:
        _draw_hop(diagram, hop, hop.packet == packet)
    for processor, start, end, is_copy in _waits(ours, packet):
        y = diagram.processor_height(processor) + (-0.1 if is_copy else 0.1)
        colour, x = style.BLUE if is_copy else "black", (start * _PITCH, end * _PITCH)
        diagram.axes.plot(x, (y, y), color=colour, linestyle=_DOTS, zorder=1)
    _draw_couplers(diagram, len(events), hops, ours)
    _draw_processors(diagram, len(events), ours)
    _draw_headings(diagram, events)
    strokes = {
        f"copy of packet {packet}": _COPY,
        "acknowledgement": _ACK,
        "original waits": Stroke("black", _DOTS, 1.5),
        "copy waits": Stroke(style.BLUE, _DOTS, 1.5),
        "other packets (×: destroyed)": Stroke(style.PALE, "-", _THIN),
    }
    handles = [stroke.handle(label) for label, stroke in strokes.items()]
    style.legend_below(figure, handles, 5, handlelength=2.6)
    return style.settled(figure)


def _draw_hop(diagram: SlotDiagram, hop: Hop, ours: bool) -> None:
    stroke = hop.stroke if ours else Stroke(style.PALE, hop.stroke.line, _THIN)
    zorder, x = 1.5 if ours else 1, hop.column * _PITCH
    middle, end = x + _PITCH / 2, x + _PITCH
    diagram.add_line(x, hop.sender, middle, hop.coupler, stroke, zorder)
    for receiver in hop.receivers:
        diagram.add_line(end, receiver, middle, hop.coupler, stroke, zorder)


def _waits(hops: Sequence[Hop], packet: int) -> Iterator[tuple[int, int, int, bool]]:
    """Yield where the packet waits, from column to column, and whether that is a copy.

    The original is at its source until the ack arrives, and a copy is where it was heard until it
    is sent on.
    """
    arrived: dict[int, int] = {}
    for hop in hops:
        if hop.kind == "packet":
            if hop.sender in arrived:
                yield hop.sender, arrived[hop.sender], hop.column, True
            arrived.update((receiver, hop.column + 1) for receiver in hop.receivers)
        elif packet in hop.receivers:
            yield packet, 0, hop.column + 1, False


def _draw_couplers(diagram: SlotDiagram, columns: int, hops: list[Hop], ours: list[Hop]) -> None:
    named = {(hop.column, hop.coupler): hop for hop in ours}
    load = Counter((hop.column, hop.coupler) for hop in hops)
    for column, coupler in product(range(columns), diagram.couplers):
        hop = named.get((column, coupler))
        stroke = Stroke(style.PALE, width=_THIN) if hop is None else hop.stroke._replace(width=1.6)
        name = "{1}→{0}".format(*coupler) if hop else ""
        text = "×" if load[column, coupler] > 1 else name
        x = (column + 0.5) * _PITCH
        diagram.add_coupler(x, coupler, stroke, text, size=5.5, color=style.GREY)


def _draw_processors(diagram: SlotDiagram, columns: int, hops: Sequence[Hop]) -> None:
    ends = {(hop.column, hop.sender) for hop in hops}
    ends |= {(hop.column + 1, receiver) for hop in hops for receiver in hop.receivers}
    for column in range(columns + 1):
        for processor in range(diagram.network.n):
            colour, width = ("black", 1.6) if (column, processor) in ends else (style.PALE, _THIN)
            diagram.add_processor(column * _PITCH, processor, edgecolor=colour, linewidth=width)


def _draw_headings(diagram: SlotDiagram, events: Sequence[Event]) -> None:
    for column, event in enumerate(events):
        heading = f"slot {event.slot}\n{fill(event.phase.lstrip('0123456789 '), 18)}"
        style.centred(diagram.axes, (column + 0.5) * _PITCH, 1.9, heading, 7, va="top")
    diagram.name_groups(7)
    bottom = diagram.processor_height(diagram.network.n - 1) - 0.5
    diagram.frame((-2.2, len(events) * _PITCH + 0.5), (bottom, 2.0))
