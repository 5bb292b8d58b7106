"""Formulas, bounds and limits of routing times."""

from popsnet.theory.bounds import BOUNDS, Bound, bounds_on, deterministic_slots
from popsnet.theory.conflict_graph import ConflictGraph
from popsnet.theory.fluid import (
    expected_steps,
    expected_sweeps,
    loads,
    steps_tail,
    sweeps_tail,
    undelivered,
)
from popsnet.theory.phases import Phase, phase_of
from popsnet.theory.slot_five import C, c_with_slot_five, lost_share
from popsnet.theory.stage_growth import Growth, first_shorter, growth
from popsnet.theory.tails import TAILS, Tail, smallest_g

__all__ = [
    "BOUNDS",
    "TAILS",
    "Bound",
    "C",
    "ConflictGraph",
    "Growth",
    "Phase",
    "Tail",
    "bounds_on",
    "c_with_slot_five",
    "deterministic_slots",
    "expected_steps",
    "expected_sweeps",
    "first_shorter",
    "growth",
    "loads",
    "lost_share",
    "phase_of",
    "smallest_g",
    "steps_tail",
    "sweeps_tail",
    "undelivered",
]
