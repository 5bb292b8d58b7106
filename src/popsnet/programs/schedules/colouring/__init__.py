"""Edge colourings of bipartite multigraphs, independent of networks."""

from popsnet.programs.schedules.colouring.colouring import colour_edges

__all__ = ["colour_edges"]
