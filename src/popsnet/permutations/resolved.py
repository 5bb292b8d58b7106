"""Permutations however they are given: by name, as a file, or as an array.

Processor j = (b, l) has group b = j div d and index l = j mod d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.errors import InputError, PermutationError, SizeError, did_you_mean
from popsnet.network import Network
from popsnet.permutations.files import SUFFIXES, read_permutation, require_permutation
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.permutations.uniform import UniformPermutation
from popsnet.slot import Ints

Array: TypeAlias = npt.NDArray[np.int32]
Destinations: TypeAlias = Ints | KeyedPermutation | UniformPermutation
"""All destinations, or what computes them."""

Maker: TypeAlias = Callable[[Network, Coins], Array | KeyedPermutation | UniformPermutation]


def random(network: Network, coins: Coins) -> UniformPermutation:
    """Uniform among all n! permutations."""
    return UniformPermutation(network.n, coins)


def keyed(network: Network, coins: Coins) -> KeyedPermutation:
    """A bijection computed from a key, as good as uniform here; see ``keyed``."""
    return KeyedPermutation(network.n, coins)


def identity(network: Network, coins: Coins) -> Array:
    """Every packet is for the processor it starts at."""
    return network.processors


def reversal(network: Network, coins: Coins) -> Array:
    """Packet i goes to n - 1 - i."""
    return network.n - 1 - network.processors


def transpose(network: Network, coins: Coins) -> Array:
    """The g × d matrix of processors, transposed: (b, l) to number l·g + b."""
    j = network.processors
    return network.index(j) * network.g + network.group(j)


def bit_reversal(network: Network, coins: Coins) -> Array:
    """The bits of i in reverse order; n must be a power of two."""
    _require_power_of_two(network)
    forward, reverse = network.processors, np.zeros(network.n, dtype=np.int32)
    for _ in range(network.n.bit_length() - 1):
        reverse = reverse << 1 | forward & 1
        forward >>= 1
    return reverse


def _require_power_of_two(network: Network) -> None:
    if network.n & (network.n - 1):
        raise PermutationError(
            f"bit-reversal needs n to be a power of two; {network} has n = {network.n}."
        )


def shuffle(network: Network, coins: Coins) -> Array:
    """The perfect shuffle: i to 2i mod (n - 1), the last in place; 2i mod n for odd n."""
    n = network.n
    doubled = 2 * np.arange(n, dtype=np.int64) % max(n - 1 + n % 2, 1)
    if n % 2 == 0:
        doubled[-1] = n - 1
    return doubled.astype(np.int32)


def shift(network: Network, coins: Coins, by: int = 1) -> Array:
    """Packet i goes to i + by mod n."""
    return np.roll(network.processors, -(by % network.n))


def group_permutation(network: Network, coins: Coins) -> Array:
    """(b, l) to (s(b), l), s a uniform permutation of the groups: all share one coupler."""
    target = UniformPermutation(network.g, coins, "group permutation").array()
    j = network.processors
    return network.processor(target[network.group(j)], network.index(j))


def tornado(network: Network, coins: Coins) -> Array:
    """(b, l) to (b + ⌈g/2⌉ - 1 mod g, l): almost half way round the groups, as on a ring."""
    return shift(network, coins, by=((network.g + 1) // 2 - 1) * network.d)


NAMES: dict[str, Maker] = {
    make.__name__.replace("_", "-"): make
    for make in (
        random, keyed, identity, reversal, transpose, bit_reversal, shuffle, shift,
        group_permutation, tornado,
    )
}  # fmt: skip


def make_permutation(name: str, network: Network, coins: Coins) -> Array:
    """The permutation of that name, ``shift:K`` (K a number, or ``d``), or that of a file."""
    made = find_permutation(name, network)(network, coins)
    return made.array() if isinstance(made, KeyedPermutation | UniformPermutation) else made


def find_permutation(name: str, network: Network | None = None) -> Maker:
    """Return what makes the permutation of that name.

    Refuses a name that means nothing, and one that is not defined on the network.
    """
    if name == "bit-reversal" and network is not None:
        _require_power_of_two(network)
    if name in NAMES:
        return NAMES[name]
    if name.startswith("shift:"):
        return _shift_by(name.removeprefix("shift:"))
    if Path(name).suffix.lower() in SUFFIXES:
        return lambda network, coins: read_permutation(Path(name), network.n)
    meant = did_you_mean(name, [*NAMES, "shift:d"])
    raise PermutationError(
        f"There is no permutation {name!r}.{meant} Give one of: {', '.join(NAMES)}, shift:K, "
        f"shift:d; or a file ending in {', '.join(SUFFIXES)}."
    )


def _shift_by(distance: str) -> Maker:
    if distance == "d":
        return lambda network, coins: shift(network, coins, by=network.d)
    try:
        by = int(distance)
    except ValueError:
        raise PermutationError(
            f"'shift:{distance}': a shift is by a whole number or by d, as in shift:1 or shift:d."
        ) from None
    return lambda network, coins: shift(network, coins, by=by)


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedPermutation:
    """A permutation for every run."""

    name: str
    """What identifies it: a name; for a file or an array, its kind and a digest."""
    file: str = ""
    """The file it was read from, if any."""
    make: Maker | None = None
    """Makes the permutation of a run from its coins."""
    array: Array | None = None
    """The permutation of all runs, if it is there as an array."""

    def destination(self, network: Network, coins: Coins) -> Destinations:
        """Return the permutation of the run that has these coins."""
        if self.array is not None:
            return self.array
        assert self.make is not None
        return self.make(network, coins)


def resolve_permutation(
    permutation: str | Path | npt.ArrayLike | ResolvedPermutation, network: Network
) -> ResolvedPermutation:
    """Return a permutation; refuse what is not one on the network."""
    if isinstance(permutation, ResolvedPermutation):
        if permutation.array is not None:
            require_permutation(permutation.array, network.n, permutation.file or "permutation")
        return permutation
    if not isinstance(permutation, str | Path):
        return _of_array(permutation, network)
    name, path = str(permutation), Path(permutation)
    make = find_permutation(name, network)
    if network.n >= 2**31 and make not in (keyed, random):
        raise SizeError(
            f"permutation = {name!r} has 31-bit numbers and {network} has n = {network.n:,} "
            "processors; give 'keyed' or 'random'."
        )
    if path.suffix.lower() in SUFFIXES:
        return _of_file(path, network)
    return ResolvedPermutation(name, make=make)


def _of_array(permutation: npt.ArrayLike, network: Network) -> ResolvedPermutation:
    try:
        given = None if np.ma.isMaskedArray(permutation) else np.asarray(permutation)
    except ValueError:  # rows of different lengths
        given = None
    if given is None or given.ndim == 0:
        raise InputError(
            f"permutation = {permutation!r:.60}: give a name, a file or an array of n destinations."
        )
    values = require_permutation(given, network.n, "permutation")
    values.flags.writeable = False
    return ResolvedPermutation(f"array:{_digest(values.astype('<i4').tobytes())}", array=values)


def _of_file(path: Path, network: Network) -> ResolvedPermutation:
    values = read_permutation(path, network.n)
    values.flags.writeable = False
    digest = _digest(path.read_bytes())
    if (values != read_permutation(path, network.n)).any():
        raise PermutationError(f"{path} was changed while it was read; try again.")
    return ResolvedPermutation(
        f"file{path.suffix.lower()}:{digest}", str(path.resolve()), array=values
    )


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=16).hexdigest()
