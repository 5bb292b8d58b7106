"""Values instead of packets: sorting, hypercube moves, sums and prefix sums on the machine."""

from popsnet.computing.computation import sort
from popsnet.computing.hypercube import compute

__all__ = ["compute", "sort"]
