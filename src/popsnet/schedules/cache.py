"""Schedules of permutations that were asked for before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Lock

import numpy as np

from popsnet.network import Network
from popsnet.schedules.construction import make_schedule
from popsnet.schedules.demand import Demand
from popsnet.schedules.schedule import Schedule
from popsnet.slot import Ints

MOST_BYTES = 2**28
"""All schedules that are kept take no more memory than this; the oldest unused go first."""

_OVERHEAD = 2000
"""What a schedule takes besides its arrays."""


@dataclass
class _Kept:
    """The schedules that are kept, those asked for last at the end, and their size."""

    schedules: OrderedDict[bytes, Schedule] = field(default_factory=OrderedDict)
    nbytes: int = 0
    lock: Lock = field(default_factory=Lock)


_kept = _Kept()


def schedule_permutation(network: Network, destination: Ints, *, seed: int = 0) -> Schedule:
    """The schedule of a permutation; made once, as long as it is not the oldest of too many.

    To find it again takes a digest of the permutation: a fraction of the time of executing it.
    """
    permutation = np.ascontiguousarray(destination, dtype=np.int32)
    return kept_schedule(
        f"permutation {network.d} {network.g} {seed}",
        (permutation,),
        lambda: make_schedule(Demand.of_permutation(network, permutation), seed=seed),
    )


def kept_schedule(name: str, numbers: tuple[Ints, ...], make: Callable[[], Schedule]) -> Schedule:
    """The schedule of this name for these arrays; it is made if it is not kept."""
    digest = blake2b(digest_size=32, salt=blake2b(name.encode(), digest_size=16).digest())
    for row in numbers:
        digest.update(np.ascontiguousarray(row).data)
    key = digest.digest()
    with _kept.lock:
        if key in _kept.schedules:
            _kept.schedules.move_to_end(key)
            return _kept.schedules[key]
    schedule = make()
    with _kept.lock:
        if key not in _kept.schedules:  # another thread may have made it too
            _kept.schedules[key] = schedule
            _kept.nbytes += schedule.nbytes + _OVERHEAD
        while _kept.nbytes > MOST_BYTES:
            _, oldest = _kept.schedules.popitem(last=False)
            _kept.nbytes -= oldest.nbytes + _OVERHEAD
    return schedule


def clear_schedules() -> None:
    """Forget all schedules."""
    with _kept.lock:
        _kept.schedules.clear()
        _kept.nbytes = 0
