"""Experiments done: runs and their results, kept in stores, summarized, compared and shown."""

from popsnet.engines import Tally
from popsnet.experiment import Experiment
from popsnet.experiments.route import route
from popsnet.experiments.run import Run, Runs
from popsnet.experiments.runner import collect
from popsnet.experiments.statistics import Summary, summarize
from popsnet.experiments.store import Store
from popsnet.experiments.sweep import Sweep, read_sweep
from popsnet.experiments.verify import verify
from popsnet.experiments.viewing import view

__all__ = [
    "Experiment",
    "Run",
    "Runs",
    "Store",
    "Summary",
    "Sweep",
    "Tally",
    "collect",
    "read_sweep",
    "route",
    "summarize",
    "verify",
    "view",
]
