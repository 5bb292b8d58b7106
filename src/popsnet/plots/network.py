"""Diagrams of a slot as in the paper: processors, couplers, and the processors again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Circle
from matplotlib.typing import LineStyleType

from popsnet.model.network import Network, on_network, require_one_wavelength
from popsnet.plots.style import BLUE, GREY, PALE, VERMILION, add_box, centred
from popsnet.trace import Listen, Send

_RADIUS, _HALF = 0.3, 0.45
"""The radius of a processor, and half the width of a coupler."""

_GROUP_GAP = 0.8

Coupler: TypeAlias = tuple[int, int]
"""The group that a coupler leads to, and the group that it comes from."""


class SentMessage(NamedTuple):
    """A message that a processor sent on one coupler."""

    sender: int
    coupler: Coupler
    kind: str
    packet: int | None


class Stroke(NamedTuple):
    """The line style of a message."""

    colour: str
    line: LineStyleType = "-"
    width: float = 1.6

    @property
    def looks(self) -> dict[str, Any]:
        """The style as keyword arguments of matplotlib."""
        return {"color": self.colour, "linestyle": self.line, "linewidth": self.width}

    def handle(self, label: str) -> Artist:
        """Return an entry for a legend."""
        return Line2D([], [], label=label, **self.looks)


def messages_of(
    network: Network, sends: Sequence[Send]
) -> tuple[list[SentMessage], Counter[Coupler]]:
    """Return the messages of a slot, one for each coupler sent on, and how many each has."""
    require_one_wavelength(network)
    messages = [
        SentMessage(sender, (to, network.group(sender)), kind, packet)
        for sender, groups, kind, packet in sends
        for to in groups
    ]
    return messages, Counter(message.coupler for message in messages)


@dataclass(frozen=True)
class SlotDiagram:
    """Processors and couplers in columns, groups from top to bottom."""

    axes: Axes
    network: Network

    @property
    def couplers(self) -> Iterator[Coupler]:
        """All couplers, by the group that they lead to."""
        return product(range(self.network.g), range(self.network.g))

    def processor_height(self, processor: int) -> float:
        """Return the height of a processor; a group is as tall as the couplers that lead to it."""
        network = self.network
        return self._height(network.group(processor), network.index(processor), network.d)

    def coupler_height(self, coupler: Coupler) -> float:
        """Return the height of a coupler; c(b, a) stands beside group b, to which it leads."""
        return self._height(*coupler, self.network.g)

    def _height(self, group: int, place: int, places: int) -> float:
        tall = max(self.network.d, self.network.g)
        return -(group * (tall + _GROUP_GAP) + (place + 0.5) / places * tall)

    def add_processor(self, x: float, number: int, **looks: Any) -> None:
        """Add a circle with a number."""
        looks = {"facecolor": "white", "edgecolor": "black", **looks}
        y = self.processor_height(number)
        self.axes.add_patch(Circle((x, y), _RADIUS, zorder=2, **looks))
        centred(self.axes, x, y, f"{number}", 8, zorder=3)

    def add_coupler(
        self, x: float, coupler: Coupler, stroke: Stroke, text: str = "", **looks: Any
    ) -> None:
        """Add a box with round corners and a text in it."""
        y = self.coupler_height(coupler)
        box = {"fc": "white", "ec": stroke.colour, "lw": stroke.width, "zorder": 2}
        add_box(self.axes, (x - _HALF, y - 0.3), 2 * _HALF, 0.6, 0.1, **box)
        centred(self.axes, x, y, text, **{"size": 8, "color": stroke.colour, "zorder": 3, **looks})

    def add_line(
        self, x: float, number: int, middle: float, coupler: Coupler, stroke: Stroke, z: float = 1
    ) -> None:
        """Add the line of a message that a processor at ``x`` sends or hears."""
        side = 1 if x < middle else -1
        ends = [
            (x + side * _RADIUS, self.processor_height(number)),
            (middle - side * _HALF, self.coupler_height(coupler)),
        ]
        self.axes.plot(*zip(*ends[::side], strict=True), zorder=z, **stroke.looks)

    def name_groups(self, size: float) -> None:
        """Write the names of the groups to the left of the first column."""
        for group in range(self.network.g):
            y = self.processor_height(self.network.processor(group, self.network.d // 2))
            centred(self.axes, -0.6, y, f"group {group}", size, ha="right")

    def frame(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Set the limits and hide the axes."""
        self.axes.set(xlim=x, ylim=y, aspect="equal")
        self.axes.set_axis_off()


_LEFT, _MIDDLE, _RIGHT = 0.0, 5.0, 10.0
_HEARD, _COLLIDED = Stroke(BLUE), Stroke(VERMILION, (0, (2, 2)))


@on_network
def draw_slot(
    axes: Axes, network: Network, sends: Sequence[Send] = (), listens: Sequence[Listen] = ()
) -> None:
    """Draw a slot, with the senders on the left and the listeners on the right.

    A coupler with one message is blue and marked with the packet's number. A coupler with a
    collision is orange, dashed and crossed out, so that it can be told apart without colour.

    Parameters
    ----------
    axes : Axes
        The matplotlib axes to draw in.
    network : Network, or int and int
        The network, or its d and g.
    sends : sequence of Send
        The messages: sender, groups, kind and packet.
    listens : sequence of Listen
        The listeners, each with the group that it listens to.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from popsnet import Network
    >>> from popsnet.plots import draw_slot
    >>> axes = Figure().add_subplot()
    >>> draw_slot(axes, Network(2, 2), [(0, (1,), "packet", 0)], [(2, 0)])
    """
    diagram, (messages, load) = SlotDiagram(axes, network), messages_of(network, sends)
    packets = {message.coupler: message.packet for message in messages}
    for sender, coupler, _, _ in messages:
        stroke = _COLLIDED if load[coupler] > 1 else _HEARD
        diagram.add_line(_LEFT, sender, _MIDDLE, coupler, stroke)
    for listener, group in listens:
        coupler = (network.group(listener), group)
        if load[coupler] == 1:
            diagram.add_line(_RIGHT, listener, _MIDDLE, coupler, _HEARD)
    for coupler in diagram.couplers:
        y, packet = diagram.coupler_height(coupler), packets.get(coupler)
        colour = PALE if not load[coupler] else BLUE if load[coupler] == 1 else VERMILION
        text = "×" if load[coupler] > 1 else "" if packet is None else f"{packet}"
        diagram.add_coupler(_MIDDLE, coupler, Stroke(colour, width=1.4), text, size=9)
        name = "{1}→{0}".format(*coupler)
        axes.text(_MIDDLE + 0.55, y + 0.14, name, fontsize=6, color=GREY, zorder=3)
    for processor in range(network.n):
        for x in (_LEFT, _RIGHT):
            diagram.add_processor(x, processor)
    for x, text in ((_LEFT, "processors"), (_MIDDLE, "couplers"), (_RIGHT, "the same processors")):
        axes.text(x, 0.5, text, ha="center", fontsize=9)
    diagram.name_groups(9)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.autoscale_view()
