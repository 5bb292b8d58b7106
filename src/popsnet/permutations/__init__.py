"""Permutations to route: ``permutation[i]`` is the destination of packet i."""

from popsnet.permutations.files import (
    read_permutation,
    require_permutation,
    require_permutation_file,
    write_permutation,
)
from popsnet.permutations.resolved import NAMES, find_permutation, make_permutation

__all__ = [
    "NAMES",
    "find_permutation",
    "make_permutation",
    "read_permutation",
    "require_permutation",
    "require_permutation_file",
    "write_permutation",
]
