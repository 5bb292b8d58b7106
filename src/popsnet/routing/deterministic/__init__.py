"""Deterministic on-line routing: comparator networks whose stages are scheduled off-line."""

from popsnet.routing.deterministic.batcher import batcher
from popsnet.routing.deterministic.datta import datta
from popsnet.routing.deterministic.strips import datta_slots

__all__ = ["batcher", "datta", "datta_slots"]
