"""Deterministic on-line routing: comparator networks whose stages are scheduled off-line."""

from popsnet.routing.deterministic.aks import aks, aks_slots
from popsnet.routing.deterministic.batcher import batcher
from popsnet.routing.deterministic.datta import datta

__all__ = ["aks", "aks_slots", "batcher", "datta"]
