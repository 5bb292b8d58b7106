"""Fluid limits of mei-rizzi and of relay's sweeps: large networks, without random fluctuations."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, expm1

import numpy as np

from popsnet.errors import InputError, abbreviated
from popsnet.network import Network
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


def expected_steps(network: Network) -> float:
    """Estimate the mean number of steps of mei-rizzi, idealized for d > g.

    Parameters
    ----------
    network : Network
        The network, with d ≥ g.

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
    packets = (load * network.couplers for load in loads(network.d / network.g))
    return _mean_time(packets)


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


def expected_sweeps(network: Network) -> float:
    """Estimate the mean number of stages of relay with schedule S.

    Parameters
    ----------
    network : Network
        The network, with d ≥ g.

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
    return _mean_time(rho * network.n for rho in undelivered())


def steps_tail(network: Network) -> Iterator[float]:
    """Yield P(steps > s) of mei-rizzi in the fluid limit for s = 1, 2, …, without end.

    Parameters
    ----------
    network : Network
        The network, with d ≥ g.

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


def sweeps_tail(network: Network) -> Iterator[float]:
    """Yield P(stages > s) of relay with schedule S in the fluid limit for s = 1, 2, ….

    Parameters
    ----------
    network : Network
        The network, with d ≥ g.

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


def _mean_time(pending: Iterator[float]) -> float:
    """Sum 1 and the probabilities that packets are left, from the means pending after each step."""
    steps = 1.0
    for packets in pending:
        if packets < _NOTHING:
            break
        steps += _some_left(packets)
    return steps
