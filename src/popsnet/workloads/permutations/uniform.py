"""Uniform permutations: scatter into buckets that fit in the cache, then shuffle each bucket.

Every item draws a bucket, and the items of each bucket are put in uniform random order by
the Fisher-Yates shuffle. The buckets one after another are a uniform permutation (Rao 1961,
Sandelius 1962). Up to 2^20 items there is one bucket and nothing to scatter.

Draws are words of ``coins``. Eight items share a word for their buckets, a byte each. In the
shuffle every place has a word of its own. A place is chosen among i by scaling 40 bits, so that
none is more likely than another by more than i parts in 2^40.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import word
from popsnet.model.coins import Coins
from popsnet.model.network import I32, I64, U8, U32, U64

CHUNK = 1024
"""Draws made at a time, and the scratch numbers that shuffling needs."""

RANDOM = "random permutation"
"""The purpose of the coins that make the permutation called ``random``."""

_NO_BUCKETS = 2**20
_BUCKET_BITS = 18
_MOST_BITS = 6
"""More than 2^6 buckets would be more write streams than a first-level cache can follow."""

_24, _40 = np.uint64(24), np.uint64(40)
_ONE = np.uint64(1)
_LANES = 4
_GAP = 16
"""Numbers between the parts of different threads: a cache line and the one fetched with it."""

Places = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]

Map: TypeAlias = Callable[[Callable[[int], Any], Iterable[int]], Iterable[Any]]
"""A function like ``map``, or that of an executor."""


@dataclass(frozen=True)
class UniformPermutation:
    """The permutation of [0, n) that coins stand for, uniform among all n!."""

    n: int
    coins: Coins
    purpose: str = RANDOM

    def array(self) -> I32:
        """Return all destinations."""
        places = np.empty(self.n, dtype=np.uint32)
        self.write(places, self.n)
        return places.view(np.int32)

    def write(self, places: Places, modulus: int, threads: int = 1, each: Map = map) -> None:
        """Write all destinations mod ``modulus`` in O(n) time.

        ``each`` spreads the work over threads.
        """
        if self.n <= _NO_BUCKETS:
            fill(places, modulus)
            limits = [0, self.n]
        else:
            limits = self._scatter(places, modulus, threads, each)
        key = np.uint64(self.coins.key(self.purpose, 1))
        scratch = np.empty((threads, CHUNK + 2 * _GAP), dtype=np.uint32)

        def shuffle_some(t: int) -> None:
            for low, high in list(pairwise(limits))[t::threads]:
                shuffle(places, low, high, key, scratch[t])

        list(each(shuffle_some, range(threads)))

    def _scatter(self, places: Places, modulus: int, threads: int, each: Map) -> list[int]:
        """Put every item into its bucket, and return where the buckets begin and end."""
        bits = min((self.n - 1).bit_length() - _BUCKET_BITS, _MOST_BITS)
        key = np.uint64(self.coins.key(self.purpose, 0))
        cuts = [self.n * t // threads // 8 * 8 for t in range(threads)] + [self.n]
        counts = np.zeros((threads, _LANES, 2**bits + _GAP), dtype=np.int64)
        scratch = np.empty((threads, CHUNK // 8 + _GAP), dtype=np.uint64)

        def count_some(t: int) -> None:
            survey(counts[t], bits, key, cuts[t], cuts[t + 1], scratch[t])

        list(each(count_some, range(threads)))
        sizes = counts.sum(axis=1)  # the gaps count as buckets without items
        ends = sizes.T.ravel().cumsum().reshape(-1, threads).T  # of each thread's part of a bucket
        at = np.ascontiguousarray(ends - sizes).astype(np.uint64)

        def scatter_some(t: int) -> None:
            scatter(places, modulus, bits, key, cuts[t], cuts[t + 1], at[t], scratch[t])

        list(each(scatter_some, range(threads)))
        return [0, *ends[-1].tolist()]


@compiled
def fill(places: Places, modulus: int) -> None:
    """0, 1, 2, … mod ``modulus``, again and again."""
    for low in range(0, len(places), modulus):
        part = places[low : low + modulus]
        for k in range(len(part)):
            part[k] = k


@compiled
def survey(counts: I64, bits: int, key: np.uint64, first: int, last: int, drawn: U64) -> None:
    """Count how many of the items first … last - 1 draw each bucket.

    Neighbours are counted in different lanes, so that none waits for the one before.
    """
    shift = np.uint8(8 - bits)
    for low in range(first, last, CHUNK):
        lots = draw_bytes(key, low, drawn)
        for k in range(min(CHUNK, last - low)):
            counts[k & (_LANES - 1), lots[k] >> shift] += 1


@compiled
def scatter(
    places: Places, modulus: int, bits: int, key: np.uint64, first: int, last: int, at: U64,
    drawn: U64,
) -> None:  # fmt: skip
    """Put the items first … last - 1, mod ``modulus``, where their buckets begin."""
    shift, value = np.uint8(8 - bits), first % modulus
    for low in range(first, last, CHUNK):
        lots = draw_bytes(key, low, drawn)
        for k in range(min(CHUNK, last - low)):
            bucket = lots[k] >> shift
            places[at[bucket]] = value
            at[bucket] += _ONE
            value = value + 1 if value + 1 < modulus else 0


@compiled
def draw_bytes(key: np.uint64, first: int, drawn: U64) -> U8:
    """Draw a byte for each item from ``first`` on, eight of them from a word."""
    start = np.uint64(first // 8)
    for k in range(CHUNK // 8):
        drawn[k] = word(key, start + np.uint64(k))
    return drawn.view(np.uint8)


@compiled(inline=True)
def draw_place(key: np.uint64, low: np.uint64, i: np.uint64) -> np.uint64:
    """Draw a uniform number from 0 to i for place low + i."""
    return ((word(key, low + i) >> _24) * (i + _ONE)) >> _40


@compiled
def draw_places(key: np.uint64, low: int, first: int, m: int, drawn: U32) -> None:
    """Draw a uniform number from 0 to i for place low + i, i = first, first + 1, …."""
    for k in range(m):
        drawn[k] = draw_place(key, np.uint64(low), np.uint64(first) + np.uint64(k))


@compiled
def shuffle(places: Places, low: int, high: int, key: np.uint64, drawn: U32) -> None:
    """Shuffle places[low:high] by Fisher and Yates' method, from the end."""
    part = places[low:high]
    for end in range(high - low, 1, -CHUNK):
        m = min(CHUNK, end - 1)
        draw_places(key, low, end - m, m, drawn)
        first = np.uint64(end - m)
        for k in range(m):
            q = np.uint64(m - 1 - k)  # unsigned: Numba checks an index that might be negative
            i, j = first + q, drawn[q]
            value = part[i]
            part[i] = part[j]
            part[j] = value
