"""Where packets go: destinations drawn from one 64-bit word per packet, or per burst of packets.

A draw is a pure function of the word and the source, made of integer operations, so all platforms
draw the same destinations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled

U64 = npt.NDArray[np.uint64]
I32 = npt.NDArray[np.int32]

_32 = np.uint64(32)


class Targets(Protocol):
    """Draws destinations."""

    def draw(self, words: U64, sources: I32) -> I32:
        """Return a destination for each word and source."""


@dataclass(frozen=True)
class Anyone:
    """All processors, equally likely."""

    n: int

    def draw(self, words: U64, sources: I32) -> I32:
        """Draw from all processors."""
        drawn = np.empty(len(words), np.int32)
        _draw_anyone(words, self.n, drawn)
        return drawn


@dataclass(frozen=True)
class Others:
    """All processors but the source, equally likely."""

    n: int

    def draw(self, words: U64, sources: I32) -> I32:
        """Draw from all processors but the source."""
        drawn = np.empty(len(words), np.int32)
        _draw_others(words, sources, self.n, drawn)
        return drawn


@dataclass(frozen=True)
class Fixed:
    """One destination for each source."""

    destinations: I32

    def draw(self, words: U64, sources: I32) -> I32:
        """Look the destinations up."""
        return self.destinations[sources]


@dataclass(frozen=True)
class NextGroup:
    """The processors of the next group, equally likely."""

    d: int
    g: int

    def draw(self, words: U64, sources: I32) -> I32:
        """Draw from the group after that of the source."""
        drawn = np.empty(len(words), np.int32)
        _draw_next_group(words, sources, self.d, self.g, drawn)
        return drawn


@compiled(inline=True)
def below(w: np.uint64, bound: int) -> int:
    """Return a number in [0, bound) from the upper half of a word, as ``Coins.draw`` does."""
    return np.int64((w >> _32) * np.uint64(bound) >> _32)  # type: ignore[return-value]


@compiled
def _draw_anyone(words: U64, n: int, drawn: I32) -> None:
    for k in range(len(words)):
        drawn[k] = below(words[k], n)


@compiled
def _draw_others(words: U64, sources: I32, n: int, drawn: I32) -> None:
    for k in range(len(words)):
        other = below(words[k], n - 1)
        drawn[k] = other + (other >= sources[k])


@compiled
def _draw_next_group(words: U64, sources: I32, d: int, g: int, drawn: I32) -> None:
    for k in range(len(words)):
        group = sources[k] // d + 1
        drawn[k] = (group if group < g else 0) * d + below(words[k], d)
