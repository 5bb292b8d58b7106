"""Faults: parts of a network that do not work, and messages that are lost."""

from popsnet.model.faults.active import ActiveFaults, WorkingParts, two_way_paths
from popsnet.model.faults.faults import KINDS, Faults

__all__ = ["KINDS", "ActiveFaults", "Faults", "WorkingParts", "two_way_paths"]
