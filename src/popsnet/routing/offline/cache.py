"""Schedules of permutations that were asked for before."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from threading import Lock

import numpy as np

from popsnet.network import Network
from popsnet.routing.offline.construction import make_schedule
from popsnet.routing.offline.demand import Demand
from popsnet.routing.offline.schedule import Schedule
from popsnet.slot import Ints

__all__ = ["MOST_BYTES", "clear_schedules", "schedule_permutation"]

MOST_BYTES = 2**28
"""All schedules that are kept take no more memory than this; the oldest unused go first."""

_kept: OrderedDict[bytes, Schedule] = OrderedDict()
_lock = Lock()


def schedule_permutation(network: Network, destination: Ints, *, seed: int = 0) -> Schedule:
    """The schedule of a permutation; made once, as long as it is not the oldest of too many.

    To find it again takes a digest of the permutation: a fraction of the time of executing it.
    """
    permutation = np.ascontiguousarray(destination, dtype=np.int32)
    key = blake2b(permutation.data, digest_size=32, salt=_salt(network, seed)).digest()
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    schedule = make_schedule(Demand.of_permutation(network, permutation), seed=seed)
    with _lock:
        _kept[key] = schedule
        while sum(one.nbytes for one in _kept.values()) > MOST_BYTES:
            _kept.popitem(last=False)
    return schedule


def clear_schedules() -> None:
    """Forget all schedules."""
    with _lock:
        _kept.clear()


def _salt(network: Network, seed: int) -> bytes:
    return blake2b(f"{network.d} {network.g} {seed}".encode(), digest_size=16).digest()
