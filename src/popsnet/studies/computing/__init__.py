"""Values instead of packets: sorting, hypercube moves, sums and prefix sums on the machine."""

from popsnet.studies.computing.computation import (
    Computed,
    Sorted,
    compute,
    read_keys,
    sort,
    write_keys,
)

__all__ = ["Computed", "Sorted", "compute", "read_keys", "sort", "write_keys"]
