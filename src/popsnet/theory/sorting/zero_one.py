"""Check whether a network sorts, by inputs of zeros and ones.

A network that sorts all 2^n inputs of zeros and ones sorts everything (Knuth, *The Art of Computer
Programming* 3, 5.3.4, Theorem Z). Up to 20 wires all of them are tried, and the verdict is a proof.
With more wires a sample is tried: then a failure is certain, but success is not.

Inputs are packed, 64 in a word: a comparator is then an AND and an OR. An array of words has a row
for each wire; bit b of word k belongs to input 64·k + b.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from popsnet.base.compiled import compiled
from popsnet.base.errors import InputError
from popsnet.model.coins import Coins
from popsnet.model.loops import Bools
from popsnet.model.slot import Ints
from popsnet.theory.sorting.comparators import ComparatorNetwork

LANES = 64
"""The inputs in a word."""

EXHAUSTIVE = 20
"""All inputs are tried up to this many wires: 2^20 inputs, 16,384 words per wire."""

SAMPLE, CHANGE = "zero-one sample", "zero-one adversary"
"""The purposes of the coins that draw samples and the adversary's changes."""

_MOST_FLIPS = 16
_POPULATION = 4 * LANES
"""The inputs of a round of the adversary."""
_PARENTS = _POPULATION // 4

U64 = npt.NDArray[np.uint64]

_ALTERNATING = np.array(
    [0xAAAAAAAAAAAAAAAA, 0xCCCCCCCCCCCCCCCC, 0xF0F0F0F0F0F0F0F0,
     0xFF00FF00FF00FF00, 0xFFFF0000FFFF0000, 0xFFFFFFFF00000000],
    dtype=np.uint64,
)  # fmt: skip
"""Word w has bit b set where b has bit w set."""


@dataclass(frozen=True)
class SortingVerdict:
    """The outcome of a zero-one check.

    Examples
    --------
    >>> from popsnet.theory.sorting import ComparatorNetwork, check_network
    >>> nothing = ComparatorNetwork("no comparators", 2, lambda: [])
    >>> check_network(nothing).counterexample
    (1, 0)
    """

    sorts: bool
    """Whether every input that was tried came out sorted."""
    exhaustive: bool
    """Whether all inputs were tried, so that the verdict is a proof."""
    inputs: int
    """The number of inputs that were tried, until one failed."""
    counterexample: tuple[int, ...] | None = None
    """An input of zeros and ones that comes out unsorted; None if none was found."""


def check_network(
    network: ComparatorNetwork, samples: int = 1024, rounds: int = 8, seed: int = 0,
    watch: Callable[[int], None] = lambda passes: None,
) -> SortingVerdict:  # fmt: skip
    """Check whether a network sorts: all inputs for n ≤ 20, a sample and an adversary above.

    Parameters
    ----------
    network : ComparatorNetwork
        The network.
    samples : int
        The number of sampled inputs, at least 1, rounded up to a multiple of 64.
    rounds : int
        The number of rounds of the adversary, of 256 inputs each.
    seed : int
        The random seed of sample and adversary.
    watch : function
        A function that is called with the number of passes done, after each.

    Returns
    -------
    SortingVerdict
        Whether all inputs came out sorted, and a counterexample if not.

    Notes
    -----
    It takes size · 2^n / 64 operations, or size · (samples + 256 · rounds) / 64. The network is
    built anew for each of the 1 + rounds passes.

    Examples
    --------
    >>> from popsnet.theory.sorting import check_network, merge_exchange
    >>> verdict = check_network(merge_exchange(10))
    >>> verdict.sorts, verdict.exhaustive, verdict.inputs
    (True, True, 1024)
    """
    if samples < 1 or rounds < 0:
        raise InputError(
            f"samples = {samples}, rounds = {rounds}: give at least 1 sample and 0 rounds."
        )
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


def _fails(ones: Bools, tried: int) -> SortingVerdict:
    return SortingVerdict(False, False, tried, tuple(ones.astype(int).tolist()))


def _try_all(network: ComparatorNetwork) -> SortingVerdict:
    unsorted, _ = send_through(network, every_input(network.wires))
    number, failed = int(np.argmax(unsorted)), None
    if unsorted.any():
        failed = tuple(number >> wire & 1 for wire in range(network.wires))
    return SortingVerdict(failed is None, True, 2**network.wires, failed)


