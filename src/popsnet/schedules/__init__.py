"""Off-line schedules: demands, and the slots in which they are sent without collisions."""

from popsnet.schedules.bounds import lower_bound, matrix_bound, offline_slots
from popsnet.schedules.cache import schedule_permutation
from popsnet.schedules.demand import Demand
from popsnet.schedules.linear_program import linear_bound
from popsnet.schedules.schedule import Schedule
from popsnet.schedules.shortest import make_schedule, schedule_matrix

__all__ = [
    "Demand",
    "Schedule",
    "linear_bound",
    "lower_bound",
    "make_schedule",
    "matrix_bound",
    "offline_slots",
    "schedule_matrix",
    "schedule_permutation",
]
