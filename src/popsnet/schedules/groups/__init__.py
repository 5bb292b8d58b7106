"""Plans for traffic matrices: relay groups and slots, for packets with free processors."""

from popsnet.schedules.groups.mixed import plan_mixed
from popsnet.schedules.groups.one_hop import one_hop_slots, plan_one_hop
from popsnet.schedules.groups.plan import GroupPlan
from popsnet.schedules.groups.processors import give_processors

__all__ = ["GroupPlan", "give_processors", "one_hop_slots", "plan_mixed", "plan_one_hop"]
