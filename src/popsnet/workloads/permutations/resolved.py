"""Permutations given by name, as a file or as an array.

Processor j = (b, l) has group b = j div d and index l = j mod d.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.base.arrays import digest
from popsnet.base.errors import PermutationError, abbreviated, require_text, unknown, wrong
from popsnet.base.report import plural
from popsnet.model.coins import Coins
from popsnet.model.network import Network, on_network, require_network
from popsnet.model.slot import Ints
from popsnet.workloads.permutations.files import SUFFIXES, read_permutation, require_permutation
from popsnet.workloads.permutations.keyed import KeyedPermutation
from popsnet.workloads.permutations.uniform import UniformPermutation

Array: TypeAlias = npt.NDArray[np.int32]
Destinations: TypeAlias = Ints | KeyedPermutation | UniformPermutation
"""All destinations, or an object that computes them."""

Maker: TypeAlias = Callable[[Network, Coins], Array | KeyedPermutation | UniformPermutation]


def random(network: Network, coins: Coins) -> UniformPermutation:
    """Draw a permutation that is uniform among all n! permutations."""
    return UniformPermutation(network.n, coins)


def keyed(network: Network, coins: Coins) -> KeyedPermutation:
    """Draw a bijection that is computed from a key, as good as a uniform one here."""
    return KeyedPermutation(network.n, coins)


def identity(network: Network, coins: Coins) -> Array:
    """Send every packet to the processor at which it starts."""
    return network.processors


def reversal(network: Network, coins: Coins) -> Array:
    """Send packet i to n - 1 - i."""
    return network.n - 1 - network.processors


def transpose(network: Network, coins: Coins) -> Array:
    """Transpose the g × d matrix of processors: (b, l) goes to number l·g + b."""
    j = network.processors
    return network.index(j) * network.g + network.group(j)


def bit_reversal(network: Network, coins: Coins) -> Array:
    """Reverse the bits of i, for n a power of two."""
    _require_power_of_two(network)
    forward, reverse = network.processors, np.zeros(network.n, dtype=np.int32)
    for _ in range(network.n.bit_length() - 1):
        reverse = reverse << 1 | forward & 1
        forward >>= 1
    return reverse


def _require_power_of_two(network: Network) -> None:
    if network.n & (network.n - 1):
        raise PermutationError(
            f"bit-reversal: n must be a power of two; {network} has n = {network.n}."
        )


def shuffle(network: Network, coins: Coins) -> Array:
    """Shuffle perfectly: i to 2i mod (n - 1), the last to itself, and 2i mod n for odd n."""
    n = network.n
    doubled = 2 * np.arange(n, dtype=np.int64) % max(n - 1 + n % 2, 1)
    if n % 2 == 0:
        doubled[-1] = n - 1
    return doubled.astype(np.int32)


def shift(network: Network, coins: Coins, by: int = 1) -> Array:
    """Send packet i to (i + by) mod n."""
    return np.roll(network.processors, -(by % network.n))


def group_permutation(network: Network, coins: Coins) -> Array:
    """Send (b, l) to (s(b), l), s a uniform permutation: a group shares one coupler."""
    target = UniformPermutation(network.g, coins, "group permutation").array()
    j = network.processors
    return network.processor(target[network.group(j)], network.index(j))


def tornado(network: Network, coins: Coins) -> Array:
    """Send (b, l) to (b + ⌈g/2⌉ - 1 mod g, l), almost half way round a ring of groups."""
    return shift(network, coins, by=((network.g + 1) // 2 - 1) * network.d)


NAMES: dict[str, Maker] = {
    make.__name__.replace("_", "-"): make
    for make in (
        random, keyed, identity, reversal, transpose, bit_reversal, shuffle, shift,
        group_permutation, tornado,
    )
}  # fmt: skip


@on_network
def make_permutation(name: str, network: Network, coins: Coins) -> Array:
    """Return the permutation of that name, or that of a file.

    Parameters
    ----------
    name : str
        One of the names in ``popsnet.workloads.permutations.NAMES``, ``shift:K`` where K is an
        integer or ``d``, or a file that ends in ``.npy``, ``.csv`` or ``.json``.
    network : Network, or int and int
        The network, or its d and g.
    coins : Coins
        The coins of random permutations.

    Returns
    -------
    array of int32
        The destination of each packet.

    Raises
    ------
    PermutationError
        If there is no such permutation, or none on this network.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.make_permutation("transpose", popsnet.Network(2, 3), popsnet.Coins(0))
    array([0, 3, 1, 4, 2, 5], dtype=int32)
    """
    require_network(network)
    if not isinstance(coins, Coins):
        raise wrong("coins", abbreviated(coins))("give Coins, as in Coins(0).")
    made = find_permutation(name, network)(network, coins)
    return made.array() if isinstance(made, KeyedPermutation | UniformPermutation) else made


def find_permutation(name: str, network: Network | None = None) -> Maker:
    """Return the function that makes the permutation of that name.

    Parameters
    ----------
    name : str
        A name or a file, as for :func:`make_permutation`.
    network : Network, optional
        The network on which the permutation must be defined.

    Returns
    -------
    function
        Takes a network and coins, and returns the destinations or an object that computes them.

    Raises
    ------
    PermutationError
        If there is no such permutation, or none on this network.

    Examples
    --------
    >>> from popsnet import Coins, Network
    >>> from popsnet.workloads.permutations import find_permutation
    >>> find_permutation("reversal")(Network(2, 2), Coins(0))
    array([3, 2, 1, 0], dtype=int32)
    """
    require_text("name", name)
    if name == "bit-reversal" and network is not None:
        _require_power_of_two(network)
    if name in NAMES:
        return NAMES[name]
    if name.startswith("shift:"):
        return _shift_by(name.removeprefix("shift:"))
    if Path(name).suffix.lower() in SUFFIXES:
        return lambda network, coins: read_permutation(Path(name), network.n)
    known, more = [*NAMES, "shift:K", "shift:d"], f"; or a file ending in {', '.join(SUFFIXES)}"
    raise PermutationError(str(unknown("permutation", name, known, more)))


def _shift_by(distance: str) -> Maker:
    if distance == "d":
        return lambda network, coins: shift(network, coins, by=network.d)
    try:
        by = int(distance)
    except ValueError:
        raise PermutationError(
            f"'shift:{distance}': a shift must be by an integer or by d, as in shift:1 or shift:d."
        ) from None
    return lambda network, coins: shift(network, coins, by=by)


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedPermutation:
    """The permutations of all runs of an experiment."""

    name: str
    """Its name, or for a file or an array its kind and a digest."""
    file: str = ""
    """The file that it was read from, if any."""
    make: Maker | None = None
    """Makes the permutation of a run from its coins."""
    given: Array | None = None
    """The permutation of all runs, or of each run in a row, if given as a file or an array."""
    start: ClassVar[None] = None
    """Where the packets start, None if packet i starts at processor i."""
    demand: ClassVar[None] = None
    """The packets, if it is not a permutation."""

    def destination(self, network: Network, coins: Coins, run: int) -> Destinations:
        """Return the permutation of the run that has this number and these coins."""
        if self.given is not None:
            self.require_run(run)
            return self.given[run] if self.given.ndim == 2 else self.given
        assert self.make is not None
        return self.make(network, coins)

    def require_run(self, run: int) -> None:
        """Refuse a run that has no row."""
        if self.given is not None and self.given.ndim == 2 and run >= len(self.given):
            raise PermutationError(
                f"permutation has {plural(len(self.given), 'row')}, one for each run, so there is "
                f"no run {run:,}: runs count from 0. Give fewer runs, or an array of more rows.",
                parameter="permutation",
            )


def resolve_permutation(
    permutation: str | Path | npt.ArrayLike | ResolvedPermutation, network: Network
) -> ResolvedPermutation:
    """Return a permutation, and refuse one that does not fit the network."""
    if isinstance(permutation, ResolvedPermutation):
        if permutation.given is not None:
            _require_rows(permutation.given, network.n, permutation.file or "permutation")
        return permutation
    if not isinstance(permutation, str | Path):
        return _of_array(permutation, network)
    name, path = str(permutation), Path(permutation)
    make = find_permutation(name, network)
    if network.n >= 2**31 and make not in (keyed, random):
        raise wrong("permutation", repr(name))(
            f"it is limited to n < 2^31 and {network} has n = {network.n:,} processors; use "
            "'keyed' or 'random'."
        )
    if path.suffix.lower() in SUFFIXES:
        return _of_file(path, network)
    return ResolvedPermutation(name, make=make)


def _of_array(permutation: npt.ArrayLike, network: Network) -> ResolvedPermutation:
    try:
        array = None if np.ma.isMaskedArray(permutation) else np.asarray(permutation)
    except ValueError:  # rows of different lengths
        array = None
    if array is None or array.ndim == 0:
        raise wrong("permutation", f"{permutation!r:.60}")(
            "give a name, a file, an array of n destinations, or one of a row per run."
        )
    values = _require_rows(array, network.n, "permutation")
    values.flags.writeable = False
    shape = f"{len(values)} rows".encode() if values.ndim == 2 else b""
    data = shape + values.astype("<i4").tobytes()
    return ResolvedPermutation(f"array:{digest(data)}", given=values)


def _require_rows(values: npt.NDArray[Any], n: int, origin: str) -> Array:
    """Return an array of one permutation, or of several in rows, and refuse any other."""
    if values.ndim == 1:
        return require_permutation(values, n, origin)
    if values.ndim != 2 or values.shape[1] != n or not len(values):
        raise PermutationError(
            f"{origin} has shape {values.shape}; give a row of n = {n:,} integers, or an array of "
            f"shape (runs, {n}), whose row r is the permutation of run r."
        )
    is_wrong = (np.sort(values, axis=1) != np.arange(n)).any(axis=1)
    row = int(np.argmax(is_wrong))
    require_permutation(values[row], n, f"{origin}, row {row},")
    return values.astype(np.int32)


def _of_file(path: Path, network: Network) -> ResolvedPermutation:
    values = read_permutation(path, network.n)
    values.flags.writeable = False
    name = f"file{path.suffix.lower()}:{digest(path.read_bytes())}"
    if (values != read_permutation(path, network.n)).any():
        raise PermutationError(f"{path} changed while it was being read; try again.")
    return ResolvedPermutation(name, str(path.resolve()), given=values)
