"""Path systems: what an oblivious algorithm is.

An oblivious algorithm fixes, for every source a and destination b, the processors on the way of a
packet from a to b. Which couplers it takes follows: from a processor of group A to one of group B
there is only c(B, A). Nothing else about a run may change the way; when a packet moves, and who
goes first, is left open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isqrt
from operator import index
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.adversaries.user_file import UserFile, find_algorithm
from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.slot import Ints

Ways: TypeAlias = Callable[[Network, Ints, Ints], Ints]
"""For pairs of sources and destinations, a row for each with the processors after the source."""

_ONLY = "A path may depend on its source and destination only."

_LIST = "list of processors after the source, the destination last"

_ALONE = 16
"""Of every block, this many pairs are asked for one by one."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class PathSystem:
    """An oblivious algorithm: its paths, checked whenever they are asked for."""

    name: str
    summary: str
    ways: Ways
    """Rows have one length and end at the destination; a processor said twice in a row waits."""

    def between(self, network: Network, sources: Ints, destinations: Ints) -> Ints:
        """The paths of some pairs, each with its source in front: an array of m rows.

        A packet that is at its destination from the start stays there, whatever its path is.
        """
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
        """Return the paths; refuse, with a witness, what is not a function of the pair.

        A function that is asked about many pairs at once could look at the others. So they are
        asked for again in other company, two halves in another order, and some of them alone.
        """
        first = self.between(network, sources, destinations)
        order = np.random.default_rng(len(sources)).permutation(len(sources))
        alone = order[:_ALONE]
        for some in (*np.array_split(order, 2), *alone[:, None]):
            if some.size:
                again = self.between(network, sources[some], destinations[some])
                self._require_same(first[some], again)
        return first

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


def stops(way: Ints | Sequence[int]) -> str:
    """Write a path without its source."""
    return " → ".join(map(str, way[1:]))


@dataclass(frozen=True, eq=False)
class _RecordedPaths(PathSystem):
    original: PathSystem
    known: npt.NDArray[np.uint16]
    """By destination and source: 16 bits of the path, 0 if it was not asked for yet."""

    def between(self, network: Network, sources: Ints, destinations: Ints) -> Ints:
        return self._noted(self.original.between(network, sources, destinations))

    def require_oblivious(self, network: Network, sources: Ints, destinations: Ints) -> Ints:
        return self._noted(self.original.require_oblivious(network, sources, destinations))

    def _noted(self, ways: Ints) -> Ints:
        sources, destinations, now = ways[:, 0], ways[:, -1], _fingerprints(ways)
        before = self.known[destinations, sources]
        differs = (before != 0) & (before != now)
        if differs.any():
            i = int(np.argmax(differs))
            raise InputError(
                f"{self.name} is not oblivious: from {sources[i]} to {destinations[i]} it goes by "
                f"{stops(ways[i])}, and went another way when it was asked before. {_ONLY}"
            )
        self.known[destinations, sources] = now
        return ways


def recorded(paths: PathSystem, network: Network) -> PathSystem:
    """The same paths; a pair that is asked for again must have the path that it had.

    What an adversary proves, counts and executes is then about one path system, though it asks for
    paths many times. It takes 2n² bytes, and misses another path once in 65,535 times.
    """
    known = np.zeros((network.n, network.n), dtype=np.uint16)
    return _RecordedPaths(paths.name, paths.summary, paths.ways, paths, known)


def _fingerprints(ways: Ints) -> npt.NDArray[np.uint16]:
    """16 bits of each path, never 0; how often a packet waits is not in them."""
    mixed = np.zeros(len(ways), dtype=np.uint64)
    for here, there in zip(ways.T, ways.T[1:], strict=False):
        moved = (mixed ^ (there.astype(np.uint64) + np.uint64(1))) * _FACTOR
        moved ^= moved >> np.uint64(29)
        mixed = np.where(here == there, mixed, moved)
    return ((mixed >> np.uint64(40)) % np.uint64(65535) + np.uint64(1)).astype(np.uint16)


def _direct(network: Network, sources: Ints, destinations: Ints) -> Ints:
    return destinations[:, None]


def _by(relay: Ways) -> Ways:
    """Two hops, by the processor that the function gives for each pair."""
    return lambda network, a, b: np.column_stack([relay(network, a, b), b])


@_by
def _residue(network: Network, sources: Ints, destinations: Ints) -> Ints:
    """By the group of the destination mod g, to the index of the source's group."""
    return network.processor(destinations % network.g, network.group(sources) % network.d)


