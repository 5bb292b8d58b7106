"""A two-hop algorithm from a user's file."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from popsnet.adversaries.two_hop.algorithm import Choice, TwoHop
from popsnet.adversaries.user_file import (
    called,
    function_of,
    kept,
    load,
    takes_arrays,
    whole_numbers,
)
from popsnet.network import Network
from popsnet.slot import Ints

__all__ = ["two_hop_of_file"]

_USAGE = "(d, g, processor, slot), which gives a group"


def two_hop_of_file(path: Path, listening: Choice) -> TwoHop:
    """The algorithm of a file that defines ``c_out(d, g, processor, slot)``, which gives a group.

    It may define ``c_in`` in the same way, -1 for nobody; otherwise ``listening`` is used. With
    ``arrays = True`` in the file both are called once a slot, with an array of processors.
    """
    module = load(path, "a two-hop algorithm")
    arrays = takes_arrays(module)
    c_out = _choice(function_of(module, "c_out", path, f"c_out{_USAGE}"), f"{path}: c_out", arrays)
    c_in = getattr(module, "c_in", None)
    if c_in is not None:
        usage = f"c_in{_USAGE}, or leave it out"
        listening = _choice(function_of(module, "c_in", path, usage), f"{path}: c_in", arrays)
    return TwoHop(str(path), c_out, listening)


def _choice(function: Callable[..., Any], where: str, arrays: bool) -> Choice:
    """Everybody's choice; numbers are asked for in turns upwards and downwards.

    So what depends on the order of the questions does not stay hidden when it is asked twice.
    """
    turns = cycle((1, -1))

    def choose(network: Network, slot: int) -> Ints:
        d, g, everybody = network.d, network.g, np.arange(network.n)
        if arrays:
            given = called(function, where, d, g, kept(everybody), slot)
        else:
            turn = next(turns)
            given = [called(function, where, d, g, i, slot) for i in everybody[::turn].tolist()]
            given = given[::turn]
        return whole_numbers(given, where, network.n)

    return choose
