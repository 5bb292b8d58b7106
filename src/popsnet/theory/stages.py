"""The fluid limit of relay's stages: which fraction of all packets is undelivered after each.

Before a stage the fraction is ρ; g is large, and the pending packets of a group are spread evenly
over the places of their destinations. Of the d places, ⌈d/g⌉ or ⌊d/g⌋ belong to a relay group.

A packet that is pending has failed because it met another of its group, which most likely is
pending, too. So besides the ρ(d - 1) others of its group it has a companion. That matters where ρ
is small, and on small networks. Where d = g the late bijections keep companions apart, and there is
none, but on small networks, which are done before. For d > g groups have more or fewer pending
packets by chance, and those with more fail more often: about as if there were d/(8g) companions
more, by measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from popsnet.network import Network

Numbers = npt.NDArray[np.float64]

_APART = 32
"""From this d = g on a run is likely to come to the bijections that keep companions apart."""

_MOST_HEARD = 40
"""Of one class by one set: one on average, at most, and more than this with chance 10^-50."""


def _shares(network: Network) -> list[tuple[int, float]]:
    """How many places relay groups have, and which share of the groups has so many."""
    fewer, rest = divmod(network.d, network.g)
    shares = [(fewer, 1 - rest / network.g), (fewer + 1, rest / network.g)]
    return [(places, share) for places, share in shares if share > 0]


def _crowd(network: Network, rho: Numbers) -> Numbers:
    return np.minimum((rho * (network.d - 1) + _companions(network)) / network.d, 1.0)


def _companions(network: Network) -> float:
    d, g = network.d, network.g
    if d == 1 or d == g >= _APART:
        return 0.0
    return 1 + d / (8 * g) if d > g else 1.0


def after_sweep(rho: Numbers) -> Numbers:
    """ρ → ρ(1 - e^-ρ): a packet gets through if it is alone of its class in its set."""
    return -rho * np.expm1(-rho)


def after_park(network: Network, rho: Numbers, window: int) -> Numbers:
    """One window of w slots; a set stores up to its size of a class.

    With c places in the relay group a set hears a packet of a class in a slot with probability
    (ρ/w)e^(-ρc/w): so for d = g the fraction becomes ρ - 1 + (1 - (ρ/w)e^(-ρ/w))^w.
    """
    crowd = _crowd(network, rho)
    stored = np.zeros_like(rho)
    for places, share in _shares(network):
        chance = rho / window * np.exp(-crowd * places / window)
        heard = np.arange(1, min(window, _MOST_HEARD) + 1)[:, None]
        chances = _binomial(heard, window, chance)
        for size, part in _shares(network):
            of_class = (np.minimum(heard, size) * chances).sum(axis=0)
            stored += share * part * places * of_class
    return rho - stored * network.g / network.d


def _binomial(
    heard: npt.NDArray[np.int_], slots: int | npt.NDArray[np.int_], chance: Numbers
) -> Numbers:
    """The chance of so many successes in so many slots."""
    from scipy.special import gammaln, xlog1py, xlogy

    silent = slots - heard
    ways = gammaln(slots + 1) - gammaln(heard + 1) - gammaln(silent + 1)
    logs = ways + xlogy(heard, chance) + xlog1py(silent, -chance)
    chances: Numbers = np.exp(logs)
    return chances


def after_shower(network: Network, rho: Numbers, copies: int) -> Numbers:
    """Each of r copies is alone on both ways with a chance of its own, at r times the load.

    A fold is as one copy: it must be alone on its way to the relay and again from there.
    """
    through, crowd = np.zeros_like(rho), _crowd(network, rho)
    for places, share in _shares(network):
        arrives = np.exp(-copies * crowd * places)
        alone = arrives * (1 - crowd * arrives) ** (places - 1)
        through += share * places * network.g / network.d * alone
    return rho * (1 - through) ** copies


def after_grid(network: Network, rho: Numbers, x: int) -> Numbers:
    """XY(x, ⌈G/x⌉), G = ⌈g/d⌉: a relay has one place for each v, filled by the first that fits."""
    d, g = network.d, network.g
    classes = -(-g // d)
    width = classes * -(-g // classes)
    places = -(-classes // x)
    often = classes - x * (places - 1)  # in so many slots all places can be filled, else one fewer
    load, crowd = (part * d / width for part in (rho, _crowd(network, rho)))
    full, fewer = (np.log1p(-load * np.exp(-crowd * count)) for count in (places, places - 1))
    last = often * full  # the logarithm of the chance that the last place is left empty
    stored: Numbers = -(places - 1) * np.expm1(last + (x - often) * fewer) - np.expm1(last)
    return rho - g / (classes * d) * stored


@lru_cache(maxsize=256)
def _left(window: int, most: int) -> Numbers:
    """P[m, l]: the chance that of m packets in w slots l meet others, m, l ≤ most.

    Packets are added one by one; a slot is free, has one, or has more.
    """
    table = np.zeros((most + 1, most + 1))
    state = np.zeros((most + 2, most // 2 + 2))  # by slots with one, and with more
    state[0, 0] = 1.0
    one, more = np.ogrid[: state.shape[0], : state.shape[1]]
    to_free = np.clip(window - one - more, 0, None) / window
    for packets in range(most + 1):
        table[packets, : packets + 1] = state[packets::-1].sum(axis=1)
        new = state * (more / window)
        new[1:] += (state * to_free)[:-1]
        new[:-1, 1:] += (state * one / window)[1:, :-1]
        state = new
    return table


def first_at_a_set(mean: float) -> Numbers:
    """The distribution of the packets that a group has for a relay group at first.

    In several windows of a stage a source tries the same relay group again, so that packets that
    failed together meet again: what matters is how many are left at each set.
    """
    from scipy.special import gammaln, xlogy

    packets = np.arange(int(mean + 6 * mean**0.5) + 8)
    chances: Numbers = np.exp(xlogy(packets, mean) - mean - gammaln(packets + 1))
    return chances


def left_at_a_set(left: Numbers, window: int) -> Numbers:
    """The distribution of those that are left after one more window; or several, a row each."""
    after: Numbers = left @ _left(window, left.shape[-1] - 1)
    return after


def after_windows(network: Network, rho: float, windows: Sequence[int]) -> float:
    """A park stage of several windows; a set refuses packets of a class that it has no room for.

    For each number of packets at first a set may have, the rows of a table follow how many are
    left. Those that were heard are spread evenly over the classes. A refused packet counts as
    gone in later windows, though it tries again and may be in the way of others; for d = g, where
    a set has room for one, that changes nothing.
    """
    stored = 0.0
    for places, share in _shares(network):
        left = np.diag(first_at_a_set(rho * places))
        for window in windows:
            left = left_at_a_set(left, window)
        gone = np.array([np.trace(left, -number) for number in range(len(left))])
        for size, part in _shares(network):
            heard = np.arange(size)[:, None]
            free = (size - heard) * _binomial(heard, np.arange(len(left)), np.array(1 / places))
            stored += share * part * places * float(gone @ (size - free.sum(axis=0)))
    return rho - stored * network.g / network.d
