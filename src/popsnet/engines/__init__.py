"""Engines: ways to execute a router. The same seeds give the same run in all of them.

``objects``  processors and couplers as objects, for d = g; the specification
``slots``    any router on the array machine, every message of every slot
``fused``    the paper's router and relay, compiled: only what decides which packets survive
``cuda``     the same on a GPU
"""

from popsnet.engines.engine import ENGINES, choose_engine
from popsnet.engines.outcome import Outcome, Outcomes, TalliedRuns, Tally
from popsnet.engines.session import Engine, Session
from popsnet.experiment import Instance

__all__ = [
    "ENGINES", "Engine", "Instance", "Outcome", "Outcomes", "Session", "TalliedRuns",
    "Tally", "choose_engine",
]  # fmt: skip
