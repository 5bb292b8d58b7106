"""Experiments: many runs of one router on one network, and what they say together."""

from popsnet.experiments.point import Point, Run, routed
from popsnet.experiments.statistics import Summary, summarize
from popsnet.experiments.tally import Tally

__all__ = ["Point", "Run", "Summary", "Tally", "routed", "summarize"]
