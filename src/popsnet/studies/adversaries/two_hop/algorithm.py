"""Two-hop algorithms: the groups that processors send to and listen to in every slot.

This is a class of the paper. Every processor has an A-buffer, which holds its own packet, and a
B-buffer. In odd slots every processor i whose packet has not arrived sends it to group
c_out(i, t); a processor that hears a packet puts it in its B-buffer. In the next slot every
processor sends the packet in its B-buffer to the group of its destination, and empties the
buffer. In all slots processor i listens to group c_in(i, t). A packet that any processor of its
destination group hears has arrived, and disappears from the A-buffer as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import cycle
from typing import TypeAlias

import numpy as np

from popsnet.base.errors import InputError
from popsnet.model.coins import Coins
from popsnet.model.network import I32, Network
from popsnet.model.slot import Ints
from popsnet.programs.files import UserFile, find_algorithm

NO_GROUP = -1
"""The value of c_in for a processor that listens to no group."""

Choice: TypeAlias = Callable[[Network, int], Ints]
"""The group that each processor chooses in slot 1, 2, …: an array of n."""


@dataclass(frozen=True)
class TwoHop:
    """A deterministic two-hop algorithm: two functions, checked whenever they are called.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import find_two_hop
    >>> find_two_hop("rotation").sent_to(Network(2, 2), slot=1).tolist()
    [0, 1, 1, 0]
    """

    name: str
    c_out: Choice
    """The group that each processor sends to, in odd slots."""
    c_in: Choice
    """The group that each processor listens to; ``NO_GROUP`` for none."""
    known: dict[tuple[str, int], I32] | None = field(default=None, repr=False, compare=False)
    """What was answered so far, by function and slot, if answers are recorded."""

    def sent_to(self, network: Network, slot: int) -> I32:
        """Return c_out of all processors in an odd slot."""
        return self._asked("c_out", self.c_out, network, slot, least=0)

    def listened_to(self, network: Network, slot: int) -> I32:
        """Return c_in of all processors in a slot."""
        return self._asked("c_in", self.c_in, network, slot, least=NO_GROUP)

    def _asked(self, name: str, choice: Choice, network: Network, slot: int, least: int) -> I32:
        first = np.asarray(choice(network, slot))
        _require_same(f"{name} of {self.name}", slot, first, np.asarray(choice(network, slot)))
        outside = (first < least) | (first >= network.g)
        if outside.any():
            i = int(np.argmax(outside))
            raise InputError(
                f"{name} of {self.name} gives group {first[i]} for processor {i} in slot {slot}; "
                f"groups are numbered 0 to {network.g - 1}."
            )
        groups = first.astype(np.int32)
        if self.known is not None:
            before = self.known.setdefault((name, slot), groups)
            _require_same(f"{name} of {self.name}", slot, before, groups)
        return groups


def _require_same(name: str, slot: int, first: Ints, again: Ints) -> None:
    """Raise an error that names a witness if two answers for one slot differ."""
    differs = first != again
    if differs.any():
        i = int(np.argmax(differs))
        raise InputError(
            f"{name} is not a function of processor and slot: for processor {i} in slot {slot} it "
            f"gives group {first[i]} and, asked again, group {again[i]}. A deterministic two-hop "
            "algorithm must always give the same group."
        )


def _kept(choice: Choice) -> Choice:
    """Cache the groups of the last slots, one group per processor."""

    @lru_cache(maxsize=2)
    def choose(network: Network, slot: int) -> Ints:
        groups = choice(network, slot).ravel()
        groups.flags.writeable = False
        return groups

    return choose


def one_listener(network: Network, slot: int) -> Ints:
    """Give each coupler at most one listener: index a of every group listens to group a.

    For d < g the groups take turns, d of them in each round of two slots.
    """
    return _one_listener(network, 0 if network.d >= network.g else (slot - 1) // 2)


@_kept
def _one_listener(network: Network, turn: int) -> Ints:
    d, g = network.d, network.g
    index = np.arange(d)
    listened = np.where(index < g, index, NO_GROUP) if d >= g else (index + turn * d) % g
    return np.tile(listened.astype(np.int32), g)


def _of_places(choose: Callable[[int, int, Ints, Ints], Ints]) -> Choice:
    """Make a choice of a function of g, the round, the groups and the indices.

    Groups are a column and indices a row, so an expression of both has the processors in order.
    """
    return _kept(
        lambda network, slot: choose(
            network.g, slot // 2, np.arange(network.g)[:, np.newaxis], np.arange(network.d)
        )
    )


@_of_places
def _rotation(g: int, turn: int, group: Ints, index: Ints) -> Ints:
    """Send to the next group in every round."""
    return (group + (turn + index)) % g


@_of_places
def _shear(g: int, turn: int, group: Ints, index: Ints) -> Ints:
    """Send to index plus round times group; for g prime two processors meet once in g rounds."""
    return (index + turn * group) % g


@_of_places
def _bits(g: int, turn: int, group: Ints, index: Ints) -> Ints:
    """Send to the index rotated by one bit per round, exclusive or with the group."""
    width = max((g - 1).bit_length(), 1)
    index, turn = index % 2**width, turn % width
    turned: Ints = (index >> turn | index << (width - turn)) % 2**width
    return (turned ^ group) % g


@_kept
def _affine(network: Network, slot: int) -> Ints:
    """Send to a linear hash modulo the prime 2^31 - 1, another one in every round."""
    prime, round_ = 2**31 - 1, slot // 2
    factor, term = pow(7, round_ + 1, prime), pow(48271, round_ + 2, prime)
    return (np.arange(network.n) * factor + term) % prime * network.g // prime


def _drawn(coins: Coins, purpose: str) -> Choice:
    """Draw a group for every processor and slot, which is a function once the coins are given."""
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
"""The deterministic two-hop algorithms of popsnet, by name."""


def randomized(coins: Coins) -> TwoHop:
    """Return the randomized two-hop algorithm for the given coins.

    Every source sends to a uniform random group in each round.

    Parameters
    ----------
    coins : Coins
        The random draws.

    Returns
    -------
    TwoHop
        The algorithm, which is deterministic once the coins are given.

    Notes
    -----
    It takes O(log log g) rounds for d = g with high probability. It is the paper's randomized
    router without acknowledgements and without its last hop, which the class takes for granted.
    The adversary of a randomized algorithm must choose its permutation before the coins are drawn.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import randomized
    >>> from popsnet.model.coins import Coins
    >>> len(randomized(Coins(1)).sent_to(Network(4, 4), slot=1))
    16
    """
    return TwoHop("randomized", _drawn(coins, "two-hop randomized"), one_listener)


def find_two_hop(name: str) -> TwoHop:
    """Return a two-hop algorithm by name, or load one from a file.

    Parameters
    ----------
    name : str
        A key of ``FAMILIES``, or a ``.py`` file that defines ``c_out(d, g, processor, slot)``.

    Returns
    -------
    TwoHop
        The algorithm.

    Raises
    ------
    InputError
        If there is no algorithm of that name, or the file does not define one.

    Examples
    --------
    >>> from popsnet.studies.adversaries import FAMILIES, find_two_hop
    >>> sorted(FAMILIES)
    ['affine', 'bits', 'hashed', 'rotation', 'shear']
    >>> find_two_hop("shear").name
    'shear'
    """
    usage = "c_out(d, g, processor, slot)"
    return find_algorithm(name, FAMILIES, _two_hop_of_file, "two-hop algorithm", usage)


def _two_hop_of_file(path: str) -> TwoHop:
    """Return the algorithm of a file that defines ``c_out(d, g, processor, slot)``, a group.

    The file may define ``c_in`` in the same way, with -1 for no group; otherwise each coupler has
    one listener. With ``arrays = True`` in the file both are called once per slot, with an array
    of processors.
    """
    file = UserFile(path, "a two-hop algorithm")
    usage = "(d, g, processor, slot), which returns a group"
    c_out = _choice(file, "c_out", f"c_out{usage}")
    has_c_in, usage = "c_in" in file, f"c_in{usage}, or leave it out"
    return TwoHop(path, c_out, _choice(file, "c_in", usage) if has_c_in else one_listener)


def _choice(file: UserFile, name: str, usage: str) -> Choice:
    """Return the choices of all processors, asked for in alternating order.

    So a function that depends on the order of the calls is found out when it is called twice.
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
            rule = "an array of" if file.takes_arrays else "one group per processor, in all"
            rule = f"it must return {rule} {n} integers"
            raise InputError(f"{file.path}: {name} returns {values!r:.60}; {rule}.")
        return groups.astype(np.int64)

    return choose
