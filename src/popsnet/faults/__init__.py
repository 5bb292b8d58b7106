"""Faults: parts of a network that do not work, and messages that are lost."""

from popsnet.faults.active import ActiveFaults
from popsnet.faults.faults import KINDS, Faults
from popsnet.faults.paths import two_way_paths

__all__ = ["KINDS", "ActiveFaults", "Faults", "two_way_paths"]
