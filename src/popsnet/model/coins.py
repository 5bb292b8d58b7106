"""Coins: every random draw is a pure function of (seed, purpose, step, processor).

There is no generator with a state anywhere in routing, so a draw does not depend on earlier
draws, on the order of processors, on threads or on the engine. A draw is the finalizer of
splitmix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014) applied
to a key for (seed, purpose, step) plus the processor's number times the golden ratio: the same
words that splitmix64 gives, addressed by position.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.base.compiled import compiled
from popsnet.base.errors import abbreviated, wrong
from popsnet.base.splitmix import word

_MASK = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB


def _mix(word: int) -> int:
    """Apply the splitmix64 finalizer, a bijection of the 64-bit integers, to one word."""
    word = ((word ^ (word >> 30)) * _FIRST) & _MASK
    word = ((word ^ (word >> 27)) * _SECOND) & _MASK
    return word ^ (word >> 31)


def _absorb(key: int, word: int) -> int:
    return _mix((key ^ word) + _GOLDEN & _MASK)


@lru_cache
def number_of(purpose: str) -> int:
    """Return the 64-bit number that stands for a purpose in keys."""
    return int.from_bytes(blake2b(purpose.encode(), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class Coins:
    """The random draws of all processors in one run, fixed by a seed.

    A draw is a function of the seed, a purpose, a step and a processor. There is no state: the
    same question always gets the same answer, in any order and on any number of threads.

    Parameters
    ----------
    seed : int
        The seed, from 0 to 2^64 - 1.

    Raises
    ------
    InputError
        If the seed is out of range.

    Notes
    -----
    The numbers are those of splitmix64 (Steele, Lea, Flood, 2014), addressed by position.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Coins
    >>> coins = Coins(1)
    >>> coins.draws(10, "intermediate group", 0, np.arange(5))
    array([6, 0, 7, 6, 3], dtype=int32)
    >>> coins.draw(10, "intermediate group", 0, 3)
    6
    """

    seed: int

    def __post_init__(self) -> None:
        if not isinstance(self.seed, int | np.integer) or not 0 <= self.seed <= _MASK:
            raise wrong("seed", abbreviated(self.seed))(
                "a seed must be an integer from 0 to 2^64 - 1."
            )

    def for_run(self, run: int) -> Coins:
        """Return the coins of one run of many, independent of those of every other run.

        Parameters
        ----------
        run : int
            The number of the run.

        Returns
        -------
        Coins
            The coins of that run.
        """
        return Coins(self.key("run", run))

    def key(self, purpose: str, step: int) -> int:
        """Return the 64-bit key from which all draws for a purpose and a step are computed.

        Parameters
        ----------
        purpose : str
            What the draws are for. Draws for different purposes are independent.
        step : int
            The step of the router.

        Returns
        -------
        int
            The key, from 0 to 2^64 - 1.
        """
        return _absorb(_absorb(_mix(self.seed), number_of(purpose)), step)

    def configured(self, purpose: str) -> int:
        """Return a 64-bit word that every processor knows without a message.

        It is part of the configuration of the network, as d and g are, and the same for a whole
        run.

        Parameters
        ----------
        purpose : str
            What the word is for.

        Returns
        -------
        int
            The word, from 0 to 2^64 - 1.
        """
        return self.word(purpose, 0, 0)

    def words(
        self, purpose: str, step: int, processors: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.uint64]:
        """Draw one 64-bit word for each processor.

        Parameters
        ----------
        purpose : str
            What the draws are for.
        step : int
            The step of the router.
        processors : array of int
            The processors that draw.

        Returns
        -------
        array of uint64
            A word per processor. Different processors get different words.
        """
        if processors.dtype != np.int32:
            processors = processors.astype(np.int64, copy=False)
        words = np.empty(processors.shape, dtype=np.uint64)
        _write_words(np.uint64(self.key(purpose, step)), processors.ravel(), words.reshape(-1))
        return words

    def draws(
        self, bound: int, purpose: str, step: int, processors: npt.NDArray[np.integer[Any]]
    ) -> npt.NDArray[np.int32]:
        """Draw a uniform integer in [0, bound) for each processor.

        Parameters
        ----------
        bound : int
            The number of values, at most 2^31.
        purpose : str
            What the draws are for.
        step : int
            The step of the router.
        processors : array of int
            The processors that draw.

        Returns
        -------
        array of int32
            A number per processor.

        Notes
        -----
        The upper 32 bits of the word are scaled by bound: no value is more likely than another
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
        """Draw True with probability threshold / 2^32 for each processor.

        Parameters
        ----------
        threshold : int
            From 0 (never) to 2^32 (always).
        purpose : str
            What the draws are for.
        step : int
            The step of the router.
        processors : array of int
            The processors that draw.

        Returns
        -------
        array of bool
            A value per processor.

        Notes
        -----
        The lower 32 bits of the word decide, so this is independent of :meth:`draws` for the same
        purpose and step.
        """
        words = self.words(purpose, step, processors)
        return (words & np.uint64(0xFFFFFFFF)) < np.uint64(threshold)

    def draw(self, bound: int, purpose: str, step: int, processor: int) -> int:
        """Return what :meth:`draws` gives one processor, as a Python integer."""
        return (self.word(purpose, step, processor) >> 32) * bound >> 32

    def word(self, purpose: str, step: int, processor: int) -> int:
        """Return what :meth:`words` gives one processor, as a Python integer."""
        return _mix(self.key(purpose, step) + (processor + 1) * _GOLDEN & _MASK)


@compiled
def _write_words(
    key: np.uint64, processors: npt.NDArray[np.integer[Any]], words: npt.NDArray[np.uint64]
) -> None:
    for k in range(len(processors)):
        words[k] = word(key, np.uint64(processors[k]))
