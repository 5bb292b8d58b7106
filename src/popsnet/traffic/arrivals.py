"""When packets arrive: blocks of arrivals, drawn from coins by slot and source.

The arrivals of a slot do not depend on how slots are divided into blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite, sqrt
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins, number_of
from popsnet.compiled import compiled
from popsnet.errors import InputError
from popsnet.network import Network, require_network
from popsnet.splitmix import step_key, word
from popsnet.traffic.patterns import Pattern, resolve_pattern

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U8 = npt.NDArray[np.uint8]
U64 = npt.NDArray[np.uint64]

ARRIVAL = "arrival"
DESTINATION = "destination"
_LOW = np.uint64(0xFFFFFFFF)


class Block(NamedTuple):
    """The arrivals of consecutive slots, in order of slot and then of source.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic.arrivals import make_arrivals
    >>> block = make_arrivals(Network(2, 2), load=0.5).block(0, 3)
    >>> block.sources[block.starts[1] : block.starts[2]]  # those of slot 1
    array([0, 2, 3], dtype=int32)
    """

    begin: int
    """The first slot."""
    starts: I64
    """The arrivals of slot ``begin + k`` are ``starts[k]`` to ``starts[k + 1] - 1``."""
    sources: I32
    """The processor at which each packet arrives."""
    destinations: I32
    """The processor to which each packet goes."""

    @property
    def slots(self) -> int:
        """The number of slots."""
        return len(self.starts) - 1


class Arrivals(Protocol):
    """A source of arrivals, asked for consecutive slots from slot 0."""

    @property
    def network(self) -> Network:
        """The network at which packets arrive."""

    @property
    def name(self) -> str:
        """What arrives, as a text that is the same for the same process and pattern."""

    @property
    def load(self) -> float:
        """The mean number of packets per processor and slot."""

    def block(self, begin: int, slots: int) -> Block:
        """Return the arrivals of the slots ``begin`` to ``begin + slots - 1``."""


def make_arrivals(
    network: Network, *, pattern: str = "uniform", load: float, seed: int = 0
) -> Arrivals:
    """Return the arrivals of a pattern at a load.

    Parameters
    ----------
    network : Network
        The network at which packets arrive.
    pattern : str
        Where packets go.
    load : float
        The mean number of packets per processor and slot, more than 0 and at most 1.
    seed : int
        The seed of all draws.

    Returns
    -------
    Arrivals
        The arrivals.

    Raises
    ------
    InputError
        If a value cannot be used.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.traffic.arrivals import make_arrivals
    >>> block = make_arrivals(Network(4, 4), load=0.25).block(0, 1000)
    >>> len(block.sources) / (16 * 1000)
    0.2498125
    """
    require_network(network)
    require_load(load)
    resolved = resolve_pattern(pattern, network, seed)
    return Bernoulli(network, resolved, float(load), Coins(seed))


def require_load(load: float) -> None:
    """Refuse a load that is not a number above 0 and up to 1."""
    if isinstance(load, bool) or not isinstance(load, int | float | np.number):
        raise InputError(f"load = {load!r:.60}: a load must be a number above 0 and at most 1.")
    if not isfinite(load) or not 0 < load <= 1:
        raise InputError(
            f"load = {load}: a load must be above 0 and at most 1 packet per processor and slot."
        )


@dataclass(frozen=True, eq=False)
class Bernoulli:
    """Every processor draws in every slot whether a packet arrives, independently of the past."""

    network: Network
    pattern: Pattern
    load: float
    coins: Coins

    @property
    def name(self) -> str:
        """The process and the pattern."""
        return f"bernoulli {self.pattern.name}"

    @cached_property
    def _active(self) -> tuple[I32, U64]:
        """The processors that send at all, with the threshold of each."""
        thresholds = np.rint(self.pattern.sources() * (self.load * 2.0**32)).astype(np.uint64)
        active = np.flatnonzero(thresholds)
        return active.astype(np.int32), thresholds[active]

    def block(self, begin: int, slots: int) -> Block:
        """Return the arrivals of some slots, which may be any."""
        active, thresholds = self._active
        starts, hits = np.zeros(slots + 1, np.int64), np.empty(len(active), np.uint8)
        mean = self.load * self.network.n * slots
        sources = np.empty(int(mean + 6 * sqrt(mean)) + len(active), np.int32)
        seed, purpose, done = np.uint64(self.coins.seed), np.uint64(number_of(ARRIVAL)), 0
        while True:
            done = _arrive(seed, purpose, begin, done, active, thresholds, hits, starts, sources)
            if done == slots:
                break
            sources = np.concatenate((sources, np.empty_like(sources)))
        sources = sources[: starts[-1]]
        words = np.empty(len(sources), np.uint64)
        _write_words(seed, np.uint64(number_of(DESTINATION)), begin, starts, sources, words)
        return Block(begin, starts, sources, self.pattern.targets().draw(words, sources))


@compiled
def _arrive(
    seed: np.uint64,
    purpose: np.uint64,
    begin: int,
    done: int,
    active: I32,
    thresholds: U64,
    hits: U8,
    starts: I64,
    sources: I32,
) -> int:
    """Draw the sources of slots from ``done`` on while there is room, and return the next slot."""
    slots, count, most = len(starts) - 1, starts[done], len(sources) - len(active)
    for k in range(done, slots):
        if count > most:
            return k
        key = step_key(seed, purpose, begin + k)
        for i in range(len(active)):
            hits[i] = (word(key, np.uint64(active[i])) & _LOW) < thresholds[i]
        for i in range(len(active)):  # without a branch: a packet that does not arrive is replaced
            sources[count] = active[i]
            count += np.int64(hits[i])
        starts[k + 1] = count
    return slots


@compiled
def _write_words(
    seed: np.uint64, purpose: np.uint64, begin: int, starts: I64, sources: I32, words: U64
) -> None:
    """Draw a word for every arrival from its slot and its source."""
    for k in range(len(starts) - 1):
        key = step_key(seed, purpose, begin + k)
        for m in range(starts[k], starts[k + 1]):
            words[m] = word(key, np.uint64(sources[m]))
