"""Continuous traffic: packets keep arriving, and schedulers deliver them slot by slot."""

import popsnet.traffic.schedulers as _schedulers  # noqa: F401 - registers those that ship
from popsnet.traffic.arrivals import make_arrivals as make_arrivals
from popsnet.traffic.curves import LoadCurves as LoadCurves
from popsnet.traffic.curves import Saturations as Saturations
from popsnet.traffic.curves import find_saturations as find_saturations
from popsnet.traffic.curves import run_loads as run_loads
from popsnet.traffic.experiment import TrafficExperiment as TrafficExperiment
from popsnet.traffic.frame import Frame as Frame
from popsnet.traffic.loads import read_loads as read_loads
from popsnet.traffic.memory import TrafficMemory as TrafficMemory
from popsnet.traffic.overview import traffic_overview as traffic_overview
from popsnet.traffic.queues import Queues as Queues
from popsnet.traffic.result import TrafficResult as TrafficResult
from popsnet.traffic.scheduler import Scheduler as Scheduler
from popsnet.traffic.scheduler import all_schedulers as all_schedulers
from popsnet.traffic.scheduler import find_scheduler as find_scheduler
from popsnet.traffic.scheduler import find_scheduler_variant as find_scheduler_variant
from popsnet.traffic.scheduler import register_scheduler as register_scheduler
from popsnet.traffic.simulate import simulate as simulate
from popsnet.traffic.simulate import write_trace as write_trace
