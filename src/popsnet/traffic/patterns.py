"""Traffic patterns: how often every processor sends, and to which processors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.permutations.resolved import resolve_permutation
from popsnet.traffic.targets import Anyone, Fixed, NextGroup, Others, Targets

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Pattern(ABC):
    """Where packets go, on one network."""

    network: Network
    name: str
    file: str = ""

    def sources(self) -> F64:
        """Return the packets per slot of each processor at a mean load of 1."""
        return np.ones(self.network.n)

    @abstractmethod
    def targets(self) -> Targets:
        """Return what draws the destinations."""


@dataclass(frozen=True)
class Uniform(Pattern):
    """Every processor sends to all others equally often."""

    def targets(self) -> Targets:
        """Return all processors but the source."""
        return Others(self.network.n)


@dataclass(frozen=True)
class UniformWithSelf(Pattern):
    """Every processor sends to all processors equally often."""

    def targets(self) -> Targets:
        """Return all processors."""
        return Anyone(self.network.n)


@dataclass(frozen=True)
class GroupShift(Pattern):
    """Every processor sends to all processors of the next group equally often."""

    def targets(self) -> Targets:
        """Return the processors of the next group."""
        return NextGroup(self.network.d, self.network.g)


@dataclass(frozen=True, eq=False)
class ToPermutation(Pattern):
    """Every processor sends to one other, given by a permutation."""

    destinations: I32 | None = None

    def targets(self) -> Targets:
        """Return the permutation."""
        assert self.destinations is not None
        return Fixed(self.destinations)


def resolve_pattern(pattern: str, network: Network, seed: int = 0) -> Pattern:
    """Return the pattern of that name, and refuse one that does not fit the network."""
    if pattern == "uniform":
        if network.n == 1:
            raise InputError(
                "pattern = 'uniform': a network of one processor has no other one to send to; "
                "use 'uniform-with-self'."
            )
        return Uniform(network, pattern)
    if pattern == "uniform-with-self":
        return UniformWithSelf(network, pattern)
    if pattern == "group-shift":
        return GroupShift(network, pattern)
    resolved = resolve_permutation(pattern, network)
    made = resolved.destination(network, Coins(seed))
    destinations = made if isinstance(made, np.ndarray) else made.array()
    return ToPermutation(network, resolved.name, resolved.file, destinations.astype(np.int32))
