"""relay: our own router, made of stages; a schedule of them is data."""

from popsnet.routing.relay.bijection import Bijection
from popsnet.routing.relay.planner import Plan, fractions, plan
from popsnet.routing.relay.router import expected_slots
from popsnet.routing.relay.schedule import Schedule, Stage, parse_schedule

__all__ = [
    "Bijection",
    "Plan",
    "Schedule",
    "Stage",
    "expected_slots",
    "fractions",
    "parse_schedule",
    "plan",
]
