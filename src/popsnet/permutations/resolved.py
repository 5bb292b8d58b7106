"""Permutations however they are given: by name, as a file, or as an array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.errors import InputError, PermutationError, SizeError
from popsnet.network import Network
from popsnet.permutations.files import SUFFIXES, read_permutation
from popsnet.permutations.keyed import KeyedPermutation
from popsnet.permutations.named import find_permutation
from popsnet.permutations.uniform import UniformPermutation
from popsnet.permutations.validation import require_permutation
from popsnet.slot import Ints

Destinations: TypeAlias = Ints | KeyedPermutation | UniformPermutation
"""All destinations, or what computes them."""


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedPermutation:
    """A permutation for every run."""

    name: str
    """What identifies it: a name; for a file or an array, its kind and a digest."""
    file: str = ""
    """The file it was read from, if any."""
    make: Callable[[Network, Coins], Destinations] | None = None
    """Makes the permutation of a run from its coins."""
    array: npt.NDArray[np.int32] | None = None
    """The permutation of all runs, if it is there as an array."""

    def destination(self, network: Network, coins: Coins) -> Destinations:
        """Return the permutation of the run that has these coins."""
        if self.array is not None:
            return self.array
        assert self.make is not None
        return self.make(network, coins)


_COMPUTED: dict[str, Callable[[Network, Coins], Destinations]] = {
    "keyed": lambda network, coins: KeyedPermutation(network.n, coins),
    "random": lambda network, coins: UniformPermutation(network.n, coins),
}


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
    if name in _COMPUTED:
        return ResolvedPermutation(name, make=_COMPUTED[name])
    make = find_permutation(name, network)
    if network.n >= 2**31:
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
