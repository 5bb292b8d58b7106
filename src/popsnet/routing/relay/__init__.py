"""relay: our own router, which follows a schedule of stages."""

from popsnet.routing.relay.bijection import Bijection
from popsnet.routing.relay.planner import RelayPlan, fractions, plan, plan_survival
from popsnet.routing.relay.router import expected_slots
from popsnet.routing.relay.schedule import RelaySchedule, parse_schedule
from popsnet.routing.relay.state import RelayStage
from popsnet.routing.relay.survival import SurvivalSchedule, parse_survival

__all__ = [
    "Bijection",
    "RelayPlan",
    "RelaySchedule",
    "RelayStage",
    "SurvivalSchedule",
    "expected_slots",
    "fractions",
    "parse_schedule",
    "parse_survival",
    "plan",
    "plan_survival",
]
