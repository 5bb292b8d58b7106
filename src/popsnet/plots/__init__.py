"""Pictures, with matplotlib (the ``plots`` extra)."""

from popsnet.plots.comparators import draw_network
from popsnet.plots.conflicts import conflict_graphs, draw_conflicts
from popsnet.plots.journey import draw_journey
from popsnet.plots.network import draw_slot
from popsnet.plots.performance import Kind, Series, draw_losses, draw_slots, draw_steps
from popsnet.plots.style import save, svg_text

__all__ = [
    "Kind",
    "Series",
    "conflict_graphs",
    "draw_conflicts",
    "draw_journey",
    "draw_losses",
    "draw_network",
    "draw_slot",
    "draw_slots",
    "draw_steps",
    "save",
    "svg_text",
]
