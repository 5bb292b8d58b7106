"""Two-hop algorithms that ship, deterministic ones and the randomized one."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import cycle

import numpy as np

from popsnet.adversaries.two_hop.algorithm import NOBODY, Choice, TwoHop
from popsnet.adversaries.user_file import UserFile, find_algorithm
from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.slot import Ints


def _kept(choice: Choice) -> Choice:
    """Keep what it gives, one group per processor: asked again for a slot, it costs nothing."""

    @lru_cache(maxsize=2)
    def choose(network: Network, slot: int) -> Ints:
        groups = choice(network, slot).ravel()
        groups.flags.writeable = False
        return groups

    return choose


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
    return np.tile(listened.astype(np.int32), g)


def _of_places(choose: Callable[[int, int, Ints, Ints], Ints]) -> Choice:
    """The choice that a function of g, the round, the groups and the indices makes.

    These are a column and a row: an expression of both has the processors in their order.
    """
    return _kept(
        lambda network, slot: choose(
            network.g, slot // 2, np.arange(network.g)[:, np.newaxis], np.arange(network.d)
        )
    )


@_of_places
def _rotation(g: int, turn: int, group: Ints, index: Ints) -> Ints:
    """Every processor moves on by one group per round."""
    return (group + (turn + index)) % g


@_of_places
def _shear(g: int, turn: int, group: Ints, index: Ints) -> Ints:
    """Index plus round times group: for g prime, two that meet do so once in g rounds."""
    return (index + turn * group) % g


@_of_places
def _bits(g: int, turn: int, group: Ints, index: Ints) -> Ints:
    """The index turned by a bit per round, exclusive or with the group."""
    width = max((g - 1).bit_length(), 1)
    index, turn = index % 2**width, turn % width
    turned: Ints = (index >> turn | index << (width - turn)) % 2**width
    return (turned ^ group) % g


@_kept
def _affine(network: Network, slot: int) -> Ints:
    """A linear hash modulo the prime 2^31 - 1, another one in every round."""
    prime, round_ = 2**31 - 1, slot // 2
    factor, term = pow(7, round_ + 1, prime), pow(48271, round_ + 2, prime)
    return (np.arange(network.n) * factor + term) % prime * network.g // prime


def _drawn(coins: Coins, purpose: str) -> Choice:
    """A group that is drawn for every processor and slot; given the coins, it is a function."""
    return _kept(lambda network, slot: coins.draws(network.g, purpose, slot, network.processors))


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
    usage = "c_out(d, g, processor, slot)"
    return find_algorithm(name, FAMILIES, _two_hop_of_file, "two-hop algorithm", usage)


def _two_hop_of_file(path: str) -> TwoHop:
    """Return the algorithm of a file that defines ``c_out(d, g, processor, slot)``, a group.

    It may define ``c_in`` in the same way, -1 for no group; otherwise each coupler has
    one listener. With ``arrays = True`` in the file both are called once per slot, with an array
    of processors.
    """
    file = UserFile(path, "a two-hop algorithm")
    usage = "(d, g, processor, slot), which gives a group"
    c_out = _choice(file, "c_out", f"c_out{usage}")
    has_c_in, usage = "c_in" in file, f"c_in{usage}, or leave it out"
    return TwoHop(path, c_out, _choice(file, "c_in", usage) if has_c_in else one_listener)


def _choice(file: UserFile, name: str, usage: str) -> Choice:
    """The choices of all processors; numbers are asked for in turns upwards and downwards.

    So what depends on the order of the questions does not stay hidden when it is asked twice.
    """
    function, turns = file.function(name, usage), cycle((1, -1))

    def choose(network: Network, slot: int) -> Ints:
        d, g, n = network.d, network.g, network.n
        if file.takes_arrays:
            values = function(d, g, np.arange(n), slot)
        else:
            turn = next(turns)
            values = [function(d, g, i, slot) for i in range(n)[::turn]][::turn]
        groups = np.asarray(values)
        if groups.shape != (n,) or groups.dtype.kind not in "iu":
            rule = f"it must give a row of {n} whole numbers"
            raise InputError(f"{file.path}: {name} gives {values!r:.60}; {rule}.")
        return groups.astype(np.int64)

    return choose
