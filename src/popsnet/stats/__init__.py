"""Statistics of samples, comparisons of means, and fitted laws. Knows nothing of networks."""

from popsnet.stats.inference import Summary, summarize

__all__ = ["Summary", "summarize"]
