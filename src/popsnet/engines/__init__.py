"""Engines: ways to execute a router. The same seeds give the same run in all of them.

``objects``  processors and couplers as objects, for d = g; the specification
``slots``    any router on the array machine, every message of every slot
``fused``    the paper's router and relay, compiled: only what decides which packets survive

Installed distributions offer others through the entry-point group ``popsnet.engines``.
"""

from popsnet.engines.engine import ENGINES, choose_engine, engine_names, find_engine
from popsnet.engines.outcome import Outcome, Outcomes, TalliedRuns, Tally
from popsnet.engines.plugins import EngineWarning
from popsnet.engines.session import Engine, Health, Session, needs_slots
from popsnet.experiment import Instance

__all__ = [
    "ENGINES", "Engine", "EngineWarning", "Health", "Instance", "Outcome", "Outcomes", "Session",
    "TalliedRuns", "Tally", "choose_engine", "engine_names", "find_engine",
    "needs_slots",
]  # fmt: skip
