"""Deterministic on-line routing: comparator networks whose stages are scheduled off-line."""

from popsnet.programs.routers.deterministic.aks import aks, aks_slots
from popsnet.programs.routers.deterministic.batcher import batcher, batcher_slots
from popsnet.programs.routers.deterministic.datta import datta, datta_slots

__all__ = ["aks", "aks_slots", "batcher", "batcher_slots", "datta", "datta_slots"]
