"""Values instead of packets: sorting, hypercube moves, sums and prefix sums on the machine."""

from popsnet.computing.computation import compute, sort

__all__ = ["compute", "sort"]
