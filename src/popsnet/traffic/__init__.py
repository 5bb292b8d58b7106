"""Continuous traffic: packets keep arriving, and schedulers deliver them slot by slot."""

import popsnet.traffic.schedulers as _schedulers  # noqa: F401 - registers those that ship
from popsnet.traffic.frame import Frame as Frame
from popsnet.traffic.memory import TrafficMemory as TrafficMemory
from popsnet.traffic.queues import Queues as Queues
from popsnet.traffic.scheduler import Scheduler as Scheduler
from popsnet.traffic.scheduler import all_schedulers as all_schedulers
from popsnet.traffic.scheduler import find_scheduler as find_scheduler
from popsnet.traffic.scheduler import find_scheduler_variant as find_scheduler_variant
from popsnet.traffic.scheduler import register_scheduler as register_scheduler
