"""Experiments: many runs of one router on one network, and what they say together."""

from popsnet.experiments.point import Point, Run, routed
from popsnet.experiments.statistics import Summary, summarize

__all__ = ["Point", "Run", "Summary", "routed", "summarize"]
