"""The numbers that kernels take, as named tuples of fixed types.

Unsigned and signed integers are not mixed: of two 64-bit ones, Numba would make a float.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from popsnet.engines.fused.bits import divisor_of
from popsnet.model.network import Network
from popsnet.workloads.permutations.keyed import KeyedPermutation


class Shape(NamedTuple):
    """A network."""

    n: np.uint64
    d: np.uint64
    g: np.uint64
    by_d: tuple[np.uint64, np.uint64]
    """A divisor for ``divide``, exact below 2^31."""
    per_g: np.float64
    """1 / g."""
    words: np.uint64
    """The words of a group with a bit per packet, of 32 bits."""
    is_padded: np.uint64
    """1 if the last word of a group has bits without packets, else 0."""

    @classmethod
    def of(cls, network: Network) -> Shape:
        """Return the shape of a network."""
        d, g, n = network.d, network.g, network.n
        times, shift = divisor_of(d)
        return cls(
            n=np.uint64(n),
            d=np.uint64(d),
            g=np.uint64(g),
            by_d=(np.uint64(times), np.uint64(shift)),
            per_g=np.float64(1 / g),
            words=np.uint64(-(-d // 32)),
            is_padded=np.uint64(d % 32 != 0),
        )


class Rounds(NamedTuple):
    """A computed permutation of [0, n)."""

    half: np.uint64
    keys: tuple[np.uint64, np.uint64, np.uint64, np.uint64]

    @classmethod
    def of(cls, permutation: KeyedPermutation) -> Rounds:
        """Return the rounds of a permutation."""
        a, b, c, d = permutation.keys
        return cls(np.uint64(permutation.half), (a, b, c, d))


class ManyRuns(NamedTuple):
    """Runs on uniform permutations, and what is kept of them."""

    coins: np.uint64
    """The seed of the coins."""
    permutations: np.uint64
    """The seed of the permutations."""
    first: np.uint64
    """The number of the first run."""
    runs: np.uint64
    max_steps: np.uint64
    room: np.uint64
    """Rows of the log for each run. Without any, runs are added to the histograms."""
    width: np.uint64
    """Values of each histogram."""
