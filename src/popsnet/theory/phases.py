"""The phases of the paper's proof, and the steps that it calls lucky."""

from __future__ import annotations

from enum import IntEnum
from math import exp

import numpy as np

from popsnet.network import Network
from popsnet.slot import Ints


class Phase(IntEnum):
    """The phase of a step, by the largest degree d_s of its conflict graph.

    Examples
    --------
    >>> from popsnet.theory import phase_of
    >>> phase_of(4096, 4096).name, phase_of(4096, 1200).name, phase_of(4096, 1000).name
    ('CONSTANT', 'SQUARING', 'SPARSE')
    """

    THINNING = 0
    """Above g, only for d > g: packets take part with the probability of section 3.2."""
    CONSTANT = 1
    """Above g/3: a lucky step delivers e^-2/2 of every large group. The paper ends the phase at any
    gx with x < 1/3; g/3 is the limit, below which squaring makes progress."""
    SQUARING = 2
    """Above g^(5/6): with λ = d_s/g a lucky step delivers (1 - λ)e^(-2λ), so that λ → 3λ². This
    phase is empty for g ≤ 729, where g^(5/6) ≥ g/3."""
    SPARSE = 3
    """Up to g^(5/6): the lemma needs no lucky step."""


def phase_of(g: int, degree: int) -> Phase:
    """Return the phase of a step that begins with this largest degree.

    Parameters
    ----------
    g : int
        The number of groups.
    degree : int
        The largest degree of the conflict graph before the step.

    Returns
    -------
    Phase
        The phase.

    Examples
    --------
    >>> from popsnet.theory import phase_of
    >>> phase_of(64, 64)
    <Phase.CONSTANT: 1>
    """
    if degree > g:
        return Phase.THINNING
    if degree <= g ** (5 / 6):
        return Phase.SPARSE
    return Phase.CONSTANT if degree > g / 3 else Phase.SQUARING


def planned_degree(network: Network, step: int) -> float:
    """Return the degree that section 3.2 plans before step s = 0, 1, …: d - gs/4, at least g."""
    return max(network.d - network.g * step / 4, network.g)


def large_degree(network: Network, degree: int, step: int) -> float:
    """Return the degree above which a lucky step must deliver a share of a group's packets.

    It is g^(5/6), or the planned degree of the next step while thinning.
    """
    if phase_of(network.g, degree) is Phase.THINNING:
        return planned_degree(network, step + 1)
    return float(network.g ** (5 / 6))


def lucky_share(network: Network, degree: int, step: int) -> float | None:
    """Return the least share of its packets that a lucky step delivers of every large group."""
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
    """Return the smallest share that a step delivered of a node with over ``large`` packets."""
    at = before > large
    return float(np.min(1 - after[at] / before[at])) if at.any() else None
