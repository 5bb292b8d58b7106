"""The network as the paper draws it: processors, couplers, processors again."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from popsnet.network import Network
from popsnet.plots.light import count_load, find_heard
from popsnet.plots.shapes import (
    HALF,
    RADIUS,
    add_coupler,
    add_processor,
    coupler_height,
    processor_height,
)
from popsnet.plots.style import BLUE, GREY, PALE, VERMILLION
from popsnet.trace import Listen, Send

__all__ = ["draw_slot"]

_LEFT, _MIDDLE, _RIGHT = 0.0, 5.0, 10.0


def draw_slot(
    axes: Axes, network: Network, sends: Sequence[Send] = (), listens: Sequence[Listen] = ()
) -> None:
    """Draw a slot: light runs from the senders on the left to the listeners on the right.

    A coupler with one message is blue and marked with the packet's number; one where messages
    collide is orange, dashed and crossed out, so that colour is not needed to tell them apart.
    """
    d, g = network.d, network.g
    load = count_load(network, sends)
    cargo = {(to, sender // d): packet for sender, groups, _, packet in sends for to in groups}
    for sender, groups, _, _ in sends:
        for to in groups:
            coupler = (to, sender // d)
            start = (_LEFT + RADIUS, processor_height(network, sender))
            end = (_MIDDLE - HALF, coupler_height(network, *coupler))
            _beam(axes, start, end, collided=load[coupler] > 1)
    for coupler, listener in find_heard(network, load, listens):
        start = (_MIDDLE + HALF, coupler_height(network, *coupler))
        end = (_RIGHT - RADIUS, processor_height(network, listener))
        _beam(axes, start, end, collided=False)
    for coupler in ((to, source) for to in range(g) for source in range(g)):
        _coupler(axes, network, *coupler, load[coupler], cargo.get(coupler))
    for processor in range(network.n):
        for x in (_LEFT, _RIGHT):
            add_processor(axes, x, processor_height(network, processor), processor)
    _headings(axes, network)


def _beam(axes: Axes, start: tuple[float, float], end: tuple[float, float], collided: bool) -> None:
    axes.plot(
        (start[0], end[0]),
        (start[1], end[1]),
        color=VERMILLION if collided else BLUE,
        linestyle=(0, (2, 2)) if collided else "-",
        linewidth=1.6,
        zorder=1,
    )


def _coupler(
    axes: Axes, network: Network, to: int, source: int, load: int, packet: int | None
) -> None:
    y = coupler_height(network, to, source)
    colour = PALE if load == 0 else BLUE if load == 1 else VERMILLION
    add_coupler(axes, _MIDDLE, y, colour)
    text = "×" if load > 1 else "" if load == 0 or packet is None else f"{packet}"
    axes.text(_MIDDLE, y, text, ha="center", va="center", fontsize=9, color=colour, zorder=3)
    axes.text(_MIDDLE + 0.55, y + 0.14, f"c({to},{source})", fontsize=6, color=GREY, zorder=3)


def _headings(axes: Axes, network: Network) -> None:
    for x, text in ((_LEFT, "processors"), (_MIDDLE, "couplers"), (_RIGHT, "the same processors")):
        axes.text(x, 0.5, text, ha="center", fontsize=9)
    for group in range(network.g):
        y = processor_height(network, group * network.d + network.d // 2)
        axes.text(_LEFT - 0.6, y, f"group {group}", ha="right", va="center", fontsize=9)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.autoscale_view()
