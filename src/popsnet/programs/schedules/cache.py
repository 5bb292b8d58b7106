"""A cache of schedules of permutations."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Lock

import numpy as np

from popsnet.model.network import Ints, Network, on_network
from popsnet.programs.schedules.construction import make_two_hops, one_slot
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.schedule import Schedule
from popsnet.programs.schedules.shortest import make_schedule

MOST_BYTES = 2**28
"""The schedules in the cache take at most this much memory; the least recently used go first."""

BYTES_PER_PACKET = 16
"""A packet of a schedule is a row of four numbers."""

_OVERHEAD = 2000
"""The bytes that a schedule takes besides its arrays."""


@dataclass
class _ScheduleCache:
    """The schedules in the cache, the most recently used last, and their size."""

    schedules: OrderedDict[bytes, Schedule] = field(default_factory=OrderedDict)
    nbytes: int = 0
    lock: Lock = field(default_factory=Lock)


_kept = _ScheduleCache()


@on_network
def schedule_permutation(network: Network, destination: Ints, *, seed: int = 0) -> Schedule:
    """Return the schedule of a permutation, from the cache if it was made before.

    Parameters
    ----------
    network : Network, or int and int
        The network, or its d and g.
    destination : array of int
        The destination of the packet of each processor, a permutation.
    seed : int
        The random seed of the colouring.

    Returns
    -------
    Schedule
        A schedule of one slot if no two packets share a coupler and wavelength, as for d = 1, and
        of 2⌈d/gW⌉ slots otherwise.

    Notes
    -----
    A lookup hashes the permutation, which takes a fraction of the time of executing it. The cache
    holds at most 256 MiB; the least recently used schedules are dropped first.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules import schedule_permutation
    >>> schedule_permutation(Network(4, 3), np.arange(12)[::-1]).slots
    4
    """
    permutation = np.ascontiguousarray(destination, dtype=np.int32)

    def make() -> Schedule:
        demand = Demand.of_permutation(network, permutation)
        return one_slot(demand) or make_two_hops(demand, seed=seed)

    return kept_schedule(f"permutation {network!r} {seed}", (permutation,), make)


def schedule_demand(demand: Demand, *, seed: int = 0) -> Schedule:
    """Return the schedule of a demand, from the cache if it was made before.

    It does not depend on the order of packets with different sources.

    Parameters
    ----------
    demand : Demand
        The packets.
    seed : int
        The random seed of the colouring.

    Returns
    -------
    Schedule
        The shortest schedule known for the packets in the order of their sources.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules import Demand
    >>> from popsnet.programs.schedules.cache import schedule_demand
    >>> schedule_demand(Demand(Network(1, 3), np.array([2, 0, 0]), np.array([1, 1, 2]))).slots
    2
    """
    network, order = demand.network, np.argsort(demand.source, kind="stable").astype(np.int32)
    ends = demand.source[order], demand.destination[order]
    name = f"demand {network!r} {seed}"
    made = kept_schedule(name, ends, lambda: make_schedule(Demand(network, *ends), seed=seed))
    return made.renumbered(order)


def schedule_buffers(demand: Demand) -> int:
    """Return the packets that a processor holds at most in the schedule of a demand."""
    return schedule_demand(demand).peak_buffers(demand.source)


def kept_schedule(name: str, numbers: tuple[Ints, ...], make: Callable[[], Schedule]) -> Schedule:
    """Return the schedule of this name for these arrays, or make it and keep it."""
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


def kept_bytes(packets: int) -> int:
    """Return the memory of the schedules of this many packets in all, if they are kept."""
    return min(packets * BYTES_PER_PACKET, MOST_BYTES)
