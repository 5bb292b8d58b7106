"""Traffic patterns: how often every processor sends, and to which processors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, did_you_mean, wrong
from popsnet.model.coins import Coins
from popsnet.model.network import F64, I32, I64, Network
from popsnet.workloads import targets
from popsnet.workloads.largest_loads import Bounds, Rates
from popsnet.workloads.permutations import NAMES
from popsnet.workloads.permutations.files import SUFFIXES
from popsnet.workloads.permutations.resolved import resolve_permutation
from popsnet.workloads.targets import Targets

WEIGHT = "weight"
"""The purpose of the coins that choose the weights of processors."""


@dataclass(frozen=True, eq=False)
class Pattern(ABC):
    """Where packets go on a network.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.workloads.patterns import resolve_pattern
    >>> pattern = resolve_pattern("incast:3", Network(2, 4))
    >>> pattern.name, pattern.sources()
    ('incast:3', array([0.        , 2.66666667, 0.        , 2.66666667, 0.        ,
           2.66666667, 0.        , 0.        ]))
    """

    network: Network
    """The network."""
    name: str
    """The pattern as a text, with a digest in place of the name of a file."""
    file: str = ""
    """The file that it was read from, if any."""

    def sources(self) -> F64:
        """Return the packets per slot of each processor at a mean load of 1."""
        return np.ones(self.network.n)

    @abstractmethod
    def targets(self) -> Targets:
        """Return what draws the destinations."""

    @abstractmethod
    def rates(self) -> Rates:
        """Return how the pattern loads processors and groups at a mean load of 1."""

    @abstractmethod
    def flows(self) -> F64:
        """Return the rates from each processor to each, n × n, at a mean load of 1."""

    def bounds(self) -> Bounds:
        """Return the largest loads that schedulers can carry."""
        return Bounds.of(self.network, self.rates())


class Uniform(Pattern):
    """Every processor sends to all others equally often."""

    def targets(self) -> Targets:
        """Return all processors but the source."""
        return Targets(targets.draw_others, (self.network.n,))

    def flows(self) -> F64:
        """Return 1/(n - 1) for all pairs of different processors."""
        n = self.network.n
        return (1 - np.eye(n)) / (n - 1)

    def rates(self) -> Rates:
        """Return d(d - 1)/(n - 1) within each group and d²/(n - 1) between any two."""
        d, g, others = self.network.d, self.network.g, self.network.n - 1
        pairs = [d * (d - 1) / others, d * d / others]
        return Rates.of(group_out=d, group_in=d, pairs=pairs, counts=[g, g * (g - 1)])


class UniformWithSelf(Pattern):
    """Every processor sends to all processors equally often."""

    def targets(self) -> Targets:
        """Return all processors."""
        return Targets(targets.draw_anyone, (self.network.n,))

    def flows(self) -> F64:
        """Return 1/n for all pairs."""
        n = self.network.n
        return np.full((n, n), 1 / n)

    def rates(self) -> Rates:
        """Return d²/n from every group to every group."""
        d, g = self.network.d, self.network.g
        return Rates.of(group_out=d, group_in=d, pairs=d / g, counts=g * g)


class GroupShift(Pattern):
    """Every processor sends to all processors of the next group equally often."""

    def targets(self) -> Targets:
        """Return the processors of the next group."""
        return Targets(targets.draw_next_group, (self.network.d, self.network.g))

    def flows(self) -> F64:
        """Return 1/d to each processor of the next group."""
        d, g = self.network.d, self.network.g
        return np.kron(np.roll(np.eye(g), 1, axis=1), np.full((d, d), 1 / d))

    def rates(self) -> Rates:
        """Return d from every group to the next."""
        d, g = self.network.d, self.network.g
        return Rates.of(group_out=d, group_in=d, pairs=d, counts=g)


@dataclass(frozen=True, eq=False, kw_only=True)
class ToOne(Pattern):
    """Every processor sends to one processor, as a permutation or a file gives it."""

    destinations: I32

    def targets(self) -> Targets:
        """Return the permutation."""
        return Targets(targets.look_up, (self.destinations,))

    def flows(self) -> F64:
        """Return the packets of each source, which all go to the one processor."""
        n = self.network.n
        rates = np.zeros((n, n))
        rates[np.arange(n), self.destinations] = self.sources()
        return rates

    def rates(self) -> Rates:
        """Count the packets from each group to each group."""
        d, g = self.network.d, self.network.g
        codes = self.network.processors.astype(np.int64) // d * g + self.destinations // d
        pairs = np.unique(codes, return_counts=True)[1]
        return Rates.of(group_out=d, group_in=d, pairs=pairs)


@dataclass(frozen=True, eq=False, kw_only=True)
class Hotspot(Pattern):
    """A fraction of all packets goes to a few hot processors, the rest to all others uniformly.

    The hot processors are ⌊k·n/hot⌋ for k = 0, …, hot - 1, so that they are spread evenly. No
    processor sends to itself: a hot one sends the fraction to the other hot ones, and the only hot
    one sends to all others uniformly.
    """

    hot: int
    fraction: float

    @property
    def threshold(self) -> int:
        """The fraction in units of 2^-32."""
        return round(self.fraction * 2**32)

    def targets(self) -> Targets:
        """Return the hot processors and the others."""
        return Targets(targets.draw_hot, (self.network.n, self.hot, np.uint64(self.threshold)))

    def flows(self) -> F64:
        """Add the rates to hot processors and to all others."""
        n = self.network.n
        hot = np.zeros(n, dtype=np.bool_)
        hot[np.arange(self.hot, dtype=np.int64) * n // self.hot] = True
        (warm, cold), (of_hot, of_cold) = self._chances()
        rates = np.where(hot, warm, cold)[:, None] * hot[None, :]
        rates = rates + np.where(hot, of_hot, of_cold)[:, None]
        np.fill_diagonal(rates, 0)
        return rates

    def rates(self) -> Rates:
        """Compute the rates of groups from the number of hot processors that each has."""
        d, g, n, hot = self.network.d, self.network.g, self.network.n, self.hot
        spots = np.arange(hot, dtype=np.int64) * n // hot
        numbers = np.bincount(spots // d, minlength=g)
        h, groups = np.unique(numbers, return_counts=True)
        (warm, cold), (of_hot, of_cold) = self._chances()
        # What a group with h[a] hot processors sends to a group with h[b] of them.
        out_hot = (d - h) * cold + h * warm
        out_any = (d - h) * of_cold + h * of_hot
        between = out_hot[:, None] * h[None, :] + out_any[:, None] * d
        within = np.diag(between) - h * warm - out_any
        counts = groups[:, None] * groups[None, :] - np.diag(groups)
        into = between.T @ groups - np.diag(between) + within
        to_cold = (n - hot - 1) * of_cold + hot * of_hot if hot < n else 0
        to_hot = (n - hot) * (cold + of_cold) + (hot - 1) * (warm + of_hot)
        return Rates.of(
            destination=max(to_hot, to_cold), group_out=d, group_in=into.max(),
            pairs=np.concatenate((between.ravel(), within)),
            counts=np.concatenate((counts.ravel(), groups)),
        )  # fmt: skip

    def _chances(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the rates to each hot processor, and to any other besides: of hot, cold sources.

        A hot processor gets both.
        """
        n, hot, part = self.network.n, self.hot, self.threshold / 2**32
        rest = (1 - part) / (n - 1)
        if hot == 1:
            return (0.0, part), (1 / (n - 1), rest)
        return (part / (hot - 1), part / hot), (rest, rest)


