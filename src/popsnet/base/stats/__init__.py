"""Statistics of samples, comparisons of means and regression. Knows nothing of networks."""

from popsnet.base.stats.inference import Summary, summarize

__all__ = ["Summary", "summarize"]
