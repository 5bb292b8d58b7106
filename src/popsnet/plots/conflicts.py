"""The figure of the paper's conflict graph: which packets collide in slots 1 and 2 of a step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import compress
from typing import Any, NamedTuple, TypeAlias

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from popsnet.model.network import Network
from popsnet.plots import style
from popsnet.runs.phase_analysis import StepAnalysis
from popsnet.theory.conflict_graph import ConflictGraph

_SPAN = 8.0
_GROUP_GAP = 1.0
Places: TypeAlias = dict[int, tuple[float, float]]


class Edge(NamedTuple):
    """A packet that takes part in a step."""

    packet: int
    source: int
    """The packet's group, one end of the edge."""
    temporary: int
    """The temporary group, destination mod g, the other end of the edge."""
    intermediate: int
    """The randomly chosen intermediate group, the colour of the edge."""


def edges_of(step: StepAnalysis) -> tuple[list[Edge], list[Edge], list[Edge]]:
    """Return the edges that take part in a step, that survive slot 1, and that survive both."""
    whole, at = step.graph, step.taking
    ends = whole.sources[at], whole.temporaries[at]
    graph = ConflictGraph(whole.network, whole.packets[at], *ends)
    columns = (column.tolist() for column in (graph.packets, *ends, step.colours))
    edges = [Edge(*row) for row in zip(*columns, strict=True)]
    first, second = graph.survivors(step.colours)
    return edges, list(compress(edges, first)), list(compress(edges, second))


@style.styled()
def draw_conflicts(step: StepAnalysis) -> Figure:
    """Draw a step's conflict graph, the survivors of slot 1 and the survivors of slot 2.

    Groups are boxes with a place for each packet. An edge has the number of its packet at both
    ends and that of its intermediate group in a disc, filled if the packet survives the slot.

    Parameters
    ----------
    step : StepAnalysis
        A step of a run of mei-rizzi.

    Returns
    -------
    Figure
        The figure, with three panels.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Coins, Network
    >>> from popsnet.plots import draw_conflicts
    >>> from popsnet.runs.phase_analysis import analyse_phases
    >>> steps = analyse_phases(Network(3, 3), np.arange(9)[::-1], Coins(0))
    >>> len(draw_conflicts(next(steps)).axes)
    3
    """
    network, (edges, first, second) = step.graph.network, edges_of(step)
    figure, row = style.row_of_axes(3, 0.9 + 0.19 * _depth(network, network.g))
    places = _places(network, edges)
    panels = (
        ("(a) all packets; bold: survive slot 1", edges, first),
        ("(b) after slot 1; bold: survive slot 2", first, second),
        ("(c) after slot 2: delivered in this step", second, second),
    )
    for axes, (title, shown, bold) in zip(row, panels, strict=True):
        axes.set_title(title)
        _draw_panel(axes, network, places, shown, bold)
    handles = [Line2D([], [], label=f"{group}", **_look(group).curve) for group in range(network.g)]
    options: dict[str, Any] = {"title": "intermediate group, chosen at random", "title_fontsize": 7}
    style.legend_below(figure, handles, 9, handlelength=3.5, **options)
    return style.settled(figure)


def _depth(network: Network, group: int) -> float:
    return group * (network.d + _GROUP_GAP)


def _places(network: Network, edges: Sequence[Edge]) -> Places:
    """Return the heights at which each packet's edge begins and ends, in order within its group."""
    taken, places = Counter[int](), {}
    for edge in edges:
        start = -_depth(network, edge.source) - network.index(edge.packet)
        end = -_depth(network, edge.temporary) - taken[edge.temporary]
        places[edge.packet] = start, end
        taken[edge.temporary] += 1
    return places


def _draw_panel(
    axes: Axes, network: Network, places: Places, shown: Sequence[Edge], bold: Sequence[Edge]
) -> None:
    for group in range(network.g):
        for x in (-0.9, _SPAN + 0.9):
            _draw_group(axes, network, group, x)
    alive = {edge.packet for edge in shown}
    for packet, (start, end) in places.items():
        colour = "black" if packet in alive else style.PALE
        for x, y in ((-0.9, start), (_SPAN + 0.9, end)):
            style.centred(axes, x, y, f"{packet}", 6.5, color=colour)
    for edge in shown:
        _draw_edge(axes, edge, places[edge.packet], edge in bold)
    axes.text(-0.9, 0.9, "group", ha="center", fontsize=7)
    axes.text(_SPAN + 0.9, 0.9, "temporary\ngroup", ha="center", fontsize=7)
    axes.set(xlim=(-2.9, _SPAN + 2.9), ylim=(-_depth(network, network.g) + 0.8, 2.6))
    axes.set_axis_off()


def _draw_group(axes: Axes, network: Network, group: int, x: float) -> None:
    top = -_depth(network, group)
    corner, looks = (x - 0.65, top - network.d + 0.55), {"fc": "none", "ec": style.GREY, "lw": 0.8}
    style.add_box(axes, corner, 1.3, network.d - 0.1, 0.3, **looks)
    style.centred(axes, x + (-1.2 if x < 0 else 1.2), top - (network.d - 1) / 2, f"{group}", 9)


def _draw_edge(axes: Axes, edge: Edge, ends: tuple[float, float], bold: bool) -> None:
    look, (start, end) = _look(edge.intermediate), ends
    path = Path(
        [(0.3, start), (_SPAN / 2, start), (_SPAN / 2, end), (_SPAN - 0.3, end)],
        [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
    )
    drawn = PathPatch(path, fill=False, ec=look.colour, ls=look.line, gid=f"packet {edge.packet}")
    drawn.set(linewidth=1.7 if bold else 0.7, alpha=1 if bold else 0.75)
    axes.add_patch(drawn)
    filling, ink = (look.colour, "white") if bold else ("white", "black")
    dot = style.Look(look.colour, "o", "-").marks(7.5, mew=0.9, mfc=filling)
    for x, y in ((0.2, start), (_SPAN - 0.2, end)):
        axes.plot(x, y, **dot)
        style.centred(axes, x, y, f"{edge.intermediate}", 5.5, va="center_baseline", color=ink)


def _look(group: int) -> style.Look:
    return style.LOOKS[group % len(style.LOOKS)]
