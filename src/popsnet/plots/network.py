"""The network as the paper draws it: processors, couplers, processors again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes

from popsnet.network import Network
from popsnet.plots.elements import SlotDiagram, Stroke, find_heard, messages_of
from popsnet.plots.style import BLUE, GREY, PALE, VERMILLION
from popsnet.trace import Listen, Send

_LEFT, _MIDDLE, _RIGHT = 0.0, 5.0, 10.0
_HEARD, _COLLIDED = Stroke(BLUE), Stroke(VERMILLION, (0, (2, 2)))


def draw_slot(
    axes: Axes, network: Network, sends: Sequence[Send] = (), listens: Sequence[Listen] = ()
) -> None:
    """Draw a slot: messages go from the senders on the left to the listeners on the right.

    A coupler with one message is blue and marked with the packet's number; one where messages
    collide is orange, dashed and crossed out, so that colour is not needed to tell them apart.
    """
    diagram, messages = SlotDiagram(axes, network), messages_of(network, sends)
    load = Counter(message.coupler for message in messages)
    packets = {message.coupler: message.packet for message in messages}
    for sender, coupler, _, _ in messages:
        stroke = _COLLIDED if load[coupler] > 1 else _HEARD
        diagram.add_message(_LEFT, sender, _MIDDLE, coupler, stroke)
    for coupler, listener in find_heard(network, load, listens):
        diagram.add_heard(_MIDDLE, coupler, _RIGHT, listener, _HEARD)
    for coupler in diagram.couplers:
        y, packet = diagram.coupler_height(coupler), packets.get(coupler)
        colour = PALE if not load[coupler] else BLUE if load[coupler] == 1 else VERMILLION
        text = "×" if load[coupler] > 1 else "" if packet is None else f"{packet}"
        diagram.add_coupler(_MIDDLE, coupler, Stroke(colour, width=1.4), text, size=9)
        name = "c({},{})".format(*coupler)
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
