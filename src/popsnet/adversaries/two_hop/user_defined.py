"""A two-hop algorithm from a user's file."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path

import numpy as np

from popsnet.adversaries.two_hop.algorithm import Choice, TwoHop
from popsnet.adversaries.user_file import UserFile
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.slot import Ints

_USAGE = "(d, g, processor, slot), which gives a group"


def two_hop_of_file(path: Path, listening: Choice) -> TwoHop:
    """Return the algorithm of a file that defines ``c_out(d, g, processor, slot)``, a group.

    It may define ``c_in`` in the same way, -1 for no group; otherwise ``listening`` is used. With
    ``arrays = True`` in the file both are called once per slot, with an array of processors.
    """
    file = UserFile(path, "a two-hop algorithm")
    c_out = _choice(file, "c_out", f"c_out{_USAGE}")
    if "c_in" in file:
        listening = _choice(file, "c_in", f"c_in{_USAGE}, or leave it out")
    return TwoHop(str(path), c_out, listening)


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
