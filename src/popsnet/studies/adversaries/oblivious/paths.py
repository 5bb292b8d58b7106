"""Path systems: the paths that an oblivious algorithm fixes for every pair of processors.

An oblivious algorithm fixes, for every source a and destination b, the processors on the path of a
packet from a to b. The couplers follow: from a processor of group A to one of group B there is only
c(B, A). Nothing else about a run may change the path. When a packet moves, and which packet goes
first, is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isqrt
from operator import index
from typing import TypeAlias

import numpy as np

from popsnet.base.errors import InputError
from popsnet.model.coins import Coins
from popsnet.model.network import U16, Network
from popsnet.model.slot import Ints
from popsnet.programs.files import UserFile, find_algorithm

Ways: TypeAlias = Callable[[Network, Ints, Ints], Ints]
"""For each pair of source and destination, a row with the processors after the source."""

_ONLY = "A path may depend on its source and destination only."

_LIST = "list of processors after the source, the destination last"

_ALONE = 16
"""This many pairs of every block are asked for one by one."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class PathSystem:
    """The paths of an oblivious algorithm, checked whenever they are asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.studies.adversaries import find_paths
    >>> find_paths("residue").between(Network(2, 2), np.array([0]), np.array([3])).tolist()
    [[0, 2, 3]]
    """

    name: str
    summary: str
    ways: Ways
    """Rows have one length and end at the destination; a packet waits at a repeated processor."""
    known: U16 | None = field(default=None, repr=False, compare=False)
    """16 bits of the path for each destination and source, if paths are recorded; 0 if unknown.

    So what an adversary proves, counts and executes is about one path system, though it asks for
    paths many times. A changed path is missed with probability 1/65,535.
    """

    def between(self, network: Network, sources: Ints, destinations: Ints) -> Ints:
        """Return the paths of m pairs as an array of m rows, each with its source in front.

        A packet that starts at its destination stays there, whatever its path is.
        """
        return self._noted(self._asked(network, sources, destinations))

    def _asked(self, network: Network, sources: Ints, destinations: Ints) -> Ints:
        ways = np.asarray(self.ways(network, sources, destinations))
        outside = np.any((ways < 0) | (ways >= network.n), axis=1)
        for wrong, what in (
            (outside, f"leaves 0 to {network.n - 1}"),
            (ways[:, -1] != destinations, "does not end at its destination"),
        ):
            if wrong.any():
                i = int(np.argmax(wrong))
                raise InputError(
                    f"The path of {self.name} from {sources[i]} to {destinations[i]}, "
                    f"{ways[i].tolist()}, {what}; give the processors after the source, the "
                    "destination last."
                )
        ways = np.where((sources == destinations)[:, None], destinations[:, None], ways)
        return np.column_stack([sources, ways]).astype(np.int32)

    def require_oblivious(self, network: Network, sources: Ints, destinations: Ints) -> Ints:
        """Return the paths of some pairs, or raise an error if they depend on anything else.

        A function of many pairs at once could look at the other pairs. So the pairs are asked for
        again in two halves in another order, and some of them alone.
        """
        first = self._asked(network, sources, destinations)
        order = np.random.default_rng(len(sources)).permutation(len(sources))
        alone = order[:_ALONE]
        for some in (*np.array_split(order, 2), *alone[:, None]):
            if some.size:
                again = self._asked(network, sources[some], destinations[some])
                self._require_same(first[some], again)
        return self._noted(first)

    def _require_same(self, first: Ints, again: Ints) -> None:
        width = max(first.shape[1], again.shape[1])
        wide = (
            np.pad(ways, ((0, 0), (0, width - ways.shape[1])), mode="edge")  # it waits at its end
            for ways in (first, again)
        )
        differs = np.not_equal(*wide).any(axis=1)
        if differs.any():
            i = int(np.argmax(differs))
            raise InputError(
                f"{self.name} is not oblivious: from {first[i, 0]} to {first[i, -1]} it goes by "
                f"{stops(first[i])} and, asked again, by {stops(again[i])}. {_ONLY}"
            )

    def _noted(self, ways: Ints) -> Ints:
        """Return the paths, and refuse those that were others before, if paths are recorded."""
        if self.known is None:
            return ways
        sources, destinations, now = ways[:, 0], ways[:, -1], _fingerprints(ways)
        before = self.known[destinations, sources]
        differs = (before != 0) & (before != now)
        if differs.any():
            i = int(np.argmax(differs))
            raise InputError(
                f"{self.name} is not oblivious: from {sources[i]} to {destinations[i]} it goes by "
                f"{stops(ways[i])}, but it went another way when asked before. {_ONLY}"
            )
        self.known[destinations, sources] = now
        return ways


def stops(way: Ints | Sequence[int]) -> str:
    """Format a path without its source."""
    return " → ".join(map(str, way[1:]))


def _fingerprints(ways: Ints) -> U16:
    """Hash each path to 16 bits, never 0; waiting does not change the hash."""
    mixed = np.zeros(len(ways), dtype=np.uint64)
    for stops, following in zip(ways.T, ways.T[1:], strict=False):
        moved = (mixed ^ (following.astype(np.uint64) + np.uint64(1))) * _FACTOR
        moved ^= moved >> np.uint64(29)
        mixed = np.where(stops == following, mixed, moved)
    return ((mixed >> np.uint64(40)) % np.uint64(65535) + np.uint64(1)).astype(np.uint16)


