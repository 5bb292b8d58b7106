"""The phases of the paper's proof, and which steps it calls lucky."""

from __future__ import annotations

from enum import IntEnum
from math import exp

import numpy as np

from popsnet.network import Network
from popsnet.slot import Ints


class Phase(IntEnum):
    """Where a step is, by the largest degree of its conflict graph."""

    THINNING = 0
    """Above g, which there is for d > g only: packets take part by a law (section 3.2)."""
    CONSTANT = 1
    """Above g/3: a lucky step delivers e^-2/2 of every large group. The paper ends the phase at any
    gx with x < 1/3; g/3 is the limit, below which squaring gets on."""
    SQUARING = 2
    """Above g^(5/6): with λ = d_s/g a lucky step delivers (1 - λ)e^(-2λ), so that λ → 3λ². It
    is empty for g ≤ 729, where g^(5/6) ≥ g/3."""
    SPARSE = 3
    """Up to g^(5/6): the lemma asks for no luck."""


def phase_of(g: int, degree: int) -> Phase:
    """The phase of a step at whose start the largest degree is this."""
    if degree > g:
        return Phase.THINNING
    if degree <= g ** (5 / 6):
        return Phase.SPARSE
    return Phase.CONSTANT if degree > g / 3 else Phase.SQUARING


def planned_degree(network: Network, step: int) -> float:
    """d_s = d - gs/4 before step s = 0, 1, …: what the law with c + ε = 4 counts on, at least g."""
    return max(network.d - network.g * step / 4, network.g)


def large_degree(network: Network, degree: int, step: int) -> float:
    """Groups with more packets must be lucky: those above g^(5/6), or, thinning, the next plan."""
    if phase_of(network.g, degree) is Phase.THINNING:
        return planned_degree(network, step + 1)
    return float(network.g ** (5 / 6))


def lucky_share(network: Network, degree: int, step: int) -> float | None:
    """The share of its packets that a lucky step delivers of every large group, at least."""
    match phase_of(network.g, degree):
        case Phase.THINNING:
            return network.g / (4 * planned_degree(network, step))
        case Phase.CONSTANT:
            return exp(-2) / 2
        case Phase.SQUARING:
            load = degree / network.g
            return (1 - load) * exp(-2 * load)
        case Phase.SPARSE:
            return None


def least_share(large: float, before: Ints, after: Ints) -> float | None:
    """The smallest share that a step delivered of a node with more packets than ``large``."""
    at = before > large
    return float(np.min(1 - after[at] / before[at])) if at.any() else None
