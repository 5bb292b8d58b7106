"""Schedules of permutations that were asked for before."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
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


class _Kept:
    """The schedules that are kept, those asked for last at the end."""

    def __init__(self) -> None:
        self._schedules: OrderedDict[bytes, Schedule] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def find(self, key: bytes) -> Schedule | None:
        with self._lock:
            if key not in self._schedules:
                return None
            self._schedules.move_to_end(key)
            return self._schedules[key]

    def add(self, key: bytes, schedule: Schedule) -> None:
        with self._lock:
            if key not in self._schedules:  # another thread may have made it too
                self._schedules[key] = schedule
                self._bytes += schedule.nbytes + _OVERHEAD
            while self._bytes > MOST_BYTES:
                _, oldest = self._schedules.popitem(last=False)
                self._bytes -= oldest.nbytes + _OVERHEAD

    def clear(self) -> None:
        with self._lock:
            self._schedules.clear()
            self._bytes = 0


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
    schedule = _kept.find(key)
    if schedule is None:
        schedule = make()
        _kept.add(key, schedule)
    return schedule


def clear_schedules() -> None:
    """Forget all schedules."""
    _kept.clear()
