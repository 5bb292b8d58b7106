"""Hardware: units, slots in nanoseconds, and power budgets; pure functions, which change no run."""

from popsnet.hardware.basis import Basis
from popsnet.hardware.power import Architecture, Link, PowerBudget, budget
from popsnet.hardware.presets import LINKS, TIMINGS, LinkPreset, find_preset
from popsnet.hardware.propagation import EVERY_SLOT_WAITS, INTERLEAVED, ONE_HOP, Propagation
from popsnet.hardware.timing import Timing
from popsnet.hardware.units import LENGTH, LOSS, POWER, RATE, TIME, Dimension, milliwatts

__all__ = [
    "EVERY_SLOT_WAITS",
    "INTERLEAVED",
    "LENGTH",
    "LINKS",
    "LOSS",
    "ONE_HOP",
    "POWER",
    "RATE",
    "TIME",
    "TIMINGS",
    "Architecture",
    "Basis",
    "Dimension",
    "Link",
    "LinkPreset",
    "PowerBudget",
    "Propagation",
    "Timing",
    "budget",
    "find_preset",
    "milliwatts",
]
