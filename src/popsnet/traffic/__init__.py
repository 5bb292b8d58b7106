"""Continuous traffic: packets keep arriving, and schedulers deliver them slot by slot."""

import popsnet.traffic.schedulers as _schedulers  # noqa: F401 - registers those that ship
from popsnet.traffic.arrivals import make_arrivals
from popsnet.traffic.curves import LoadCurves, Saturations, find_saturations, run_loads
from popsnet.traffic.experiment import TrafficExperiment
from popsnet.traffic.frame import Frame
from popsnet.traffic.live_parts import LiveParts
from popsnet.traffic.loads import read_loads
from popsnet.traffic.memory import TrafficMemory
from popsnet.traffic.overview import traffic_overview
from popsnet.traffic.queues import Queues
from popsnet.traffic.result import TrafficResult
from popsnet.traffic.scheduler import (
    Scheduler,
    all_schedulers,
    find_scheduler,
    find_scheduler_variant,
    register_scheduler,
)
from popsnet.traffic.simulate import write_trace

__all__ = [
    "Frame",
    "LiveParts",
    "LoadCurves",
    "Queues",
    "Saturations",
    "Scheduler",
    "TrafficExperiment",
    "TrafficMemory",
    "TrafficResult",
    "all_schedulers",
    "find_saturations",
    "find_scheduler",
    "find_scheduler_variant",
    "make_arrivals",
    "read_loads",
    "register_scheduler",
    "run_loads",
    "traffic_overview",
    "write_trace",
]
