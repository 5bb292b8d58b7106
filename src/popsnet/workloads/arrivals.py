"""When packets arrive: blocks of arrivals, drawn from coins by slot and source.

A draw is addressed by the seed, a purpose, a slot and a source, so the packets do not depend on how
slots are divided into blocks. The lower 40 bits of the word of a slot and a source decide whether a
packet arrives (or a burst begins), and the upper 24 bits whether a burst ends before.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite, sqrt
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from popsnet.base.compiled import compiled
from popsnet.base.errors import InputError, wrong
from popsnet.base.splitmix import step_key, word
from popsnet.model.coins import Coins, number_of
from popsnet.model.network import F64, I32, I64, U8, U64, Network, on_network, require_network
from popsnet.workloads.block import Block
from popsnet.workloads.largest_loads import Rates
from popsnet.workloads.matrices import resolve_matrix
from popsnet.workloads.packet_list import read_packet_list
from popsnet.workloads.patterns import Pattern, resolve_pattern
from popsnet.workloads.targets import Targets

__all__ = ["Arrivals", "Bernoulli", "Block", "OnOff", "make_arrivals", "require_load"]


ARRIVAL = "arrival"
DESTINATION = "destination"
FIRST = "on at the start"
"""The purposes of the coins."""

MOST_BURST = 2**16
_BITS = 40
_ENDS = 2.0 ** (64 - _BITS)
_LOW, _SHIFT = np.uint64(2**_BITS - 1), np.uint64(_BITS)
_OFF, _BEFORE = -2, -1
"""The beginning of the burst of a source that is off, and of one that was on before slot 0."""

_ROUNDING = 1e-9


class Arrivals(Protocol):
    """A source of arrivals, asked for consecutive slots from slot 0."""

    @property
    def network(self) -> Network:
        """The network at which packets arrive."""

    @property
    def name(self) -> str:
        """What arrives, as a text that is the same for the same process and pattern."""

    @property
    def file(self) -> str:
        """The file that was read, if any."""

    @property
    def load(self) -> float:
        """The mean number of packets per processor and slot."""

    def block(self, begin: int, slots: int) -> Block:
        """Return the arrivals of the slots ``begin`` to ``begin + slots - 1``."""

    def rates(self) -> Rates:
        """Return how the packets load processors and groups, scaled to a mean load of 1."""

    def flows(self) -> F64:
        """Return the rates from each processor to each, n × n, scaled to a mean load of 1."""


@on_network
def make_arrivals(
    network: Network,
    *,
    pattern: str | Path | npt.ArrayLike = "uniform",
    load: float | None = None,
    burst: float | None = None,
    matrix: str | Path | npt.ArrayLike | None = None,
    packets: str | Path | None = None,
    seed: int = 0,
) -> Arrivals:
    """Return the packets that arrive at a network. All values are checked at once.

    Parameters
    ----------
    network : Network, or int and int
        The network at which packets arrive, or its d and g.
    pattern : str, Path or array of int
        Where packets go: a text as for :func:`popsnet.workloads.patterns.resolve_pattern`.
    load : float
        The mean number of packets per processor and slot, above 0 and at most 1. Not given with
        ``packets``, which have a load of their own.
    burst : float, optional
        The mean number of packets in a burst. Without it, arrivals are independent.
    matrix : str, Path or array, optional
        The rates between processors or groups, in place of a pattern.
    packets : str or Path, optional
        A file that lists the packets, in place of a pattern and a load.
    seed : int
        The seed of all draws.

    Returns
    -------
    Arrivals
        The arrivals, to be asked for consecutive slots. Runs that go on at the same time need an
        object each if there are bursts, which are remembered from block to block.

    Raises
    ------
    InputError
        If a value cannot be used.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.workloads.arrivals import make_arrivals
    >>> block = make_arrivals(Network(4, 4), load=0.25).block(0, 1000)
    >>> len(block.sources) / (16 * 1000)
    0.2558125
    """
    require_network(network)
    if network.n >= 2**31:
        raise wrong("network", network)("traffic is limited to n < 2^31 processors.")
    coins = Coins(seed)
    if packets is not None:
        _require_alone(pattern, load, burst, matrix)
        return read_packet_list(packets, network)
    rate = require_load(load)
    mean = None if burst is None else _require_burst(burst)
    if matrix is None:
        resolved = resolve_pattern(pattern, network, seed)
    elif _is_default(pattern):
        resolved = resolve_matrix(matrix, network)
    else:
        raise wrong("pattern", f"{pattern!r:.60}")("give a pattern or a matrix, not both.")
    _require_sources(resolved, rate)
    if mean is None:
        return Bernoulli(network, resolved, rate, coins)
    return OnOff(network, resolved, rate, coins, mean)


def require_load(load: float | None) -> float:
    """Return a load as a number, and refuse one that is not above 0 and at most 1."""
    if load is None:
        raise InputError("load is missing; give the mean packets per processor and slot.")
    number = _number(load)
    if number is None or not 0 < number <= 1:
        raise wrong("load", f"{load!r:.60}")(
            "a load must be a number of packets per processor and slot above 0 and at most 1."
        )
    return number


def _require_burst(burst: float) -> float:
    number = _number(burst)
    if number is None or not 1 <= number <= MOST_BURST:
        raise wrong("burst", f"{burst!r:.60}")(
            f"the mean number of packets in a burst must be a number from 1 to {MOST_BURST:,}."
        )
    return number


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:  # an integer of more than 300 digits
        return None


def _is_default(pattern: object) -> bool:
    return isinstance(pattern, str) and pattern == "uniform"


def _require_alone(pattern: object, load: object, burst: object, matrix: object) -> None:
    """Refuse values that a list of packets leaves no room for."""
    others = {"pattern": None if _is_default(pattern) else pattern, "load": load}
    for name, value in (others | {"burst": burst, "matrix": matrix}).items():
        if value is not None:
            raise wrong(name, f"{value!r:.60}")(
                f"a list of packets says when and where packets go; leave out {name} or the list."
            )


def _require_sources(pattern: Pattern, load: float) -> None:
    """Refuse a load at which a source would have to send more than one packet per slot."""
    rates = pattern.sources()
    busiest = int(np.argmax(rates))
    if load * rates[busiest] > 1 + _ROUNDING:
        raise wrong("load", f"{load:g}")(
            f"in the pattern {pattern.name} processor {busiest} would get "
            f"{load * rates[busiest]:.6g} packets per slot, and at most one can arrive. The "
            f"largest load of this pattern is {1 / rates[busiest]:.6g}."
        )


@dataclass(frozen=True, eq=False)
class _RandomArrivals:
    """Arrivals whose destinations are drawn."""

    network: Network
    pattern: Pattern
    load: float
    coins: Coins

    @property
    def file(self) -> str:
        """The file that the pattern was read from, if any."""
        return self.pattern.file

    def rates(self) -> Rates:
        """Return the rates of the pattern."""
        return self.pattern.rates()

    def flows(self) -> F64:
        """Return the rates of the pattern between processors."""
        return self.pattern.flows()

    @cached_property
    def _targets(self) -> Targets:
        return self.pattern.targets()

    @cached_property
    def _sources(self) -> tuple[I32, F64]:
        """The processors that send at all, and the packets per slot of each."""
        rates = np.minimum(self.pattern.sources() * self.load, 1)
        active = np.flatnonzero(rates)
        return active.astype(np.int32), rates[active]

    def _seed(self, purpose: str) -> tuple[np.uint64, np.uint64]:
        return np.uint64(self.coins.seed), np.uint64(number_of(purpose))

    def _room(self, slots: int) -> I32:
        """Return room for as many packets as are likely to arrive, and for one slot more."""
        mean = self.load * self.network.n * slots
        return np.empty(int(mean + 6 * sqrt(mean)) + len(self._sources[0]), np.int32)


@dataclass(frozen=True, eq=False)
class Bernoulli(_RandomArrivals):
    """Arrivals that every processor draws in every slot, independently of the past."""

    @property
    def name(self) -> str:
        """The process and the pattern."""
        return f"bernoulli {self.pattern.name}"

    @cached_property
    def _thresholds(self) -> U64:
        return _threshold(self._sources[1], _BITS)

    def block(self, begin: int, slots: int) -> Block:
        """Return the arrivals of some slots, which may be any."""
        active, thresholds = self._sources[0], self._thresholds
        starts, hits = np.zeros(slots + 1, np.int64), np.empty(len(active), np.uint8)
        sources, done, seed = self._room(slots), 0, self._seed(ARRIVAL)
        while True:
            done = _arrive(*seed, begin, done, active, thresholds, hits, starts, sources)
            if done == slots:
                break
            sources = np.concatenate((sources, np.empty_like(sources)))
        sources = sources[: starts[-1]]
        words = np.empty(len(sources), np.uint64)
        _words_by_slot(*self._seed(DESTINATION), begin, starts, sources, words)
        return Block(begin, starts, sources, self._targets.draw(words, sources))


@dataclass(frozen=True, eq=False)
class OnOff(_RandomArrivals):
    """Bursts: every processor is on, with a packet in every slot for one destination, or off.

    Notes
    -----
    A burst has B packets on average: after every packet it ends with probability e = 1/B. Then an
    off period of k ≥ 0 slots follows with probability s·(1 - s)^k, so that the next burst, with a
    destination of its own, begins in every slot with probability s. For a source of rate r,
    s = e·r/(1 - (1 - e)·r), and the mean off period is (1 - s)/s = B·(1 - r)/r.

    *The load is exactly r.* A processor that was off in the slot before stays off with probability
    1 - s, and one that was on is off with probability e·(1 - s). If it was on with probability r,
    it is now off with probability (1 - r)·(1 - s) + r·e·(1 - s) = (1 - s)·(1 - (1 - e)·r), which
    is 1 - r by the choice of s. So r is kept from slot to slot, and r is the probability of being
    on before slot 0. Off periods of at least one slot would not do: r could not exceed B/(B + 1).

    For B = 1 the slots are independent: these are the Bernoulli arrivals, packet by packet.

    e is rounded to a multiple of 2^-24 before s is computed, and s to one of 2^-40.
    """

    burst: float
    """The mean number of packets in a burst."""

    @property
    def name(self) -> str:
        """The process and the pattern."""
        return f"burst:{repr(self.burst).removesuffix('.0')} {self.pattern.name}"

    @cached_property
    def _state(self) -> _BurstState:
        return _BurstState(0, np.empty(len(self._sources[0]), np.int64))

    @cached_property
    def _end(self) -> int:
        return round(_ENDS / self.burst)

    @cached_property
    def _thresholds(self) -> U64:
        rates, end = self._sources[1], self._end / _ENDS
        return _threshold(end * rates / (1 - (1 - end) * rates), _BITS)

    def _start(self) -> None:
        """Draw which processors are on before slot 0."""
        active, rates = self._sources
        words = self.coins.words(FIRST, 0, active) & _LOW
        self._state.slot = 0
        self._state.began[:] = np.where(words < _threshold(rates, _BITS), _BEFORE, _OFF)

    def block(self, begin: int, slots: int) -> Block:
        """Return the arrivals of the next slots, or of the first if ``begin`` is 0."""
        state, active = self._state, self._sources[0]
        if begin == 0:
            self._start()
        elif begin != state.slot:
            raise wrong("begin", begin)(
                f"bursts must be asked for in order; the next slot is {state.slot}, or 0 to start "
                "again."
            )
        starts = np.zeros(slots + 1, np.int64)
        sources, done, seed = self._room(slots), 0, self._seed(ARRIVAL)
        began = np.empty(len(sources), np.int64)
        while True:
            done = _burst(
                *seed, begin, done, active, self._thresholds, np.uint64(self._end), state.began,
                starts, sources, began,
            )  # fmt: skip
            if done == slots:
                break
            sources = np.concatenate((sources, np.empty_like(sources)))
            began = np.concatenate((began, np.empty_like(began)))
        state.slot = begin + slots
        sources = sources[: starts[-1]]
        words = np.empty(len(sources), np.uint64)
        _words_by_burst(*self._seed(DESTINATION), began, sources, words)
        return Block(begin, starts, sources, self._targets.draw(words, sources))


@dataclass(eq=False)
class _BurstState:
    """Where bursts stand before a slot."""

    slot: int
    began: I64
    """The slot in which the burst of each source began, or that it is off."""


def _threshold(rates: F64, bits: int) -> U64:
    return np.rint(rates * 2.0**bits).astype(np.uint64)


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
        for i in range(len(active)):  # without a branch: one that does not arrive is overwritten
            sources[count] = active[i]
            count += np.int64(hits[i])
        starts[k + 1] = count
    return slots


@compiled
def _burst(
    seed: np.uint64,
    purpose: np.uint64,
    begin: int,
    done: int,
    active: I32,
    thresholds: U64,
    end: np.uint64,
    state: I64,
    starts: I64,
    sources: I32,
    began: I64,
) -> int:
    """Continue the bursts while there is room, as ``_arrive`` does, noting when each began."""
    slots, count, most = len(starts) - 1, starts[done], len(sources) - len(active)
    for k in range(done, slots):
        if count > most:
            return k
        key = step_key(seed, purpose, begin + k)
        for i in range(len(active)):  # without branches
            drawn = word(key, np.uint64(active[i]))
            fresh = begin + k if (drawn & _LOW) < thresholds[i] else _OFF
            state[i] = fresh if (state[i] == _OFF) | ((drawn >> _SHIFT) < end) else state[i]
        for i in range(len(active)):
            sources[count], began[count] = active[i], state[i]
            count += np.int64(state[i] != _OFF)
        starts[k + 1] = count
    return slots


@compiled
def _words_by_slot(
    seed: np.uint64, purpose: np.uint64, begin: int, starts: I64, sources: I32, words: U64
) -> None:
    """Draw a word for every arrival from its slot and its source."""
    for k in range(len(starts) - 1):
        key = step_key(seed, purpose, begin + k)
        for m in range(starts[k], starts[k + 1]):
            words[m] = word(key, np.uint64(sources[m]))


@compiled
def _words_by_burst(
    seed: np.uint64, purpose: np.uint64, began: I64, sources: I32, words: U64
) -> None:
    """Draw a word for every arrival from the beginning of its burst and its source."""
    for m in range(len(sources)):
        words[m] = word(step_key(seed, purpose, began[m]), np.uint64(sources[m]))
