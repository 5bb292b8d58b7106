"""How the depth of the bag tree grows beside that of merge exchange, and where they would meet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from popsnet.errors import InputError
from popsnet.sorting.bag_tree import BagTree, bag_tree
from popsnet.sorting.batcher import merge_exchange_depth

SMALLEST = 6
"""The logarithm of the first size: the bag tree of 2^5 wires is merge exchange itself."""


@dataclass(frozen=True)
class Row:
    """The bag tree on n = 2^exponent wires."""

    exponent: int
    depth: int
    size: int

    @property
    def batcher(self) -> int:
        """The depth of merge exchange."""
        return merge_exchange_depth(2**self.exponent)


@dataclass(frozen=True)
class DepthGrowth:
    """Depths measured, the line through them, and where it meets t(t + 1)/2."""

    rows: tuple[Row, ...]

    @cached_property
    def line(self) -> tuple[float, float]:
        """Slope and intercept of depth over log2 n, by least squares."""
        exponents = [row.exponent for row in self.rows]
        slope, intercept = np.polyfit(exponents, [row.depth for row in self.rows], 1)
        return float(slope), float(intercept)

    @property
    def crossover(self) -> float:
        """The log2 n from which on the line is below t(t + 1)/2: extrapolated, not measured."""
        slope, intercept = self.line
        b = slope - 0.5
        return b + sqrt(b * b + 2 * intercept)


def measure_growth(
    largest: int, constants: BagTree | None = None, watch: Callable[[Row], None] = lambda row: None
) -> DepthGrowth:
    """Make the bag trees of 2^6 … 2^largest wires and count; two seconds for 2^16."""
    if largest <= SMALLEST:
        raise InputError(f"a line needs two sizes: give at least 2^{SMALLEST + 1} wires.")
    rows = []
    for exponent in range(SMALLEST, largest + 1):
        network = bag_tree(2**exponent, constants=constants)
        rows.append(Row(exponent, network.depth, network.size))
        watch(rows[-1])
    return DepthGrowth(tuple(rows))
