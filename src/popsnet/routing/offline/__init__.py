"""Off-line routing: everything is known beforehand, and a schedule is made of it."""

from popsnet.routing.offline.bounds import lower_bound, offline_slots
from popsnet.routing.offline.cache import schedule_permutation
from popsnet.routing.offline.colouring import colour_edges
from popsnet.routing.offline.construction import make_schedule
from popsnet.routing.offline.demand import Demand
from popsnet.routing.offline.router import offline
from popsnet.routing.offline.schedule import Schedule

__all__ = [
    "Demand",
    "Schedule",
    "colour_edges",
    "lower_bound",
    "make_schedule",
    "offline",
    "offline_slots",
    "schedule_permutation",
]