@dataclass(frozen=True, eq=False, kw_only=True)
class Incast(ToOne):
    """A few processors send to processor 0, and all others are silent.

    The senders are 1 + ⌊k·(n - 1)/senders⌋ for k = 0, …, senders - 1, spread evenly.
    """

    senders: int

    def _places(self) -> I64:
        return 1 + np.arange(self.senders, dtype=np.int64) * (self.network.n - 1) // self.senders

    def sources(self) -> F64:
        """Return n/senders for each sender."""
        rates = np.zeros(self.network.n)
        rates[self._places()] = self.network.n / self.senders
        return rates

    def rates(self) -> Rates:
        """Count the senders of each group."""
        n = self.network.n
        pairs = np.bincount(self._places() // self.network.d) * (n / self.senders)
        return Rates.of(
            source=n / self.senders, destination=n, group_out=pairs.max(), group_in=n, pairs=pairs
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Gravity(Pattern):
    """The rate from i to j ≠ i is proportional to w_i·w_j, with a random weight per processor.

    A weight is K + U in units of 2^-16: K is geometric (0 with probability 1/2, and so on), and U
    is uniform from 2^-16 to 1. The tail falls by half with every unit, as that of an exponential
    distribution does, so that a few processors are several times as busy as the mean but none
    dominates a large network. Unlike an exponential draw it needs no logarithm, and is the same
    integer on every platform.
    """

    coins: Coins

    def weights(self) -> I64:
        """Draw the weight of each processor."""
        words = self.coins.words(WEIGHT, 0, self.network.processors)
        upper = words >> np.uint64(16) | np.uint64(1 << 47)
        lowest = upper & (~upper + np.uint64(1))  # the lowest one bit is bit K
        halvings = np.frexp(lowest.astype(np.float64))[1] - 1
        fractions: I64 = (words & np.uint64(0xFFFF)).astype(np.int64)
        return (halvings.astype(np.int64) << 16) + fractions + 1

    def sources(self) -> F64:
        """Return rates proportional to w_i·(W - w_i), with W the sum of all weights."""
        weights = self.weights().astype(np.float64)
        rates: F64 = weights * (weights.sum() - weights) * self._scale(weights)
        return rates

    def targets(self) -> Targets:
        """Return all processors by weight."""
        thresholds = targets.thresholds_of(self.weights().astype(np.float64))
        return Targets(targets.draw_weighted, (thresholds,))

    def flows(self) -> F64:
        """Return the products of the weights, scaled."""
        weights = self.weights().astype(np.float64)
        rates: F64 = np.outer(weights, weights) * self._scale(weights)
        np.fill_diagonal(rates, 0)
        return rates

    def rates(self) -> Rates:
        """Compute the rates between groups from the sums of their weights."""
        d, g = self.network.d, self.network.g
        weights = self.weights().astype(np.float64)
        scale, busiest = self._scale(weights), self.sources()
        squares = (weights * weights).reshape(g, d).sum(axis=1)
        sums = weights.reshape(g, d).sum(axis=1)
        within = (sums * sums - squares) * scale
        by_group = busiest.reshape(g, d).sum(axis=1).max()
        most = busiest.max()
        return Rates.of(
            source=most, destination=most, group_out=by_group, group_in=by_group,
            pairs=np.concatenate((_crowded(sums * np.sqrt(scale)), within)),
        )  # fmt: skip

    def _scale(self, weights: F64) -> float:
        return float(self.network.n / (weights.sum() ** 2 - (weights * weights).sum()))


def _crowded(sizes: F64) -> F64:
    """Return the products above 1 of two different sizes, and the largest product.

    At most n of them are above 1, and only these are computed.
    """
    sizes = np.sort(sizes)
    above = len(sizes) - np.searchsorted(sizes, 1 / sizes, side="right")
    first = np.repeat(np.arange(len(sizes)), above)
    ranks = np.arange(len(first)) - np.repeat(np.cumsum(above) - above, above)
    second = len(sizes) - 1 - ranks
    products = (sizes[first] * sizes[second])[first != second]
    largest = sizes[-2:].prod() if len(sizes) > 1 else 0.0
    return np.append(products, [] if len(products) else largest)


PATTERNS = {
    "uniform": "to all other processors equally often",
    "uniform-with-self": "to all processors equally often, the source among them",
    "group-shift": "to all processors of the next group equally often",
    "hotspot:H:F": "a fraction F of the packets to H hot processors, the rest uniform",
    "incast:M": "M processors to processor 0, all others silent",
    "gravity": "in proportion to the weights of both ends, drawn from the seed",
    "gravity:SEED": "the same with weights from a seed of its own",
}
"""The patterns besides permutations, and what they mean."""


def resolve_pattern(
    pattern: str | Path | npt.ArrayLike, network: Network, seed: int = 0
) -> Pattern:
    """Return the pattern of that name, and refuse one that does not fit the network.

    Parameters
    ----------
    pattern : str, Path or array of int
        A text of ``popsnet.workloads.patterns.PATTERNS``, the name of a permutation, or a
        permutation as a file or as an array.
    network : Network
        The network.
    seed : int
        The seed of random permutations and weights.

    Returns
    -------
    Pattern
        The pattern.

    Raises
    ------
    InputError
        If there is no such pattern, or none on this network.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.workloads.patterns import resolve_pattern
    >>> resolve_pattern("uniform-with-self", Network(8, 2)).bounds().any.load
    0.25
    """
    if isinstance(pattern, str):
        word, _, values = pattern.partition(":")
        if word in _MAKERS:
            if network.n == 1 and (pattern == "uniform" or word not in _PLAIN):
                raise wrong("pattern", f"{pattern!r:.60}")(
                    "a network of one processor has no other one to send to; use "
                    "'uniform-with-self'."
                )
            return _MAKERS[word](network, pattern, values, seed)
        _require_known(pattern)
    resolved = resolve_permutation(pattern, network)
    if resolved.given is not None and resolved.given.ndim > 1:
        raise wrong("pattern", f"an array of shape {resolved.given.shape}")(
            f"packets go to the same processors in all slots; give one row of n = {network.n}."
        )
    made = resolved.destination(network, Coins(seed), 0)
    destinations = made if isinstance(made, np.ndarray) else made.array()
    numbers = destinations.astype(np.int32)
    return ToOne(network, resolved.name, resolved.file, destinations=numbers)


def _require_known(pattern: str) -> None:
    is_permutation = pattern in NAMES or pattern.startswith("shift:")
    if not is_permutation and Path(pattern).suffix.lower() not in SUFFIXES:
        known = [*PATTERNS, *NAMES, "shift:K", "shift:d"]
        raise InputError(
            f"There is no pattern {pattern!r:.60}.{did_you_mean(pattern, known)} Give one of: "
            f"{', '.join(known)}; or a permutation file ending in {', '.join(SUFFIXES)}."
        )


_PLAIN: dict[str, type[Uniform | UniformWithSelf | GroupShift]] = {
    "uniform": Uniform,
    "uniform-with-self": UniformWithSelf,
    "group-shift": GroupShift,
}


def _plain(network: Network, text: str, values: str, seed: int) -> Pattern:
    """Return a pattern that takes no value."""
    name, colon, _ = text.partition(":")
    if colon:
        raise wrong("pattern", f"{text!r:.60}")(f"{name} takes no value; give {name!r}.")
    if name == "group-shift" and network.g == 1:
        raise wrong("pattern", "'group-shift'")(
            f"{network} has no next group; use 'uniform', or a network of at least two groups."
        )
    return _PLAIN[name](network, text)


def _hotspot(network: Network, text: str, values: str, seed: int) -> Pattern:
    number, _, part = values.partition(":")
    hot = _number(text, number, network.n, "the number of hot processors")
    try:
        fraction = float(part)
    except ValueError:
        fraction = -1.0
    if not 0 < fraction <= 1:
        raise wrong("pattern", f"{text!r:.60}")(
            "the fraction of packets to hot processors must be a number above 0 and at most 1, as "
            "in hotspot:1:0.2."
        )
    name = f"hotspot:{hot}:{repr(fraction).removesuffix('.0')}"
    return Hotspot(network, name, hot=hot, fraction=fraction)


def _incast(network: Network, text: str, values: str, seed: int) -> Pattern:
    senders = _number(text, values, network.n - 1, "the number of senders")
    to_first = np.zeros(network.n, np.int32)
    return Incast(network, f"incast:{senders}", destinations=to_first, senders=senders)


def _gravity(network: Network, text: str, values: str, seed: int) -> Pattern:
    if text == "gravity":
        return Gravity(network, text, coins=Coins(seed))
    own = _number(text, values, 2**64 - 1, "the seed of the weights", least=0)
    return Gravity(network, f"gravity:{own}", coins=Coins(own))


_MAKERS: dict[str, Callable[[Network, str, str, int], Pattern]] = {
    **dict.fromkeys(_PLAIN, _plain),
    "hotspot": _hotspot,
    "incast": _incast,
    "gravity": _gravity,
}


def _number(text: str, digits: str, most: int, meaning: str, least: int = 1) -> int:
    """Parse an integer that is a part of a pattern."""
    if digits.isascii() and digits.isdigit() and len(digits) <= 20:
        number = int(digits)
        if least <= number <= most:
            return number
    raise wrong("pattern", f"{text!r:.60}")(f"{meaning} must be an integer from {least} to {most}.")
