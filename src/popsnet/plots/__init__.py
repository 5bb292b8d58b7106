"""Pictures, with matplotlib (the ``plots`` extra)."""

from popsnet.plots.network import draw_slot

__all__ = ["draw_slot"]
