"""Permutations that are computed, not stored: a keyed bijection on [0, n) for any n.

A Feistel network of four rounds permutes [0, 4^h), the smallest such range with n ≤ 4^h (256 at
least). A value that falls outside [0, n) is put through again until it falls inside (cycle
walking): fewer than four times on average for n ≥ 65. The inverse runs the rounds backwards.
Luby and Rackoff (1988) showed why so few rounds suffice if the round function is good; here it
consists of multiplications and shifts, and the tests compare its statistics with those of uniform
permutations.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import mix
from popsnet.model.coins import Coins
from popsnet.model.network import I32, U64

KEYED = "keyed permutation"
"""The purpose of the coins that choose the keys."""

ROUNDS = 4
_1, _64 = np.uint64(1), np.uint64(64)


@dataclass(frozen=True)
class KeyedPermutation:
    """The permutation of [0, n) that coins stand for, computed without being stored."""

    n: int
    coins: Coins

    @property
    def keys(self) -> U64:
        """A key for each round."""
        return self.coins.words(KEYED, 0, np.arange(ROUNDS))

    @property
    def half(self) -> int:
        """The bits in half a value, at least four: on few values four rounds mix too little."""
        return max(((self.n - 1).bit_length() + 1) // 2, 4)

    def array(self) -> I32:
        """Return all destinations."""
        out = np.empty(self.n, dtype=np.int32)
        _places(out, self.n, self.half, self.keys)
        return out

    def place(self, i: int) -> int:
        """Return the destination of packet i."""
        return int(place(np.uint64(i), np.uint64(self.n), np.uint64(self.half), self.keys))

    def source(self, j: int) -> int:
        """Return the packet that goes to processor j."""
        return int(_source(np.uint64(j), np.uint64(self.n), np.uint64(self.half), self.keys))


@compiled(inline=True)
def _round(x: np.uint64, key: np.uint64, half: np.uint64) -> np.uint64:
    """Compute the round function: the upper bits of a mixed word."""
    return mix(x + key) >> (_64 - half)


@compiled(inline=True)
def permute(
    i: np.uint64, half: np.uint64, k0: np.uint64, k1: np.uint64, k2: np.uint64, k3: np.uint64
) -> np.uint64:
    """Apply four rounds on [0, 4^half), without a branch."""
    left, right = i >> half, i & ((_1 << half) - _1)
    left ^= _round(right, k0, half)
    right ^= _round(left, k1, half)
    left ^= _round(right, k2, half)
    right ^= _round(left, k3, half)
    return (left << half) | right


@compiled
def place(i: np.uint64, n: np.uint64, half: np.uint64, keys: U64) -> np.uint64:
    """Return the destination of packet i < n."""
    i = permute(i, half, keys[0], keys[1], keys[2], keys[3])
    while i >= n:
        i = permute(i, half, keys[0], keys[1], keys[2], keys[3])
    return i


@compiled
def _source(j: np.uint64, n: np.uint64, half: np.uint64, keys: U64) -> np.uint64:
    """Return the packet that goes to processor j, by the rounds of ``permute`` backwards."""
    while True:
        left, right = j >> half, j & ((_1 << half) - _1)
        right ^= _round(left, keys[3], half)
        left ^= _round(right, keys[2], half)
        right ^= _round(left, keys[1], half)
        left ^= _round(right, keys[0], half)
        j = (left << half) | right
        if j < n:
            return j


@compiled
def _places(out: I32, n: int, half: int, keys: U64) -> None:
    for i in range(n):
        out[i] = place(np.uint64(i), np.uint64(n), np.uint64(half), keys)
