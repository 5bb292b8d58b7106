"""Paths from a user's file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from popsnet.adversaries.user_file import called, function_of, kept, load, takes_arrays
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.slot import Ints

__all__ = ["ways_of_file"]

_USAGE = (
    "path(d, g, source, destination), which gives the list of processors after the source, the "
    "destination last"
)


def ways_of_file(path: Path) -> Callable[[Network, Ints, Ints], Ints]:
    """The paths of a file that defines ``path(d, g, source, destination)``.

    It gives the list of processors after the source, the destination last. With ``arrays =
    True`` in the file it gets arrays of sources and destinations, and gives a list of arrays.
    """
    module = load(path, "a path system")
    function = function_of(module, "path", path, _USAGE)
    where = f"{path}: path"

    def of_arrays(network: Network, sources: Ints, destinations: Ints) -> Ints:
        pairs = kept(sources), kept(destinations)
        given = called(function, where, network.d, network.g, *pairs)
        try:
            ways = np.column_stack([np.broadcast_to(one, sources.shape) for one in given])
        except (TypeError, ValueError) as error:
            raise InputError(f"{where} gives no list of arrays of processors ({error}).") from None
        if ways.dtype.kind not in "iu":
            raise InputError(f"{where} gives {ways.dtype} numbers; processors are whole numbers.")
        return ways

    def of_numbers(network: Network, sources: Ints, destinations: Ints) -> Ints:
        pairs = zip(sources.tolist(), destinations.tolist(), strict=True)
        ways = [_way(function, where, network, *pair) for pair in pairs]
        width = max(map(len, ways))
        return np.array([way + way[-1:] * (width - len(way)) for way in ways])

    return of_arrays if takes_arrays(module) else of_numbers


def _way(
    function: Callable[..., Any], where: str, network: Network, source: int, destination: int
) -> list[int]:
    given = called(function, where, network.d, network.g, source, destination)
    try:
        way = [index(stop) for stop in given]
    except TypeError:
        way = []
    if not way or not isinstance(given, Sequence | np.ndarray):
        raise InputError(
            f"{where} from {source} to {destination} gives {given!r:.60}; it must give the list of "
            "processors after the source, the destination last."
        )
    return way
