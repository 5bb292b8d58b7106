"""Does a network sort? By the 0-1 principle it is enough to try zeros and ones.

A network that sorts all 2^n inputs of zeros and ones sorts everything (Knuth, *The Art of Computer
Programming* 3, 5.3.4, Theorem Z). Up to 20 wires all of them are tried, and the verdict is a proof.
Above, some are tried: then a failure is certain, and success is not.

Inputs are packed, 64 in a word: a comparator is then an AND and an OR. An array of words has a row
for each wire; bit b of word k belongs to input 64·k + b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.compiled import compiled
from popsnet.errors import InputError
from popsnet.slot import Ints
from popsnet.sorting.comparators import ComparatorNetwork

LANES = 64
"""Inputs in a word."""

EXHAUSTIVE = 20
"""The most wires for which all inputs are tried: 2^20 of them, 16,384 words a wire."""

SAMPLE, CHANGE = "zero-one sample", "zero-one adversary"
"""The purposes of the coins that draw samples, and changes of the adversary."""

_MOST_FLIPS = 16
_POPULATION = 4 * LANES
"""Inputs of a round of the adversary."""
_PARENTS = _POPULATION // 4

Words = npt.NDArray[np.uint64]
Bits = npt.NDArray[np.bool_]

_ALTERNATING = np.array(
    [0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
     0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000],
    dtype=np.uint64,
)  # fmt: skip
"""Word w has bit b set where b has bit w set."""


@dataclass(frozen=True)
class SortingVerdict:
    """The result of a zero-one check."""

    sorts: bool
    """No input that was tried came out unsorted."""
    exhaustive: bool
    """All inputs were tried: the verdict is a proof."""
    inputs: int
    """How many were tried, until one failed."""
    counterexample: tuple[int, ...] | None = None
    """An input of zeros and ones that comes out unsorted."""


def check_network(
    network: ComparatorNetwork, samples: int = 1024, rounds: int = 8, seed: int = 0,
    watch: Callable[[int], None] = lambda passes: None,
) -> SortingVerdict:  # fmt: skip
    """Try all inputs for n ≤ 20; above, samples, then an adversary for ``rounds`` rounds.

    Takes size · 2^n / 64 operations, or size · (samples + 256 · rounds) / 64. The network is made
    anew for every pass, 1 + rounds of them; ``watch`` is told after each.
    """
    if samples < 1 or rounds < 0:
        raise InputError(f"samples = {samples}, rounds = {rounds}: give at least 1 and 0.")
    if network.wires <= EXHAUSTIVE:
        return _try_all(network)
    coins, tried = Coins(seed), -(-samples // LANES) * LANES
    unsorted, _ = send_through(network, sample_words(network.wires, tried, coins))
    if unsorted.any():
        return _fails(sample(network.wires, int(np.argmax(unsorted)), coins), tried)
    watch(1)
    for passes, failed in enumerate(attack(network, rounds, coins.for_run(1)), start=2):
        tried += _POPULATION
        if failed is not None:
            return _fails(failed, tried)
        watch(passes)
    return SortingVerdict(True, False, tried)


def _fails(ones: Bits, tried: int) -> SortingVerdict:
    return SortingVerdict(False, False, tried, tuple(ones.astype(int).tolist()))


def _try_all(network: ComparatorNetwork) -> SortingVerdict:
    unsorted, _ = send_through(network, every_input(network.wires))
    number, failed = int(np.argmax(unsorted)), None
    if unsorted.any():
        failed = tuple(number >> wire & 1 for wire in range(network.wires))
    return SortingVerdict(failed is None, True, 2**network.wires, failed)


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


def sample_words(wires: int, inputs: int, coins: Coins) -> Words:
    """So many inputs, a multiple of 64, all kinds in equal parts."""
    columns = [
        pack(np.stack([sample(wires, start + lane, coins) for lane in range(LANES)]))
        for start in range(0, inputs, LANES)
    ]
    return np.concatenate(columns, axis=1)


def sample(wires: int, number: int, coins: Coins) -> Bits:
    """Input ``number``: random, nearly sorted, arranged by a stride or of sorted runs, in turn."""
    return (_random, _nearly_sorted, _arranged, _runs)[number % 4](wires, number, coins)


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


def attack(network: ComparatorNetwork, rounds: int, coins: Coins) -> Iterator[Bits | None]:
    """Round by round: an input that is not sorted, or None.

    It climbs: the quarter of the inputs that were in order last stay for the next round, each with
    three copies in which a few wires are changed. An input that fails is in order never.
    """
    inputs = np.stack([sample(network.wires, number, coins) for number in range(_POPULATION)])
    for number in range(rounds):
        unsorted, last = send_through(network, pack(inputs))
        if unsorted.any():
            yield inputs[np.argmax(unsorted)]
            return
        yield None
        order = np.argsort(-last, kind="stable")
        for child, place in enumerate(order[_PARENTS:].tolist()):
            parent = inputs[order[child % _PARENTS]]
            inputs[place] = flip(parent, CHANGE, number * _POPULATION + child, coins)
