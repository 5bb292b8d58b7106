"""Inputs of zeros and ones to try where there are too many to try all."""

from __future__ import annotations

import numpy as np

from popsnet.coins import Coins
from popsnet.sorting.words import LANES, Bits, Words, pack

SAMPLE = "zero-one sample"
"""The purpose of the coins that samples are drawn by."""

_MOST_FLIPS = 16


def sample_words(wires: int, inputs: int, coins: Coins) -> Words:
    """So many inputs, a multiple of 64, all kinds in equal parts."""
    columns = [
        pack(np.stack([sample(wires, start + lane, coins) for lane in range(LANES)]))
        for start in range(0, inputs, LANES)
    ]
    return np.concatenate(columns, axis=1)


def sample(wires: int, number: int, coins: Coins) -> Bits:
    """Input ``number``: random, nearly sorted, arranged by a stride or of sorted runs, in turn."""
    kind = (_random, _nearly_sorted, _arranged, _runs)[number % 4]
    return kind(wires, number, coins)


def _random(wires: int, number: int, coins: Coins) -> Bits:
    """Ones of any density, each wire by itself."""
    density = coins.draw(2**31, SAMPLE, number, wires)
    return coins.draws(2**31, SAMPLE, number, np.arange(wires, dtype=np.int32)) < density


def _nearly_sorted(wires: int, number: int, coins: Coins) -> Bits:
    """Zeros, then ones, and a few wires changed."""
    ones = np.arange(wires) >= coins.draw(wires + 1, SAMPLE, number, 0)
    return flip(ones, SAMPLE, number, coins)


def _arranged(wires: int, number: int, coins: Coins) -> Bits:
    """Sorted, but reversed, rotated or shuffled by a stride near a power of two."""
    power = 1 << coins.draw(wires.bit_length(), SAMPLE, number, 0)
    stride = power + coins.draw(3, SAMPLE, number, 1) - 1
    sign = 2 * coins.draw(2, SAMPLE, number, 2) - 1
    shift, threshold = (coins.draw(wires, SAMPLE, number, which) for which in (3, 4))
    places = (np.arange(wires) * (sign * stride) + shift) % wires
    return np.greater(places, threshold)


def _runs(wires: int, number: int, coins: Coins) -> Bits:
    """Sorted runs, a power of two of them, one after the other or interleaved: work for merges."""
    runs = 2 << coins.draw(max(1, wires.bit_length() - 2), SAMPLE, number, 0)
    length = -(-wires // runs)
    thresholds = coins.draws(length + 1, SAMPLE, number, np.arange(1, runs + 1))
    ones = np.arange(length) >= thresholds[:, None]
    interleaved = coins.draw(2, SAMPLE, number, runs + 1)
    return (ones.T if interleaved else ones).ravel()[:wires]


def flip(ones: Bits, purpose: str, number: int, coins: Coins) -> Bits:
    """The same input with one to sixteen wires changed."""
    draws = coins.draws(len(ones), purpose, number, np.arange(1, _MOST_FLIPS + 1))
    changed = ones.copy()
    changed[draws[: 1 + coins.draw(_MOST_FLIPS, purpose, number, _MOST_FLIPS + 1)]] ^= True
    return changed
