"""Two-hop algorithms that ship, deterministic ones and the randomized one."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from popsnet.adversaries.two_hop.algorithm import NOBODY, Choice, TwoHop
from popsnet.adversaries.two_hop.user_defined import two_hop_of_file
from popsnet.adversaries.user_file import find_algorithm
from popsnet.coins import Coins
from popsnet.network import Network
from popsnet.slot import Ints

_kept = lru_cache(maxsize=2)
"""A choice is asked twice for each slot, to see that it is a function: the second time is free."""


def one_listener(network: Network, slot: int) -> Ints:
    """Each coupler has at most one listener: index a of every group listens to group a.

    With d < g the groups are taken in turns, d in each round of two slots.
    """
    return _one_listener(network, 0 if network.d >= network.g else (slot - 1) // 2)


@_kept
def _one_listener(network: Network, turn: int) -> Ints:
    d, g = network.d, network.g
    index = np.arange(d)
    listened = np.where(index < g, index, NOBODY) if d >= g else (index + turn * d) % g
    return _read_only(np.tile(listened.astype(np.int32), g))


@_kept
def _rotation(network: Network, slot: int) -> Ints:
    """Every processor moves on by one group per round."""
    group, index = _groups_and_indices(network)
    return _read_only((group + (slot // 2 + index)) % network.g)


@_kept
def _shear(network: Network, slot: int) -> Ints:
    """Index plus round times group: for g prime, two that meet do so once in g rounds."""
    group, index = _groups_and_indices(network)
    return _read_only((index + slot // 2 * group) % network.g)


@_kept
def _bits(network: Network, slot: int) -> Ints:
    """The index turned by a bit per round, exclusive or with the group."""
    group, index = _groups_and_indices(network)
    width = max((network.g - 1).bit_length(), 1)
    index, turn = index % 2**width, slot // 2 % width
    turned = (index >> turn | index << (width - turn)) % 2**width
    return _read_only((turned ^ group) % network.g)


@_kept
def _affine(network: Network, slot: int) -> Ints:
    """A linear hash modulo the prime 2^31 - 1, another one in every round."""
    prime, round_ = 2**31 - 1, slot // 2
    factor, term = pow(7, round_ + 1, prime), pow(48271, round_ + 2, prime)
    return _read_only((np.arange(network.n) * factor + term) % prime * network.g // prime)


def _drawn(coins: Coins, purpose: str) -> Choice:
    """A group that is drawn for every processor and slot; given the coins, it is a function."""

    @_kept
    def c_out(network: Network, slot: int) -> Ints:
        return _read_only(coins.draws(network.g, purpose, slot, network.processors))

    return c_out


def _groups_and_indices(network: Network) -> tuple[Ints, Ints]:
    """A column and a row: an expression of both has the processors in their order."""
    return np.arange(network.g)[:, np.newaxis], np.arange(network.d)


def _read_only(groups: Ints) -> Ints:
    """One group per processor, in an array that is kept."""
    groups = groups.ravel()
    groups.flags.writeable = False
    return groups


FAMILIES = {
    name: TwoHop(name, c_out, one_listener)
    for name, c_out in (
        ("affine", _affine),
        ("bits", _bits),
        ("hashed", _drawn(Coins(0), "two-hop hashed")),
        ("rotation", _rotation),
        ("shear", _shear),
    )
}
"""The deterministic ones by name."""


def randomized(coins: Coins) -> TwoHop:
    """Every source sends to a uniform random group each round: O(log log g) rounds for d = g.

    The paper's randomized router without its acks and its last hop, which the class takes for
    granted. With given coins it is one of the class; the adversary of a randomized algorithm
    must choose its permutation before the coins are drawn.
    """
    return TwoHop("randomized", _drawn(coins, "two-hop randomized"), one_listener)


def find_two_hop(name: str) -> TwoHop:
    """Return the shipped algorithm of that name, or the one that a file ``name.py`` defines."""

    def load(path: Path) -> TwoHop:
        return two_hop_of_file(path, one_listener)

    usage = "c_out(d, g, processor, slot)"
    return find_algorithm(name, FAMILIES, load, "two-hop algorithm", usage)
