"""Deterministic on-line routing: comparator networks whose stages are scheduled off-line."""

from popsnet.routing.deterministic.aks import aks, aks_slots
from popsnet.routing.deterministic.batcher import batcher
from popsnet.routing.deterministic.datta import datta
from popsnet.routing.deterministic.strips import datta_slots
from popsnet.routing.deterministic.values import sort_slots, sort_values

__all__ = [
    "aks",
    "aks_slots",
    "batcher",
    "datta",
    "datta_slots",
    "sort_slots",
    "sort_values",
]