@_by
def _spread(network: Network, sources: Ints, destinations: Ints) -> Ints:
    """By the group of the source's index, to the index of its group: no two meet on the way."""
    group = network.index(sources) % network.g
    return network.processor(group, network.group(sources) % network.d)


@_by
def _hashed(network: Network, sources: Ints, destinations: Ints) -> Ints:
    """By a processor that a linear hash of the pair chooses."""
    prime = 2**31 - 1
    pairs = sources.astype(np.int64) * 1103515245, destinations.astype(np.int64) * 1597334677
    return (pairs[0] % prime + pairs[1] % prime) % prime * network.n // prime


@_by
def _random(network: Network, sources: Ints, destinations: Ints) -> Ints:
    """By a processor drawn once and for all for every pair."""
    pair = sources.astype(np.int64) * network.n + destinations
    return Coins(0).draws(network.n, "random two-hop path", 0, pair)


def _grid(network: Network, sources: Ints, destinations: Ints) -> Ints:
    """By a row of groups that the source owns and a column that the destination owns.

    The groups form a square of side s = ⌈√g⌉. Source (A, l) has the row of l, destination (B, m)
    the column of B, and the group X where they cross is the first stop: (A, l) → (X, A) → (m, B)
    → (B, m). For d = g, a square number, a coupler serves as first hop for the s sources of a
    group with one row, as second for the s destinations of one index with one column, and as
    third for one destination. So no permutation puts more than 2s + 1 packets on a coupler: the
    bound Ω(√g) is tight.
    """
    d, g = network.d, network.g
    side = isqrt(g - 1) + 1
    index, group = network.index(destinations) % g, network.group(destinations)
    crossing = (network.index(sources) % g // side * side + group % side) % g
    first = network.processor(crossing, network.group(sources) % d)
    return np.column_stack([first, network.processor(index, group % d), destinations])


PATH_SYSTEMS = {
    one.name: one
    for one in (
        PathSystem("direct", "one hop", _direct),
        PathSystem("grid", "three hops, O(√g) at worst for d = g", _grid),
        PathSystem("hashed", "two hops, by a processor that a linear hash chooses", _hashed),
        PathSystem("random", "two hops, by a processor drawn once for every pair", _random),
        PathSystem("residue", "two hops, by the temporary group: the destination mod g", _residue),
        PathSystem("spread", "two hops, by the group of the source's index", _spread),
    )
}
"""Those that ship, by name."""


def find_paths(name: str) -> PathSystem:
    """Return the shipped path system of that name, or the one that a file ``name.py`` defines."""

    def load(path: str) -> PathSystem:
        return PathSystem(path, "from a file", _ways_of_file(path))

    usage = "path(d, g, source, destination)"
    return find_algorithm(name, PATH_SYSTEMS, load, "path system", usage)


def _ways_of_file(path: str) -> Ways:
    """Return the paths of a file that defines ``path(d, g, source, destination)``.

    It gives the list of processors after the source, the destination last. With ``arrays =
    True`` in the file it gets arrays of sources and destinations, and gives a list of arrays.
    """
    file = UserFile(path, "a path system")
    usage = f"path(d, g, source, destination), which gives the {_LIST}"
    function, where = file.function("path", usage), f"{path}: path"

    def of_arrays(network: Network, sources: Ints, destinations: Ints) -> Ints:
        given = function(network.d, network.g, sources, destinations)
        try:
            ways = np.column_stack([np.broadcast_to(one, sources.shape) for one in given])
        except (TypeError, ValueError) as error:
            raise InputError(f"{where} gives no list of arrays of processors ({error}).") from None
        if ways.dtype.kind not in "iu":
            raise InputError(f"{where} gives {ways.dtype} numbers; processors are whole numbers.")
        return ways

    def of_pair(network: Network, source: int, destination: int) -> list[int]:
        given = function(network.d, network.g, source, destination)
        try:
            way = [index(stop) for stop in given]
        except TypeError:
            way = []
        if not way or not isinstance(given, Sequence | np.ndarray):
            raise InputError(
                f"{where} from {source} to {destination} gives {given!r:.60}; it must give the "
                f"{_LIST}."
            )
        return way

    def of_numbers(network: Network, sources: Ints, destinations: Ints) -> Ints:
        pairs = zip(sources.tolist(), destinations.tolist(), strict=True)
        ways = [of_pair(network, *pair) for pair in pairs]
        width = max(map(len, ways))
        return np.array([way + way[-1:] * (width - len(way)) for way in ways])

    return of_arrays if file.takes_arrays else of_numbers
