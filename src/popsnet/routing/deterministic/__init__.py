"""Deterministic on-line routing: comparator networks whose stages are scheduled off-line."""

from popsnet.routing.deterministic.aks import aks, aks_slots
from popsnet.routing.deterministic.batcher import batcher
from popsnet.routing.deterministic.datta import datta
from popsnet.routing.deterministic.values import sort_slots, sort_values
from popsnet.theory.formulas import datta_slots

__all__ = [
    "aks",
    "aks_slots",
    "batcher",
    "datta",
    "datta_slots",
    "sort_slots",
    "sort_values",
]
