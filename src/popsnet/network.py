"""The network: how many processors, groups and couplers there are, and their numbers."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from popsnet.errors import InputError

__all__ = ["Network"]

_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Network:
    """A Partitioned Optical Passive Star network POPS(d, g).

    There are n = d·g processors in g groups of d. Processor j has group ``j // d`` and index
    ``j % d`` in its group. Coupler c(b, a) carries from group a to group b: g² couplers, one
    for every ordered pair of groups.
    """

    d: int
    g: int

    def __post_init__(self) -> None:
        for name, meaning in (("d", "processors in a group"), ("g", "groups")):
            value = getattr(self, name)
            try:
                number = operator.index(value)
            except TypeError:
                raise InputError(
                    f"{name} = {value!r} is not a whole number of {meaning}; give an integer >= 1."
                ) from None
            if isinstance(value, bool) or number < 1:
                raise InputError(
                    f"{name} = {value!r}: the number of {meaning} is at least 1; give {name} >= 1."
                )
            object.__setattr__(self, name, number)
        if self.n > _LARGEST:
            raise InputError("n = d·g is at most 2^63 - 1; choose a smaller d or g.")

    def __str__(self) -> str:
        return f"POPS({self.d}, {self.g})"

    @property
    def n(self) -> int:
        """Number of processors."""
        return self.d * self.g

    @property
    def couplers(self) -> int:
        """Number of couplers."""
        return self.g * self.g
