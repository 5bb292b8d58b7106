"""The fluid limit of relay's stages: the fraction of undelivered packets after each.

Before a stage the fraction is ρ; g is large, and the pending packets of a group are spread evenly
over the places of their destinations. Of the d places, ⌈d/g⌉ or ⌊d/g⌋ belong to a relay group.

A pending packet has failed because it collided with another packet of its group, which most likely
is pending, too. So besides the ρ(d - 1) others of its group it has a companion. This matters if ρ
is small, and on small networks. For d = g the late bijections keep companions apart, so there is
none, except on small networks, where a run ends earlier. For d > g the numbers of pending packets
per group fluctuate, and packets of larger groups fail more often: by measurement, about as if there
were d/(8g) more companions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from popsnet.model.network import F64, Ints, Network

_APART = 32
"""From this d = g on a run is likely to reach the bijections that keep companions apart."""

_SURE = 1 - 1e-12
"""A probability of which the complement has a logarithm."""

_MOST_HEARD = 40
"""The most packets of one class that a set hears: on average at most one, and more than this with
probability 10^-50."""


def _shares(network: Network) -> list[tuple[int, float]]:
    """Return the numbers of places of relay groups, each with the share of groups that have it."""
    fewer, rest = divmod(network.d, network.g)
    shares = [(fewer, 1 - rest / network.g), (fewer + 1, rest / network.g)]
    return [(places, share) for places, share in shares if share > 0]


def _crowd(network: Network, rho: F64) -> F64:
    return np.minimum((rho * (network.d - 1) + _companions(network)) / network.d, 1.0)


def _companions(network: Network) -> float:
    d, g = network.d, network.g
    if d == 1 or d == g >= _APART:
        return 0.0
    return 1 + d / (8 * g) if d > g else 1.0


def _companion(network: Network) -> float:
    """Return the companions of a packet in stages whose draws do not keep companions apart."""
    return max(_companions(network), min(network.d - 1.0, 1.0))


def after_sweep(rho: F64) -> F64:
    """Return the fraction after a plain sweep, ρ(1 - e^-ρ).

    A packet gets through if it is the only one of its class in its set.
    """
    return -rho * np.expm1(-rho)


def after_park(network: Network, rho: F64, window: int) -> F64:
    """Return the fraction after a park stage with one window of w slots.

    A set stores as many packets of a class as it has members. With c places in the relay group a
    set hears a packet of a class in a slot with probability (ρ/w)e^(-ρc/w). So for d = g the
    fraction becomes ρ - 1 + (1 - (ρ/w)e^(-ρ/w))^w.
    """
    crowd = _crowd(network, rho)
    stored = np.zeros_like(rho)
    for places, share in _shares(network):
        probability = rho / window * np.exp(-crowd * places / window)
        heard = np.arange(1, min(window, _MOST_HEARD) + 1)[:, None]
        probabilities = _binomial(heard, window, probability)
        for size, part in _shares(network):
            of_class = (np.minimum(heard, size) * probabilities).sum(axis=0)
            stored += share * part * places * of_class
    return rho - stored * network.g / network.d


def after_verified_park(network: Network, rho: F64, window: int) -> F64:
    """Return the fraction after a verified park stage with one window of w slots.

    Of each class every member of a set stores one packet, and public numbers say which member
    stores a packet. So a member with a free place hears a packet for it in a slot with probability
    (ρ/ws)e^(-ρc/w), where s is the size of the set and c the places of the relay group. Bijections
    do not keep companions apart.
    """
    crowd = np.minimum((rho * (network.d - 1) + _companion(network)) / network.d, 1.0)
    stored = np.zeros_like(rho)
    for places, share in _shares(network):
        heard = rho / window * np.exp(-crowd * places / window)
        for size, part in _shares(network):
            full = np.log1p(-np.minimum(heard / size, _SURE))
            stored += share * part * places * size * -np.expm1(window * full)
    return rho - stored * network.g / network.d


def _binomial(heard: Ints, slots: int | Ints, probability: F64) -> F64:
    """Return the binomial probability of ``heard`` successes in ``slots`` trials."""
    from scipy.special import gammaln, xlog1py, xlogy

    silent = slots - heard
    ways = gammaln(slots + 1) - gammaln(heard + 1) - gammaln(silent + 1)
    probabilities: F64 = np.exp(ways + xlogy(heard, probability) + xlog1py(silent, -probability))
    return probabilities


def after_shower(network: Network, rho: F64, copies: int) -> F64:
    """Return the fraction after a shower of r copies.

    Each copy is alone on both hops with its own probability, at r times the load. A fold is like a
    shower of one copy: the packet must be alone on the way to the relay and again from there.
    """
    through, crowd = np.zeros_like(rho), _crowd(network, rho)
    for places, share in _shares(network):
        arrives = np.exp(-copies * crowd * places)
        alone = arrives * (1 - crowd * arrives) ** (places - 1)
        through += share * places * network.g / network.d * alone
    return rho * (1 - through) ** copies


def after_team(network: Network, rho: F64, candidates: int) -> F64:
    """Return the fraction after a team stage of r candidates.

    A candidate is free if no other packet of the source's group has it, nor another waiting
    destination of the destination's group. For large g the fraction is ρ(1 - e^(-2rρd/g))^r.

    There are about 2ρd such packets and destinations, with the standard deviation √(2ρd) and a
    companion. A packet is left more often where they are many, which the mean of two values that
    differ by two standard deviations shows. On POPS(64, 64) and POPS(256, 256) it is within 15 % of
    runs for r ≤ 5, where the limit misses up to half of what is left. After another team stage and
    for larger r more is left, up to seven times as much at g = 64 and three times at g = 256:
    packets that are left are in the most crowded groups.
    """
    others = 2 * rho * network.d
    mean, deviation = others + _companion(network), np.sqrt(others)
    few, many = (
        -np.expm1(-candidates * number / network.g)
        for number in (mean - deviation, mean + deviation)
    )
    after: F64 = rho * (few**candidates + many**candidates) / 2
    return after


def after_marked(network: Network, rho: F64, copies: int) -> F64:
    """Return the fraction after a marked stage of r places: the packets whose source waits.

    A place is free if no other packet of the source's group has it, and no destination of that
    group that waits. A source that waits for its own packet listens as a destination, in the same
    class with probability 1/k, k = d/g. Then it hears its ack only at a place that comes after the
    arrival of its own packet. So with s the probability that a place is free, the fraction becomes
    ρ(1 - s)^(r-1)·(1 - s + rsρ/k), which for r = 1, d = g is ρ(1 - e^-ρ(1 - ρ)²), about 3ρ². Of
    them about two thirds have not arrived.

    Sources that have missed their ack do not mark, and relays that repeat acks disturb others. Both
    are neglected: they are about equally many. On POPS(64, 64) and POPS(256, 256) what is left
    after Q is within 10 % of this from ρ = 0.3 to 0.02, below that up to a third less; after X2 it
    is 15 to 30 % more, since places of one packet are in the same, more or less crowded, groups.
    """
    per_group = network.d / network.g
    crowd = np.minimum(rho + _companion(network) / network.d, 1.0)
    free = np.exp(-copies * crowd * per_group) * (1 - rho) ** (copies * per_group)
    missed = copies * free * rho / per_group
    return rho * (1 - free) ** (copies - 1) * (1 - free + missed)


def after_grid(network: Network, rho: F64, x: int) -> F64:
    """Return the fraction after a grid stage XY(x, ⌈G/x⌉), G = ⌈g/d⌉.

    A relay stores one packet for each v, the first that it hears.
    """
    d, g = network.d, network.g
    classes = -(-g // d)
    width = classes * -(-g // classes)
    places = -(-classes // x)
    often = classes - x * (places - 1)  # slots in which all places can be filled, else one fewer
    load, crowd = (part * d / width for part in (rho, _crowd(network, rho)))
    full, fewer = (np.log1p(-load * np.exp(-crowd * count)) for count in (places, places - 1))
    last = often * full  # the logarithm of the probability that the last place stays empty
    stored: F64 = -(places - 1) * np.expm1(last + (x - often) * fewer) - np.expm1(last)
    return rho - g / (classes * d) * stored


@lru_cache(maxsize=256)
def _left(window: int, most: int) -> F64:
    """Return the probabilities P[m, l] that of m packets in w slots l collide, for m, l ≤ most.

    Packets are added one by one; a slot is free, has one packet, or has more.
    """
    table = np.zeros((most + 1, most + 1))
    state = np.zeros((most + 2, most // 2 + 2))  # by slots with one, and with more
    state[0, 0] = 1.0
    single, more = np.ogrid[: state.shape[0], : state.shape[1]]
    to_free = np.clip(window - single - more, 0, None) / window
    for packets in range(most + 1):
        table[packets, : packets + 1] = state[packets::-1].sum(axis=1)
        new = state * (more / window)
        new[1:] += (state * to_free)[:-1]
        new[:-1, 1:] += (state * single / window)[1:, :-1]
        state = new
    return table


def first_at_a_set(mean: float) -> F64:
    """Return the distribution of the number of packets that a group has for a relay group.

    In the windows of one stage a source tries the same relay group again, so packets that failed
    together meet again, and the number left at each set matters.
    """
    from scipy.special import gammaln, xlogy

    packets = np.arange(int(mean + 6 * mean**0.5) + 8)
    probabilities: F64 = np.exp(xlogy(packets, mean) - mean - gammaln(packets + 1))
    return probabilities


def left_at_a_set(left: F64, window: int) -> F64:
    """Return the distribution of the packets left after one more window, for each row."""
    return left @ _left(window, left.shape[-1] - 1)


def _gone(network: Network, rho: float, windows: Sequence[int]) -> Iterator[tuple[int, float, F64]]:
    """Yield places of relay groups, their share, and the distribution of what a set has heard."""
    for places, share in _shares(network):
        left = np.diag(first_at_a_set(rho * places))
        for window in windows:
            left = left_at_a_set(left, window)
        yield places, share, np.array([np.trace(left, -number) for number in range(len(left))])


def after_windows(network: Network, rho: float, windows: Sequence[int]) -> float:
    """Return the fraction after a park stage of several windows.

    A set refuses packets of a class that it has no room for. A table follows how many packets are
    left, with a row for each number that a set may have at first. The packets that were heard are
    spread evenly over the classes. A refused packet counts as gone in later windows, though it
    tries again and may collide with others; for d = g, where a set has room for one packet, that
    changes nothing.
    """
    stored = 0.0
    for places, share, gone in _gone(network, rho, windows):
        for size, part in _shares(network):
            heard = np.arange(size)[:, None]
            free = (size - heard) * _binomial(heard, np.arange(len(gone)), np.array(1 / places))
            stored += share * part * places * float(gone @ (size - free.sum(axis=0)))
    return rho - stored * network.g / network.d


def after_verified_windows(network: Network, rho: float, windows: Sequence[int]) -> float:
    """Return the fraction after a verified park stage of several windows.

    The packets that a set has heard are spread evenly over its members and their classes, one
    place each. A packet whose place is taken tries no more in this stage.
    """
    stored = 0.0
    for places, share, gone in _gone(network, rho, windows):
        for size, part in _shares(network):
            cells = size * places
            taken = cells * (1 - (1 - 1 / cells) ** np.arange(len(gone)))
            stored += share * part * float(gone @ taken)
    return rho - stored * network.g / network.d
