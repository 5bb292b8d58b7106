"""Experiments: many runs of one router on one network, and what they say together."""

from popsnet.experiments.point import Point, Run, routed
from popsnet.experiments.runner import collect
from popsnet.experiments.statistics import Summary, summarize
from popsnet.experiments.store import Store
from popsnet.experiments.sweep import Sweep, read_sweep
from popsnet.experiments.tally import Tally
from popsnet.experiments.viewing import view

__all__ = [
    "Point",
    "Run",
    "Store",
    "Summary",
    "Sweep",
    "Tally",
    "collect",
    "read_sweep",
    "routed",
    "summarize",
    "view",
]
