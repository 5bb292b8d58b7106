"""Fluid limits of mei-rizzi and of relay's sweeps: large networks, without random fluctuations.

Also the cost of slot 5 to the published protocol for d > g: the constant c without and with slot 5.

With one packet per coupler in slot 1 a packet is alone there with probability 1/e; of the
survivors, 1/e per coupler, a packet is alone in slot 2 with probability e^(-1/e). So a step brings
1/c packets per coupler to their temporary groups, c = e^(1 + 1/e), and d/g falls to 1 in c(d/g - 1)
steps: the constant of the paper, section 3.2.

For d = g these packets are delivered. For d > g they are not: k = d/g destinations of a group share
a residue, and with it a coupler of slot 5. For each of them a packet arrives in a step with
probability 1/(ck), so an arriving packet is alone with probability (1 - 1/(ck))^(k - 1). If packets
that fail there were sent again, a step would deliver fewer by this factor: the constant becomes
c(1 - 1/(ck))^(1 - k), which is c at k = 1 and tends to c·e^(1/c) ≈ 5.066 as k grows. One packet per
coupler remains the best load: the arrivals, y = 1/c, are largest there, and y(1 - y/k)^(k - 1)
grows with y below 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from math import exp, expm1, floor

import numpy as np

from popsnet.base.errors import InputError, abbreviated
from popsnet.model.network import Network, on_network
from popsnet.theory.stages import after_sweep

_NOTHING = 1e-9
"""A mean number of packets that is neglected."""

_MOST_RATIO = 10**6
"""It takes a number of steps in proportion to d/g until no packet is left."""


def loads(ratio: float) -> Iterator[float]:
    """Yield the load after each step of mei-rizzi, without end.

    The load is the number of pending packets per coupler, at first d/g.

    Parameters
    ----------
    ratio : float
        The ratio d/g, at least 1.

    Yields
    ------
    float
        The load after step 1, 2, ….

    Notes
    -----
    If a packet takes part with probability p, about Poisson(x) packets choose a coupler in slot 1,
    with x = p·load. A packet is alone there with probability exp(-x). The survivors give
    Poisson(x·exp(-x)) packets per coupler in slot 2. So a step delivers x·exp(-x - x·exp(-x)).

    Examples
    --------
    >>> from itertools import islice
    >>> from popsnet.theory import loads
    >>> [round(load, 4) for load in islice(loads(1), 4)]
    [0.7454, 0.497, 0.2736, 0.1046]
    """
    require_ratio(ratio)
    if ratio > _MOST_RATIO:
        raise InputError(
            f"d/g = {ratio:.3g}: the fluid limit is computed for d/g of at most "
            f"{_MOST_RATIO:,}. Choose a smaller d or a larger g."
        )
    load, step = ratio, 0
    while True:
        x = _participation(ratio, step) * load
        load -= x * exp(-x - x * exp(-x))
        step += 1
        yield load


def require_ratio(ratio: float) -> None:
    """Refuse a ratio d/g that is not a number of at least 1."""
    if not isinstance(ratio, int | float) or not ratio >= 1:
        raise InputError(f"d/g = {abbreviated(ratio)}: it must be a number of at least 1.")


def _participation(ratio: float, step: int) -> float:
    """Return the paper's probability of taking part in step 0, 1, …, with c + ε = 4.

    It keeps the load in slot 1 near one packet per coupler.
    """
    return 4 / (4 * ratio - step) if step < 4 * (ratio - 1) else 1.0


@on_network
def expected_steps(network: Network) -> float:
    """Estimate the mean number of steps of mei-rizzi, idealized for d > g.

    Parameters
    ----------
    network : Network, or int and int
        The network, with d ≥ g, or its d and g.

    Returns
    -------
    float
        The estimate from the fluid limit.

    Notes
    -----
    The mean is the sum over s of the probability that packets are left after s steps. When that
    probability is neither 0 nor 1, packets are few, and they fail in pairs, two on one coupler. So
    with m packets expected there are about Poisson(m/2) pairs, and the probability is
    1 - exp(-m/2). The sum needs no rounding to whole steps and is smooth in n.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.theory import expected_steps
    >>> round(expected_steps(Network(64, 64)), 2)
    6.76
    """
    return _mean_time(steps_tail(network))


def undelivered() -> Iterator[float]:
    """Yield the fraction of packets left after each plain sweep of relay, without end.

    The fractions are the same for all d ≥ g.

    Yields
    ------
    float
        The fraction after sweep 1, 2, …: ρ → ρ(1 - e^-ρ).

    See Also
    --------
    popsnet.theory.stages.after_sweep : One sweep.

    Examples
    --------
    >>> from itertools import islice
    >>> from popsnet.theory import undelivered
    >>> [round(rho, 4) for rho in islice(undelivered(), 4)]
    [0.6321, 0.2962, 0.0759, 0.0056]
    """
    rho = np.ones(())
    while True:
        rho = after_sweep(rho)
        yield float(rho)


@on_network
def expected_sweeps(network: Network) -> float:
    """Estimate the mean number of stages of relay with schedule S.

    Parameters
    ----------
    network : Network, or int and int
        The network, with d ≥ g, or its d and g.

    Returns
    -------
    float
        The estimate from the fluid limit. Each stage takes 2⌈d/g⌉ + 1 slots.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.theory import expected_sweeps
    >>> round(expected_sweeps(Network(64, 64)), 2)
    5.06
    """
    return _mean_time(sweeps_tail(network))


@on_network
def steps_tail(network: Network) -> Iterator[float]:
    """Yield P(steps > s) of mei-rizzi in the fluid limit for s = 1, 2, …, without end.

    Parameters
    ----------
    network : Network, or int and int
        The network, with d ≥ g, or its d and g.

    Yields
    ------
    float
        The probability that packets are left after step 1, 2, …, idealized for d > g.

    See Also
    --------
    expected_steps : The mean, and why this is the probability.

    Examples
    --------
    >>> from itertools import islice
    >>> from popsnet import Network
    >>> from popsnet.theory import steps_tail
    >>> [round(left, 4) for left in islice(steps_tail(Network(8, 8)), 6)]
    [1.0, 1.0, 0.9998, 0.9648, 0.4529, 0.0219]
    """
    return (_some_left(load * network.couplers) for load in loads(network.d / network.g))


@on_network
def sweeps_tail(network: Network) -> Iterator[float]:
    """Yield P(stages > s) of relay with schedule S in the fluid limit for s = 1, 2, ….

    Parameters
    ----------
    network : Network, or int and int
        The network, with d ≥ g, or its d and g.

    Yields
    ------
    float
        The probability that packets are left after sweep 1, 2, ….

    Examples
    --------
    >>> from itertools import islice
    >>> from popsnet import Network
    >>> from popsnet.theory import sweeps_tail
    >>> [round(left, 4) for left in islice(sweeps_tail(Network(8, 8)), 5)]
    [1.0, 0.9999, 0.9119, 0.1627, 0.001]
    """
    return (_some_left(rho * network.n) for rho in undelivered())


def _some_left(packets: float) -> float:
    """Return the probability that packets are left, from their mean: they fail in pairs."""
    return -expm1(-packets / 2)


def _mean_time(tail: Iterator[float]) -> float:
    """Sum 1 and the probabilities that packets are left after each step."""
    steps = 1.0
    for left in takewhile(lambda left: left >= _some_left(_NOTHING), tail):
        steps += left
    return steps


C = exp(1 + exp(-1))
"""The steps needed to reduce the load by one packet per coupler: about 3.927."""

_NO_LOAD = 1e-12


def c_with_slot_five(ratio: float) -> float:
    """Return the constant c with slot 5 counted, for d = ratio·g.

    Parameters
    ----------
    ratio : float
        The ratio d/g, at least 1. The formula is derived for integers.

    Returns
    -------
    float
        c(1 - 1/(c·ratio))^(1 - ratio).

    Examples
    --------
    >>> from popsnet.theory import c_with_slot_five
    >>> round(c_with_slot_five(1), 3), round(c_with_slot_five(1000), 3)
    (3.927, 5.065)
    """
    require_ratio(ratio)
    return float(C * (1 - 1 / (C * ratio)) ** (1 - ratio))


def lost_share(ratio: float) -> float:
    """Return the share of all packets that ``published`` loses in the limit of large networks.

    Parameters
    ----------
    ratio : float
        The ratio k = d/g, at least 1.

    Returns
    -------
    float
        The share of lost packets. Networks with few groups lose another share: POPS(16, 4) loses
        15.0 % and not 17.2 %.

    Notes
    -----
    The sources drop packets that have arrived at the temporary group, so loads fall as in the fluid
    limit. Of y packets per coupler that arrive in a step, y(1 - (1 - y/k)^(k - 1)) collide in
    slot 5. If k is not an integer, some couplers of slot 5 lead to ⌊k⌋ destinations of a residue
    and the others to ⌈k⌉; a packet arrives for each of them with probability y/k.

    Examples
    --------
    >>> from popsnet.theory import lost_share
    >>> round(lost_share(1), 3), round(lost_share(4), 3)
    (0.0, 0.172)
    """
    require_ratio(ratio)
    fewest = floor(min(ratio, 2**53))  # the limit is refused for ratios that are much smaller
    more = ratio - fewest
    lost, load = 0.0, ratio
    for after in loads(ratio):
        arrives = (load - after) / ratio
        alone = (1 - more) * fewest * (1 - arrives) ** (fewest - 1)
        alone += more * (fewest + 1) * (1 - arrives) ** fewest
        lost += arrives * (ratio - alone)
        load = after
        if load < _NO_LOAD:
            return lost / ratio
    raise AssertionError("loads never end")
