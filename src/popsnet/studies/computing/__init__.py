"""Values instead of packets: sorting, hypercube moves, sums and prefix sums on the machine."""

from popsnet.studies.computing import computation
from popsnet.studies.computing.computation import compute, read_keys, sort, write_keys

Computed, Sorted = computation.ComputationResult, computation.SortResult
"""Former names."""


__all__ = ["Computed", "Sorted", "compute", "read_keys", "sort", "write_keys"]
