"""Coins: every random draw is a pure function of (seed, purpose, step, processor).

There is no generator with a state anywhere in routing, so a draw does not depend on who drew
before, on the order of processors, on threads or on the engine. A draw is the finalizer of
splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014) applied
to a key for (seed, purpose, step) plus the processor's number times the golden ratio: the same
words splitmix64 gives, addressed by position.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.errors import InputError
from popsnet.splitmix import word

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB


def _mix(word: int) -> int:
    """The splitmix64 finalizer on one word: a bijection of the 64-bit integers."""
    word = ((word ^ (word >> 30)) * _FIRST) & _MASK
    word = ((word ^ (word >> 27)) * _SECOND) & _MASK
    return word ^ (word >> 31)


def _absorb(key: int, word: int) -> int:
    return _mix((key ^ word) + _GOLDEN & _MASK)


@lru_cache
def number_of(purpose: str) -> int:
    """The 64-bit number that stands for a purpose in keys."""
    return int.from_bytes(blake2b(purpose.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class Coins:
    """The coins of all processors, fixed by one seed in [0, 2^64)."""

    seed: int

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= _MASK:
            raise InputError(f"seed = {self.seed}: a seed is a whole number from 0 to 2^64 - 1.")

    def for_run(self, run: int) -> Coins:
        """The coins of one run of many: independent of those of every other run."""
        return Coins(self.key("run", run))

    def key(self, purpose: str, step: int) -> int:
        """The 64-bit key that all draws for this purpose and step start from."""
        return _absorb(_absorb(_mix(self.seed), number_of(purpose)), step)

    def words(
        self, purpose: str, step: int, processors: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.uint64]:
        """One 64-bit word for each processor; different processors get different words."""
        if processors.dtype != np.int32:
            processors = processors.astype(np.int64, copy=False)
        words = np.empty(processors.shape, dtype=np.uint64)
        _write_words(np.uint64(self.key(purpose, step)), processors.ravel(), words.reshape(-1))
        return words

    def draws(
        self, bound: int, purpose: str, step: int, processors: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int32]:
        """A uniform number in [0, bound) for each processor, bound at most 2^31.

        The upper 32 bits of the word are scaled by bound: no value is likelier than another
        by more than one part in 2^32 / bound.
        """
        words = self.words(purpose, step, processors)
        words >>= np.uint64(32)
        words *= np.uint64(bound)
        words >>= np.uint64(32)
        return words.astype(np.int32)

    def chances(
        self, threshold: int, purpose: str, step: int, processors: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.bool_]:
        """Whether each processor's coin says yes: with probability threshold / 2^32.

        It is made of the lower 32 bits of the word, independent of :meth:`draws` of the same
        purpose and step.
        """
        words = self.words(purpose, step, processors)
        return (words & np.uint64(0xFFFFFFFF)) < np.uint64(threshold)

    def draw(self, bound: int, purpose: str, step: int, processor: int) -> int:
        """What :meth:`draws` gives one processor, in plain integers."""
        return (self.word(purpose, step, processor) >> 32) * bound >> 32

    def word(self, purpose: str, step: int, processor: int) -> int:
        """What :meth:`words` gives one processor, in plain integers."""
        return _mix(self.key(purpose, step) + (processor + 1) * _GOLDEN & _MASK)


@compiled
def _write_words(
    key: np.uint64, processors: npt.NDArray[np.integer[Any]], words: npt.NDArray[np.uint64]
) -> None:
    for k in range(len(processors)):
        words[k] = word(key, np.uint64(processors[k]))
