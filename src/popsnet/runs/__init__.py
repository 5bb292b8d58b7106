"""Runs of one experiment, executed now: ``route`` and ``schedule``, and their results."""

from popsnet.runs.route import route
from popsnet.runs.run import Run, Runs

__all__ = ["Run", "Runs", "route"]
