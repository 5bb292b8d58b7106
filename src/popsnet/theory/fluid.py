"""Fluid limits of mei-rizzi and of relay's sweeps: large networks, without chance."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, expm1

import numpy as np

from popsnet.network import Network
from popsnet.theory.stages import after_sweep

_NOTHING = 1e-9
"""Packets that no longer count."""


def loads(ratio: float) -> Iterator[float]:
    """The load after each step, without end: pending packets over couplers, at first d/g.

    If a packet takes part with probability p, a coupler is chosen by about Poisson(x) packets in
    slot 1, x = p·load. A packet is alone there with probability exp(-x). What is left gives
    Poisson(x·exp(-x)) packets a coupler in slot 2. So a step delivers x·exp(-x - x·exp(-x)).
    """
    load, step = ratio, 0
    while True:
        x = _participation(ratio, step) * load
        load -= x * exp(-x - x * exp(-x))
        step += 1
        yield load


def _participation(ratio: float, step: int) -> float:
    """The paper's law with c + ε = 4, for steps 0, 1, …: near one packet a coupler."""
    return 4 / (4 * ratio - step) if step < 4 * (ratio - 1) else 1.0


def expected_steps(network: Network) -> float:
    """The mean number of steps of mei-rizzi, idealized where d > g.

    It is the sum over s of the chance that packets are left after s steps. Where that is in
    doubt packets are few, and those that fail do so in pairs, two on one coupler. So with m
    packets expected there are about Poisson(m/2) pairs, and the chance is 1 - exp(-m/2). The
    sum needs no rounding to whole steps and is smooth in n.
    """
    packets = (load * network.couplers for load in loads(network.d / network.g))
    return _mean_time(packets)


def undelivered() -> Iterator[float]:
    """The fraction of packets left after each plain sweep of relay, for any d ≥ g.

    See :func:`popsnet.theory.stages.after_sweep`.
    """
    rho = np.ones(())
    while True:
        rho = after_sweep(rho)
        yield float(rho)


def expected_sweeps(network: Network) -> float:
    """The mean number of stages of relay with schedule S; each takes 2⌈d/g⌉ + 1 slots."""
    return _mean_time(rho * network.n for rho in undelivered())


def _mean_time(pending: Iterator[float]) -> float:
    """One, and the sum of the chances that anything is left, given what is pending after each."""
    steps = 1.0
    for packets in pending:
        if packets < _NOTHING:
            break
        steps -= expm1(-packets / 2)
    return steps
