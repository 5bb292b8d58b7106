"""Formulas and fluid limits: what mathematics says about routing times."""

from popsnet.theory.fluid import expected_steps, loads
from popsnet.theory.formulas import deterministic_slots

__all__ = ["deterministic_slots", "expected_steps", "loads"]
