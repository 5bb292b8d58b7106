"""A path system whose every answer is compared with what it said before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.oblivious.paths import ONLY, PathSystem, stops
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.slot import Ints

Prints: TypeAlias = npt.NDArray[np.uint16]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class _RecordedPaths(PathSystem):
    original: PathSystem
    known: Prints
    """By destination and source: 16 bits of the path, 0 if it was not asked for yet."""

    def between(self, network: Network, sources: Ints, destinations: Ints) -> Ints:
        return self._noted(self.original.between(network, sources, destinations))

    def require_oblivious(self, network: Network, sources: Ints, destinations: Ints) -> Ints:
        return self._noted(self.original.require_oblivious(network, sources, destinations))

    def _noted(self, ways: Ints) -> Ints:
        sources, destinations, now = ways[:, 0], ways[:, -1], _fingerprints(ways)
        before = self.known[destinations, sources]
        differs = (before != 0) & (before != now)
        if differs.any():
            i = int(np.argmax(differs))
            raise InputError(
                f"{self.name} is not oblivious: from {sources[i]} to {destinations[i]} it goes by "
                f"{stops(ways[i])}, and went another way when it was asked before. {ONLY}"
            )
        self.known[destinations, sources] = now
        return ways


def recorded(paths: PathSystem, network: Network) -> PathSystem:
    """The same paths; a pair that is asked for again must have the path that it had.

    What an adversary proves, counts and executes is then about one path system, though it asks for
    paths many times. It takes 2n² bytes, and misses another path once in 65,535 times.
    """
    known = np.zeros((network.n, network.n), dtype=np.uint16)
    return _RecordedPaths(paths.name, paths.summary, paths.ways, paths, known)


def _fingerprints(ways: Ints) -> Prints:
    """16 bits of each path, never 0; how often a packet waits is not in them."""
    mixed = np.zeros(len(ways), dtype=np.uint64)
    for here, there in zip(ways.T, ways.T[1:], strict=False):
        moved = (mixed ^ (there.astype(np.uint64) + np.uint64(1))) * _FACTOR
        moved ^= moved >> np.uint64(29)
        mixed = np.where(here == there, mixed, moved)
    return ((mixed >> np.uint64(40)) % np.uint64(65535) + np.uint64(1)).astype(np.uint16)
