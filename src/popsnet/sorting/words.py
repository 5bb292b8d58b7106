"""Inputs of zeros and ones, 64 in a word: a comparator is then an AND and an OR.

An array of words has a row for each wire; bit b of word k belongs to input 64·k + b.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.slot import Ints
from popsnet.sorting.comparators import ComparatorNetwork

LANES = 64
Words = npt.NDArray[np.uint64]
Bits = npt.NDArray[np.bool_]

_ALTERNATING = np.array(
    [0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
     0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000],
    dtype=np.uint64,
)  # fmt: skip
"""Word w has bit b set where b has bit w set."""


def every_input(wires: int) -> Words:
    """All 2^n inputs, in order: wire w has bit w of the input's number. Up to 5 wires, repeated."""
    numbers = np.arange(max(1, 2**wires // LANES), dtype=np.uint64)
    words = np.empty((wires, len(numbers)), dtype=np.uint64)
    words[:6] = _ALTERNATING[:wires, None]
    for wire in range(6, wires):
        words[wire] = -(numbers >> np.uint64(wire - 6) & np.uint64(1))
    return words


def pack(inputs: Bits) -> Words:
    """Inputs as words; a row an input, a multiple of 64 of them."""
    packed = np.packbits(inputs, axis=0, bitorder="little")
    return np.ascontiguousarray(packed.T).view("<u8").astype(np.uint64, copy=False)


def unpack(words: Words) -> Bits:
    """The bits of a row of words."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little").view(np.bool_)


def send_through(network: ComparatorNetwork, words: Words) -> tuple[Bits, Ints]:
    """Send inputs through a network, in place.

    For every input: whether it fails to come out sorted, and the last stage that exchanged
    anything in it, counted from 1.
    """
    last = np.zeros(LANES * words.shape[1], dtype=np.int32)
    busy = np.zeros(words.shape[1], dtype=np.uint64)
    for number, stage in enumerate(network, start=1):
        busy[:] = 0
        _exchange(words, stage.low, stage.high, busy)
        last[unpack(busy)] = number
    busy[:] = 0
    _mark_unsorted(words, busy)
    return unpack(busy), last


@compiled
def _exchange(words: Words, low: Ints, high: Ints, busy: Words) -> None:
    for c in range(len(low)):
        above, below = words[low[c]], words[high[c]]
        for k in range(len(busy)):
            a, b = above[k], below[k]
            above[k], below[k] = a & b, a | b
            busy[k] |= a & ~b


@compiled
def _mark_unsorted(words: Words, unsorted: Words) -> None:
    for wire in range(len(words) - 1):
        for k in range(len(unsorted)):
            unsorted[k] |= words[wire, k] & ~words[wire + 1, k]
