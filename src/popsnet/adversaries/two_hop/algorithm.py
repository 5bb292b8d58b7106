"""Two-hop algorithms: where everybody sends its packet, and what everybody listens to.

The class of the paper. Every processor has an A-buffer, which holds its own packet, and a
B-buffer. In odd slots every processor whose packet has not arrived sends it to group
c_out(i, t); whoever hears a packet puts it in its B-buffer. In the even slot after it everybody
sends what is in its B-buffer to the group of its destination, and empties the buffer. In all
slots processor i listens to group c_in(i, t). A packet that any processor of its destination
group hears has arrived and disappears, from the A-buffer as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.user_file import UserFile, find_algorithm
from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.slot import Ints

I32 = npt.NDArray[np.int32]

NOBODY = -1
"""What c_in gives for a processor that listens to no group."""

Choice: TypeAlias = Callable[[Network, int], Ints]
"""The group that each processor chooses in a slot 1, 2, …: an array of n."""


@dataclass(frozen=True)
class TwoHop:
    """A deterministic two-hop algorithm: its two functions, checked whenever they are asked."""

    name: str
    c_out: Choice
    """Defined for odd slots."""
    c_in: Choice
    """It may say ``NOBODY``."""

    def sent_to(self, network: Network, slot: int) -> I32:
        """c_out of all processors in an odd slot."""
        return self._asked("c_out", self.c_out, network, slot, least=0)

    def listened_to(self, network: Network, slot: int) -> I32:
        """c_in of all processors."""
        return self._asked("c_in", self.c_in, network, slot, least=NOBODY)

    def _asked(self, name: str, choice: Choice, network: Network, slot: int, least: int) -> I32:
        first = np.asarray(choice(network, slot))
        again = np.asarray(choice(network, slot))
        _require_same(f"{name} of {self.name}", slot, first, again)
        outside = (first < least) | (first >= network.g)
        if outside.any():
            i = int(np.argmax(outside))
            raise InputError(
                f"{name} of {self.name} gives group {first[i]} for processor {i} in slot {slot}; "
                f"groups are numbered 0 to {network.g - 1}."
            )
        return first.astype(np.int32)


@dataclass(frozen=True, eq=False)
class _RecordedAlgorithm(TwoHop):
    known: dict[tuple[str, int], I32]

    def _asked(self, name: str, choice: Choice, network: Network, slot: int, least: int) -> I32:
        now = super()._asked(name, choice, network, slot, least)
        before = self.known.setdefault((name, slot), now)
        _require_same(f"{name} of {self.name}", slot, before, now)
        return now


def recorded(algorithm: TwoHop) -> TwoHop:
    """The same algorithm; what it says of a slot must be what it said before, on one network."""
    return _RecordedAlgorithm(algorithm.name, algorithm.c_out, algorithm.c_in, {})


def _require_same(name: str, slot: int, first: Ints, again: Ints) -> None:
    """Refuse what is no function, with a witness: asked twice it says the same."""
    if again is first:
        return
    differs = first != again
    if differs.any():
        i = int(np.argmax(differs))
        raise InputError(
            f"{name} is not a function of processor and slot: for processor {i} in slot {slot} it "
            f"gives group {first[i]} and, asked again, group {again[i]}. A deterministic two-hop "
            "algorithm gives the same group always."
        )


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