def _direct(network: Network, sources: Ints, destinations: Ints) -> Ints:
    return destinations[:, None]


def _by(relay: Ways) -> Ways:
    """Make two-hop paths through the processor that a function gives for each pair."""
    return lambda network, a, b: np.column_stack([relay(network, a, b), b])


@_by
def _residue(network: Network, sources: Ints, destinations: Ints) -> Ints:
    """Go through group (destination mod g), to the index that is the source's group."""
    return network.processor(destinations % network.g, network.group(sources) % network.d)


@_by
def _spread(network: Network, sources: Ints, destinations: Ints) -> Ints:
    """Go through the group of the source's index, where no two packets meet on the first hop."""
    group = network.index(sources) % network.g
    return network.processor(group, network.group(sources) % network.d)


@_by
def _hashed(network: Network, sources: Ints, destinations: Ints) -> Ints:
    """Go through a processor chosen by a linear hash of the pair."""
    prime = 2**31 - 1
    pairs = sources.astype(np.int64) * 1103515245, destinations.astype(np.int64) * 1597334677
    return (pairs[0] % prime + pairs[1] % prime) % prime * network.n // prime


@_by
def _random(network: Network, sources: Ints, destinations: Ints) -> Ints:
    """Go through a processor that is drawn once for every pair."""
    pair = sources.astype(np.int64) * network.n + destinations
    return Coins(0).draws(network.n, "random two-hop path", 0, pair)


def _grid(network: Network, sources: Ints, destinations: Ints) -> Ints:
    """Go by a row of groups that the source owns and a column that the destination owns.

    The groups form a square of side s = ⌈√g⌉. Source (A, l) owns the row of l, destination (B, m)
    the column of B, and the group X where they cross is the first stop: (A, l) → (X, A) → (m, B)
    → (B, m). If d = g is a square number, a coupler is the first hop for the s sources of a group
    with one row, the second for the s destinations of one index with one column, and the third
    for one destination. So no permutation puts more than 2s + 1 packets on a coupler: the bound
    Ω(√g) is tight.
    """
    d, g = network.d, network.g
    side = isqrt(g - 1) + 1
    index, group = network.index(destinations) % g, network.group(destinations)
    crossing = (network.index(sources) % g // side * side + group % side) % g
    first = network.processor(crossing, network.group(sources) % d)
    return np.column_stack([first, network.processor(index, group % d), destinations])


PATH_SYSTEMS = {
    paths.name: paths
    for paths in (
        PathSystem("direct", "one hop", _direct),
        PathSystem("grid", "three hops, O(√g) at worst for d = g", _grid),
        PathSystem("hashed", "two hops, by a processor that a linear hash chooses", _hashed),
        PathSystem("random", "two hops, by a processor drawn once for every pair", _random),
        PathSystem("residue", "two hops, by the temporary group: the destination mod g", _residue),
        PathSystem("spread", "two hops, by the group of the source's index", _spread),
    )
}
"""The path systems of popsnet, by name."""


def find_paths(name: str) -> PathSystem:
    """Return a path system by name, or load one from a file.

    Parameters
    ----------
    name : str
        A key of ``PATH_SYSTEMS``, or a ``.py`` file that defines
        ``path(d, g, source, destination)``.

    Returns
    -------
    PathSystem
        The path system.

    Raises
    ------
    InputError
        If there is no path system of that name, or the file does not define one.

    Examples
    --------
    >>> from popsnet.studies.adversaries import find_paths
    >>> find_paths("direct").summary
    'one hop'
    """
    usage = "path(d, g, source, destination)"
    return find_algorithm(name, PATH_SYSTEMS, _paths_of_file, "path system", usage)


def _paths_of_file(path: str) -> PathSystem:
    """Return the paths of a file that defines ``path(d, g, source, destination)``.

    The function returns the list of processors after the source, the destination last. With
    ``arrays = True`` in the file it gets arrays of sources and destinations and returns a list of
    arrays.
    """
    file = UserFile(path, "a path system")
    usage = f"path(d, g, source, destination), which returns the {_LIST}"
    function, where = file.function("path", usage), f"{path}: path"

    def of_arrays(network: Network, sources: Ints, destinations: Ints) -> Ints:
        columns = function(network.d, network.g, sources, destinations)
        try:
            ways = np.column_stack([np.broadcast_to(column, sources.shape) for column in columns])
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{where} must return a list of arrays of processors, as the file says arrays = "
                f"True ({error})."
            ) from None
        if ways.dtype.kind not in "iu":
            raise InputError(f"{where} returns {ways.dtype} numbers; processors must be integers.")
        return ways

    def of_pair(network: Network, source: int, destination: int) -> list[int]:
        answer = function(network.d, network.g, source, destination)
        try:
            way = [index(stop) for stop in answer]
        except TypeError:
            way = []
        if not way or not isinstance(answer, Sequence | np.ndarray):
            raise InputError(
                f"{where} from {source} to {destination} returns {answer!r:.60}; it must return "
                f"the {_LIST}."
            )
        return way

    def of_numbers(network: Network, sources: Ints, destinations: Ints) -> Ints:
        pairs = zip(sources.tolist(), destinations.tolist(), strict=True)
        ways = [of_pair(network, *pair) for pair in pairs]
        width = max(map(len, ways))
        return np.array([way + way[-1:] * (width - len(way)) for way in ways])

    return PathSystem(path, "from a file", of_arrays if file.takes_arrays else of_numbers)
