"""The draws of ``coins`` for compiled code: the same words, one at a time."""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ONE, _27, _30, _31 = np.uint64(1), np.uint64(27), np.uint64(30), np.uint64(31)
_32 = np.uint64(32)


@compiled(inline=True)
def premix(w: np.uint64) -> np.uint64:
    """Apply the splitmix64 finalizer up to its last shift, which keeps the upper 31 bits."""
    w = (w ^ (w >> _30)) * _FIRST
    return (w ^ (w >> _27)) * _SECOND


@compiled(inline=True)
def mix(w: np.uint64) -> np.uint64:
    """Apply the splitmix64 finalizer."""
    w = premix(w)
    return w ^ (w >> _31)


@compiled(inline=True)
def word(key: np.uint64, number: np.uint64) -> np.uint64:
    """Return the word of one processor (or position) under a key."""
    return mix(key + (number + _ONE) * _GOLDEN)


@compiled(inline=True)
def scaled(drawn: np.uint64, bound: np.uint64) -> np.uint64:
    """Return a number in [0, bound), as ``Coins.draws`` makes it of the upper half of a word."""
    return ((drawn >> _32) * bound) >> _32


@compiled(inline=True)
def origin(key: np.uint64, first: np.uint64) -> np.uint64:
    """Return the origin of the words of numbers counted from ``first``.

    ``word(key, first + k)`` is ``mix(word_from(origin(key, first), k))``. With few bits in k the
    product takes two short multiplications instead of three where vectors have no long ones.
    """
    return key + (first + _ONE) * _GOLDEN


@compiled(inline=True)
def word_from(begin: np.uint64, k: np.uint64) -> np.uint64:
    """Return what to mix for the k-th number from an origin."""
    return begin + k * _GOLDEN


@compiled(inline=True)
def step_key(seed: np.uint64, purpose: np.uint64, step: int | np.uint64) -> np.uint64:
    """Return ``Coins(seed).key(purpose, step)``, the purpose given by its number."""
    key = mix((mix(seed) ^ purpose) + _GOLDEN)
    return mix((key ^ np.uint64(step)) + _GOLDEN)


@compiled(inline=True)
def run_key(seed: np.uint64, purpose: np.uint64, run: int | np.uint64) -> np.uint64:
    """Return ``Coins(seed).for_run(run).seed``."""
    return step_key(seed, purpose, run)
