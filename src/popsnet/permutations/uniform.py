"""Uniform permutations: scatter into buckets that fit in the cache, shuffle each.

Every item draws a bucket, and the items of each bucket are put in uniform random order by
Fisher and Yates' shuffle. The buckets one after another are a uniform permutation (Rao 1961,
Sandelius 1962). Up to 2^20 items there is one bucket and nothing to scatter.

Draws are words of ``coins``, addressed by the item for its bucket and by the place for the
shuffle. A place is chosen among i by scaling 40 bits, so that none is likelier than another by
more than i parts in 2^40.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.compiled import compiled
from popsnet.splitmix import word

__all__ = ["CHUNK", "RANDOM", "arrange", "bucket_bits", "shuffle", "uniform_permutation"]

RANDOM = "random permutation"
"""The purpose of the coins that make the permutation called ``random``."""

CHUNK = 1024
"""Draws made at a time; as many numbers are the scratch that shuffling needs."""

_BUCKET_BITS = 20
_24, _32, _40 = np.uint64(24), np.uint64(32), np.uint64(40)
_ONE = np.uint64(1)

Places = npt.NDArray[np.uint16] | npt.NDArray[np.uint32]
U32 = npt.NDArray[np.uint32]


def uniform_permutation(n: int, purpose: str, coins: Coins) -> npt.NDArray[np.int32]:
    """A permutation of [0, n), uniform among all n!. O(n)."""
    places = np.empty(n, dtype=np.uint32)
    arrange(
        places,
        n,
        bucket_bits(n),
        np.uint64(coins.key(purpose, 0)),
        np.uint64(coins.key(purpose, 1)),
        np.empty(2 ** bucket_bits(n) + 1, dtype=np.int64),
        np.empty(CHUNK, dtype=np.uint32),
    )
    return places.view(np.int32)


def bucket_bits(n: int) -> int:
    """The number of bits that choose a bucket: enough for buckets of about 2^20 items."""
    return max((n - 1).bit_length() - _BUCKET_BITS, 0)


@compiled
def arrange(
    places: Places, modulus: int, bits: int, scatter_key: np.uint64, shuffle_key: np.uint64,
    ends: npt.NDArray[np.int64], drawn: U32,
) -> None:  # fmt: skip
    """Fill ``places`` with a uniform permutation, its values taken mod ``modulus``."""
    if bits == 0:
        fill(places, modulus)
        shuffle(places, 0, len(places), shuffle_key, drawn)
    else:
        scatter(places, modulus, bits, scatter_key, ends, drawn)
        low = 0
        for bucket in range(len(ends) - 1):
            shuffle(places, low, ends[bucket], shuffle_key, drawn)
            low = ends[bucket]


@compiled
def fill(places: Places, modulus: int) -> None:
    """0, 1, 2, … mod ``modulus``, again and again."""
    for low in range(0, len(places), modulus):
        for k in range(min(modulus, len(places) - low)):
            places[low + k] = k


@compiled
def scatter(
    places: Places, modulus: int, bits: int, key: np.uint64, ends: npt.NDArray[np.int64], drawn: U32
) -> None:
    """Put every item into the bucket it draws; the buckets' ends are found on the way."""
    n, shift = len(places), np.uint32(32 - bits)
    ends[:] = 0
    for low in range(0, n, CHUNK):
        m = min(CHUNK, n - low)
        draw_upper_halves(key, low, m, drawn)
        for k in range(m):
            ends[int(drawn[k] >> shift) + 1] += 1
    for bucket in range(len(ends) - 1):
        ends[bucket + 1] += ends[bucket]
    value = 0
    for low in range(0, n, CHUNK):
        m = min(CHUNK, n - low)
        draw_upper_halves(key, low, m, drawn)
        for k in range(m):
            bucket = int(drawn[k] >> shift)
            places[ends[bucket]] = value  # an end is a start until its bucket is full
            ends[bucket] += 1
            value = value + 1 if value + 1 < modulus else 0


@compiled
def draw_upper_halves(key: np.uint64, first: int, m: int, drawn: U32) -> None:
    """The upper halves of m consecutive words."""
    start = np.uint64(first)
    for k in range(m):
        drawn[k] = word(key, start + np.uint64(k)) >> _32


@compiled
def draw_places(key: np.uint64, low: int, first: int, m: int, drawn: U32) -> None:
    """For place low + i, i = first, first + 1, …: a uniform number from 0 to i."""
    for k in range(m):
        i = np.uint64(first) + np.uint64(k)
        drawn[k] = ((word(key, np.uint64(low) + i) >> _24) * (i + _ONE)) >> _40


@compiled
def shuffle(places: Places, low: int, high: int, key: np.uint64, drawn: U32) -> None:
    """Fisher and Yates' shuffle of places[low:high], from the end."""
    part = places[low:high]
    for end in range(high - low, 1, -CHUNK):
        m = min(CHUNK, end - 1)
        draw_places(key, low, end - m, m, drawn)
        for k in range(m):
            i, j = end - 1 - k, drawn[m - 1 - k]
            kept = part[i]
            part[i] = part[j]
            part[j] = kept
