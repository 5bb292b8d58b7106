"""Continuous traffic: the public names. Packets keep arriving, and schedulers deliver them."""

from popsnet.experiment.traffic import TrafficExperiment
from popsnet.model.faults.live_parts import LiveParts
from popsnet.model.frame import Frame
from popsnet.model.traffic_memory import TrafficMemory
from popsnet.programs.queues import Queues
from popsnet.programs.scheduler import (
    Scheduler,
    all_schedulers,
    find_scheduler,
    find_scheduler_variant,
    register_scheduler,
)
from popsnet.runs.simulate import write_trace
from popsnet.runs.traffic_result import TrafficResult
from popsnet.studies.traffic.curves import LoadCurves, Replications, replicate, run_loads
from popsnet.studies.traffic.overview import traffic_overview
from popsnet.studies.traffic.saturation import Saturations, find_saturations
from popsnet.workloads.arrivals import make_arrivals
from popsnet.workloads.loads import read_loads

__all__ = [
    "Frame",
    "LiveParts",
    "LoadCurves",
    "Queues",
    "Replications",
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
    "replicate",
    "run_loads",
    "traffic_overview",
    "write_trace",
]
