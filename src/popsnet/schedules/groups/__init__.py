"""Plans for traffic matrices: relay groups and slots, for packets with free processors."""

from popsnet.schedules.groups.mixed import plan_mixed
from popsnet.schedules.groups.one_hop import one_hop_slots, plan_one_hop
from popsnet.schedules.groups.plan import GroupPlan

__all__ = ["GroupPlan", "one_hop_slots", "plan_mixed", "plan_one_hop"]