def every_input(wires: int) -> U64:
    """Return all 2^n inputs in order; wire w has bit w of the input's number.

    For 5 wires or fewer the inputs are repeated to fill a word.
    """
    numbers = np.arange(max(1, 2**wires // LANES), dtype=np.uint64)
    words = np.empty((wires, len(numbers)), dtype=np.uint64)
    words[:6] = _ALTERNATING[:wires, None]
    for wire in range(6, wires):
        words[wire] = -(numbers >> np.uint64(wire - 6) & np.uint64(1))
    return words


def pack(inputs: Bools) -> U64:
    """Pack inputs, a row for each and a multiple of 64 of them, into words."""
    packed = np.packbits(inputs, axis=0, bitorder="little")
    return np.ascontiguousarray(packed.T).view("<u8").astype(np.uint64, copy=False)


def unpack(words: U64) -> Bools:
    """Return the bits of a row of words."""
    return np.unpackbits(words.astype("<u8").view(np.uint8), bitorder="little").view(np.bool_)


def send_through(network: ComparatorNetwork, words: U64) -> tuple[Bools, Ints]:
    """Send inputs through a network, in place.

    Return for every input whether it comes out unsorted, and the last stage, counted from 1, that
    exchanged two of its keys.
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
def _exchange(words: U64, low: Ints, high: Ints, busy: U64) -> None:
    for c in range(len(low)):
        above, below = words[low[c]], words[high[c]]
        for k in range(len(busy)):
            a, b = above[k], below[k]
            above[k], below[k] = a & b, a | b
            busy[k] |= a & ~b


@compiled
def _mark_unsorted(words: U64, unsorted: U64) -> None:
    for wire in range(len(words) - 1):
        for k in range(len(unsorted)):
            unsorted[k] |= words[wire, k] & ~words[wire + 1, k]


def sample_words(wires: int, inputs: int, coins: Coins) -> U64:
    """Draw this many inputs, a multiple of 64, with all kinds in equal parts."""
    columns = [
        pack(np.stack([sample(wires, start + lane, coins) for lane in range(LANES)]))
        for start in range(0, inputs, LANES)
    ]
    return np.concatenate(columns, axis=1)


def sample(wires: int, number: int, coins: Coins) -> Bools:
    """Draw input ``number``: random, nearly sorted, arranged by a stride, or runs, in turn."""
    return (_random, _nearly_sorted, _arranged, _runs)[number % 4](wires, number, coins)


def _random(wires: int, number: int, coins: Coins) -> Bools:
    """Draw each wire independently, with a random density of ones."""
    density = coins.draw(2**31, SAMPLE, number, wires)
    return coins.draws(2**31, SAMPLE, number, np.arange(wires, dtype=np.int32)) < density


def _nearly_sorted(wires: int, number: int, coins: Coins) -> Bools:
    """Draw zeros followed by ones, with a few wires changed."""
    ones = np.arange(wires) >= coins.draw(wires + 1, SAMPLE, number, 0)
    return flip(ones, SAMPLE, number, coins)


def _arranged(wires: int, number: int, coins: Coins) -> Bools:
    """Draw a sorted input, reversed, rotated or shuffled by a stride near a power of two."""
    power = 1 << coins.draw(wires.bit_length(), SAMPLE, number, 0)
    stride = power + coins.draw(3, SAMPLE, number, 1) - 1
    sign = 2 * coins.draw(2, SAMPLE, number, 2) - 1
    shift, threshold = (coins.draw(wires, SAMPLE, number, which) for which in (3, 4))
    places = (np.arange(wires) * (sign * stride) + shift) % wires
    return np.greater(places, threshold)


def _runs(wires: int, number: int, coins: Coins) -> Bools:
    """Draw a power of two of sorted runs, concatenated or interleaved, to test merges."""
    runs = 2 << coins.draw(max(1, wires.bit_length() - 2), SAMPLE, number, 0)
    length = -(-wires // runs)
    thresholds = coins.draws(length + 1, SAMPLE, number, np.arange(1, runs + 1))
    ones = np.arange(length) >= thresholds[:, None]
    interleaved = coins.draw(2, SAMPLE, number, runs + 1)
    return (ones.T if interleaved else ones).ravel()[:wires]


def flip(ones: Bools, purpose: str, number: int, coins: Coins) -> Bools:
    """Return the input with one to sixteen wires changed."""
    draws = coins.draws(len(ones), purpose, number, np.arange(1, _MOST_FLIPS + 1))
    changed = ones.copy()
    changed[draws[: 1 + coins.draw(_MOST_FLIPS, purpose, number, _MOST_FLIPS + 1)]] ^= True
    return changed


def attack(network: ComparatorNetwork, rounds: int, coins: Coins) -> Iterator[Bools | None]:
    """Yield for each round an input that is not sorted, or None.

    This is a hill climb: the quarter of the inputs that were sorted latest stay for the next round,
    each with three copies in which a few wires are changed.
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
