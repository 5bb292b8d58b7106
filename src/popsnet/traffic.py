"""Continuous traffic: the public names. Packets keep arriving, and schedulers deliver them."""

from popsnet.experiment.traffic import TrafficExperiment as TrafficExperiment
from popsnet.model.faults.live_parts import LiveParts as LiveParts
from popsnet.model.frame import Frame as Frame
from popsnet.model.traffic_memory import TrafficMemory as TrafficMemory
from popsnet.programs.queues import Queues as Queues
from popsnet.programs.scheduler import Scheduler as Scheduler
from popsnet.programs.scheduler import all_schedulers as all_schedulers
from popsnet.programs.scheduler import find_scheduler as find_scheduler
from popsnet.programs.scheduler import find_scheduler_variant as find_scheduler_variant
from popsnet.programs.scheduler import register_scheduler as register_scheduler
from popsnet.runs.simulate import write_trace as write_trace
from popsnet.runs.traffic_result import TrafficResult as TrafficResult
from popsnet.studies.traffic.curves import LoadCurves as LoadCurves
from popsnet.studies.traffic.curves import Replications as Replications
from popsnet.studies.traffic.curves import replicate as replicate
from popsnet.studies.traffic.curves import run_loads as run_loads
from popsnet.studies.traffic.overview import traffic_overview as traffic_overview
from popsnet.studies.traffic.saturation import Saturations as Saturations
from popsnet.studies.traffic.saturation import find_saturations as find_saturations
from popsnet.workloads.arrivals import make_arrivals as make_arrivals
from popsnet.workloads.loads import read_loads as read_loads
