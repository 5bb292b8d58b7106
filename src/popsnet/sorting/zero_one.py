"""Does a network sort? By the 0-1 principle it is enough to try zeros and ones.

A network that sorts all 2^n inputs of zeros and ones sorts everything (Knuth, *The Art of Computer
Programming* 3, 5.3.4, Theorem Z). Up to 20 wires all of them are tried, and the verdict is a proof.
Above, some are tried: then a failure is certain, and success is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.sorting.adversary import POPULATION, attack
from popsnet.sorting.comparators import ComparatorNetwork
from popsnet.sorting.samples import sample, sample_words
from popsnet.sorting.words import LANES, Bits, every_input, send_through

EXHAUSTIVE = 20
"""The most wires for which all inputs are tried: 2^20 of them, 16,384 words a wire."""


@dataclass(frozen=True)
class SortingVerdict:
    """What was tried, and what came of it."""

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
    """Try all inputs for n ≤ 20; above, samples, then an adversary for so many rounds.

    Takes size · 2^n / 64 operations, or size · (samples + 256 · rounds) / 64. The network is made
    anew for every pass, 1 + rounds of them; ``watch`` is told after each.
    """
    if samples < 1 or rounds < 0:
        raise InputError(f"samples = {samples}, rounds = {rounds}: give at least 1 and 0.")
    if network.wires <= EXHAUSTIVE:
        return _try_all(network)
    coins = Coins(seed)
    samples = -(-samples // LANES) * LANES
    unsorted, _ = send_through(network, sample_words(network.wires, samples, coins))
    if unsorted.any():
        found = sample(network.wires, int(np.argmax(unsorted)), coins)
        return SortingVerdict(False, False, samples, _as_numbers(found))
    watch(1)
    adversary = attack(network, rounds, coins.for_run(1))
    tried = samples
    for passes, failed in enumerate(adversary, start=2):
        tried += POPULATION
        if failed is not None:
            return SortingVerdict(False, False, tried, _as_numbers(failed))
        watch(passes)
    return SortingVerdict(True, False, tried)


def _try_all(network: ComparatorNetwork) -> SortingVerdict:
    unsorted, _ = send_through(network, every_input(network.wires))
    if not unsorted.any():
        return SortingVerdict(True, True, 2**network.wires)
    number = int(np.argmax(unsorted))
    failed = tuple(number >> wire & 1 for wire in range(network.wires))
    return SortingVerdict(False, True, 2**network.wires, failed)


def _as_numbers(ones: Bits) -> tuple[int, ...]:
    return tuple(ones.astype(int).tolist())
