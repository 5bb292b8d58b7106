"""Where packets go: destinations drawn from one 64-bit word per packet, or per burst of packets.

A draw is a pure function of the word and the source, made of integer operations, so that all
platforms draw the same destinations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import mix
from popsnet.model.network import F64, I32, I64, U64

BITS = 53
"""The upper bits of a word that are compared with the thresholds of a table."""

_LOW, _GOLDEN = np.uint64(0xFFFFFFFF), np.uint64(0x9E3779B97F4A7C15)
_32, _SHIFT = np.uint64(32), np.uint64(64 - BITS)


@dataclass(frozen=True, eq=False)
class Targets:
    """A way to draw destinations: a function of words, sources and further inputs."""

    fill: Callable[..., None]
    inputs: tuple[Any, ...]

    def draw(self, words: U64, sources: I32) -> I32:
        """Return a destination for each word and source."""
        drawn = np.empty(len(words), np.int32)
        self.fill(words, sources, *self.inputs, drawn)
        return drawn


def by_rows(rates: F64, d: int) -> Targets:
    """Return targets by a matrix with a row for each processor, or for each group if ``d`` > 1."""
    columns = [np.flatnonzero(row).astype(np.int32) for row in rates]
    thresholds = [thresholds_of(row[column]) for row, column in zip(rates, columns, strict=True)]
    starts = np.cumsum([0, *map(len, columns)], dtype=np.int64)
    return Targets(_draw_rows, (d, starts, np.concatenate(columns), np.concatenate(thresholds)))


def thresholds_of(weights: F64) -> U64:
    """Return the thresholds that split [0, 2^53) in proportion to weights, in their order.

    A sum in order, a division and a product with a power of two are rounded in the same way
    everywhere.
    """
    sums = np.cumsum(weights)
    return np.ceil(sums / sums[-1:] * 2.0**BITS).astype(np.uint64)


@compiled(inline=True)
def below(w: np.uint64, bound: int) -> int:
    """Return a number in [0, bound) from the upper half of a word, as ``Coins.draw`` does."""
    return np.int64((w >> _32) * np.uint64(bound) >> _32)  # type: ignore[return-value]


@compiled(inline=True)
def other_than(source: int, w: np.uint64, bound: int) -> int:
    """Return a number in [0, bound) that is not ``source``, which is in this range."""
    other = below(w, bound - 1)
    return other + (other >= source)


@compiled(inline=True)
def next_word(w: np.uint64) -> np.uint64:
    """Return another word, for a draw that needs a second one."""
    return mix(w + _GOLDEN)


@compiled
def find(w: np.uint64, thresholds: U64, begin: int, end: int) -> int:
    """Return the first position in a range whose threshold is above the upper bits of a word."""
    x, last = w >> _SHIFT, end - 1
    while begin < last:
        middle = (begin + last) // 2
        if x < thresholds[middle]:
            last = middle
        else:
            begin = middle + 1
    return begin


def look_up(words: U64, sources: I32, destinations: I32, drawn: I32) -> None:
    """Write the one destination of each source."""
    drawn[:] = destinations[sources]


@compiled
def draw_anyone(words: U64, sources: I32, n: int, drawn: I32) -> None:
    """Draw from all processors."""
    for k in range(len(words)):
        drawn[k] = below(words[k], n)


@compiled
def draw_others(words: U64, sources: I32, n: int, drawn: I32) -> None:
    """Draw from all processors but the source."""
    for k in range(len(words)):
        drawn[k] = other_than(sources[k], words[k], n)


@compiled
def draw_next_group(words: U64, sources: I32, d: int, g: int, drawn: I32) -> None:
    """Draw from the processors of the next group."""
    for k in range(len(words)):
        group = sources[k] // d + 1
        drawn[k] = (group if group < g else 0) * d + below(words[k], d)


@compiled
def draw_hot(words: U64, sources: I32, n: int, hot: int, threshold: np.uint64, drawn: I32) -> None:
    """Draw one of the hot processors with probability ``threshold`` / 2^32, else any other one."""
    for k in range(len(words)):
        source = int(sources[k])
        rank = (source * hot + n - 1) // n  # the number of hot processors before the source
        is_hot = rank < hot and rank * n // hot == source
        if (words[k] & _LOW) >= threshold or (is_hot and hot == 1):
            drawn[k] = other_than(source, words[k], n)
        elif is_hot:
            drawn[k] = other_than(rank, words[k], hot) * n // hot
        else:
            drawn[k] = below(words[k], hot) * n // hot


@compiled
def draw_weighted(words: U64, sources: I32, thresholds: U64, drawn: I32) -> None:
    """Draw by thresholds, and again from a new word for as long as it is the source."""
    for k in range(len(words)):
        w = words[k]
        j = find(w, thresholds, 0, len(thresholds))
        while j == sources[k]:
            w = next_word(w)
            j = find(w, thresholds, 0, len(thresholds))
        drawn[k] = j


@compiled
def _draw_rows(
    words: U64, sources: I32, d: int, starts: I64, columns: I32, thresholds: U64, drawn: I32
) -> None:
    for k in range(len(words)):
        row, index = sources[k] // d, sources[k] % d
        column = columns[find(words[k], thresholds, starts[row], starts[row + 1])]
        w = next_word(words[k])
        if d == 1:
            drawn[k] = column
        elif column == row:
            drawn[k] = column * d + other_than(index, w, d)
        else:
            drawn[k] = column * d + below(w, d)
