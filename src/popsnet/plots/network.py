"""The network as the paper draws it: processors, couplers, processors again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Circle, FancyBboxPatch

from popsnet.network import Network
from popsnet.trace import Listen, Send

__all__ = ["draw_slot"]

_LEFT, _MIDDLE, _RIGHT = 0.0, 5.0, 10.0
_CARRIED, _COLLIDED, _IDLE = "#0072b2", "#d55e00", "#c8c8c8"
_GROUP_GAP = 0.8


def draw_slot(
    axes: Axes, network: Network, sends: Sequence[Send] = (), listens: Sequence[Listen] = ()
) -> None:
    """Draw a slot: light runs from the senders on the left to the listeners on the right.

    A coupler with one message is blue and marked with the packet's number; one where messages
    collide is orange, dashed and crossed out, so that colour is not needed to tell them apart.
    """
    d = network.d
    load = Counter((to, sender // d) for sender, groups, _, _ in sends for to in groups)
    cargo = {(to, sender // d): packet for sender, groups, _, packet in sends for to in groups}
    for sender, groups, _, _ in sends:
        for to in groups:
            coupler = (to, sender // d)
            _beam(
                axes,
                (_LEFT + 0.3, _height(network, sender)),
                (_MIDDLE - 0.45, _coupler_height(network, *coupler)),
                collided=load[coupler] > 1,
            )
    for listener, group in listens:
        coupler = (listener // d, group)
        if load[coupler] == 1:
            start = (_MIDDLE + 0.45, _coupler_height(network, *coupler))
            _beam(axes, start, (_RIGHT - 0.3, _height(network, listener)), collided=False)
    for to in range(network.g):
        for source in range(network.g):
            label = cargo.get((to, source))
            _coupler(axes, network, to, source, load[to, source], label)
    for processor in range(network.n):
        for x in (_LEFT, _RIGHT):
            _processor(axes, (x, _height(network, processor)), processor)
    _headings(axes, network)


def _height(network: Network, processor: int) -> float:
    """Groups from top to bottom, as tall as their couplers."""
    d, g = network.d, network.g
    group, index = divmod(processor, d)
    return -(group * (max(d, g) + _GROUP_GAP) + (index + 0.5) * max(d, g) / d)


def _coupler_height(network: Network, to: int, source: int) -> float:
    """Coupler c(to, source) stands beside the group it leads to."""
    d, g = network.d, network.g
    return -(to * (max(d, g) + _GROUP_GAP) + (source + 0.5) * max(d, g) / g)


def _beam(axes: Axes, start: tuple[float, float], end: tuple[float, float], collided: bool) -> None:
    axes.plot(
        (start[0], end[0]),
        (start[1], end[1]),
        color=_COLLIDED if collided else _CARRIED,
        linestyle=(0, (2, 2)) if collided else "-",
        linewidth=1.6,
        zorder=1,
    )


def _coupler(
    axes: Axes, network: Network, to: int, source: int, load: int, packet: int | None
) -> None:
    y = _coupler_height(network, to, source)
    colour = _IDLE if load == 0 else _CARRIED if load == 1 else _COLLIDED
    axes.add_patch(
        FancyBboxPatch(
            (_MIDDLE - 0.45, y - 0.3), 0.9, 0.6, boxstyle="round,pad=0,rounding_size=0.1",
            facecolor="white", edgecolor=colour, linewidth=1.4, zorder=2,
        )
    )  # fmt: skip
    text = "×" if load > 1 else "" if load == 0 or packet is None else f"{packet}"
    axes.text(_MIDDLE, y, text, ha="center", va="center", fontsize=9, color=colour, zorder=3)
    axes.text(_MIDDLE + 0.55, y + 0.14, f"c({to},{source})", fontsize=6, color="#606060", zorder=3)


def _processor(axes: Axes, centre: tuple[float, float], number: int) -> None:
    axes.add_patch(Circle(centre, 0.3, facecolor="white", edgecolor="black", zorder=2))
    axes.text(*centre, f"{number}", ha="center", va="center", fontsize=8, zorder=3)


def _headings(axes: Axes, network: Network) -> None:
    for x, text in ((_LEFT, "processors"), (_MIDDLE, "couplers"), (_RIGHT, "the same processors")):
        axes.text(x, 0.5, text, ha="center", fontsize=9)
    for group in range(network.g):
        y = _height(network, group * network.d + network.d // 2)
        axes.text(_LEFT - 0.6, y, f"group {group}", ha="right", va="center", fontsize=9)
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.autoscale_view()
