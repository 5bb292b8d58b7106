"""Paths from a user's file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from pathlib import Path

import numpy as np

from popsnet.adversaries.user_file import UserFile
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.slot import Ints

_LIST = "list of processors after the source, the destination last"


def ways_of_file(path: Path) -> Callable[[Network, Ints, Ints], Ints]:
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
