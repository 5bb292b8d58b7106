"""Formulas and fluid limits: what mathematics says about routing times."""

from popsnet.theory.fluid import expected_steps, loads
from popsnet.theory.formulas import batcher_slots, deterministic_slots

__all__ = ["batcher_slots", "deterministic_slots", "expected_steps", "loads"]
