"""Computing with values on the machine: no packet moves, and messages carry the values."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.computing.values import sort_slots, sort_values
from popsnet.errors import InputError
from popsnet.machine import Machine
from popsnet.network import Network, require_network
from popsnet.progress import Progress, reporter
from popsnet.report import Fact, Report, Reported
from popsnet.slot import Inbox, Slot
from popsnet.sorting import NETWORKS, make_network

__all__ = ["MOST_VALUES", "Computed", "Sorted", "execute", "random_values", "sort"]

MOST_VALUES = 2**20
"""The most values that are sorted or added up."""

_PURPOSE = "keys to sort"


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """The value of every processor in the end, and what it took."""

    values: npt.NDArray[Any]
    slots: int
    messages: int
    collisions: int


def execute(
    network: Network,
    steps: Generator[Slot, Inbox, npt.NDArray[Any]],
    watch: Callable[[int], None] = lambda slots: None,
) -> Computed:
    """Execute every slot; ``watch`` is told how many are done."""
    machine = Machine(network, np.arange(network.n, dtype=np.int32), 1)
    inbox: Inbox | None = None
    while True:
        try:
            slot = next(steps) if inbox is None else steps.send(inbox)
        except StopIteration as end:
            values: npt.NDArray[Any] = end.value
            break
        inbox = machine.execute(slot)
        watch(machine.counters.slots)
    counted = machine.counters
    return Computed(values, counted.slots, counted.messages, counted.collisions)


def random_values(network: Network, seed: int) -> npt.NDArray[np.int64]:
    """Return a random integer per processor."""
    words = Coins(seed).words(_PURPOSE, 0, np.arange(network.n, dtype=np.int32))
    return (words >> np.uint64(1)).astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Sorted(Reported):
    """Values in order, and what it took to sort them on the machine."""

    network: Network
    values: npt.NDArray[Any]
    comparators: str
    """The name of the sorting network."""
    proved: bool
    """Whether it is proved that the sorting network sorts."""
    depth: int
    """Its stages."""
    slots: int
    most_slots: int
    messages: int
    collisions: int
    in_order: bool
    """Whether the values really are those given, in order."""
    seconds: float

    def report(self) -> Report:
        """Return the sorted values as they are shown."""
        facts = (
            Fact("network", self.network.to_dict()),
            Fact("comparators", self.comparators),
            Fact("proved", self.proved),
            Fact("depth", self.depth),
            Fact("slots", self.slots),
            Fact("most_slots", self.most_slots),
            Fact("messages", self.messages),
            Fact("collisions", self.collisions),
            Fact("sorted", self.in_order),
            Fact("first", _listed(self.values[:_FEW])),
            Fact("last", _listed(self.values[-_FEW:])),
            Fact("values", _listed(self.values) if self.network.n <= _MOST_LISTED else None),
            Fact("seconds", self.seconds),
        )
        title = (
            f"{self.network.n:,} values on {self.network} by {self.comparators}, {self.depth:,} "
            f"stages\nslots {self.slots:,}, at most {self.most_slots:,}; messages "
            f"{self.messages:,}; collisions {self.collisions}\n{_glimpse(self.values)}"
        )
        verdict = (
            f"{'OK: in order' if self.in_order else 'NOT in order'}, compared with another sort; "
            f"{self.seconds:.2f} s"
        )
        return Report(title, facts, verdict=verdict, ok=self.in_order)


_MOST_LISTED = 1024
"""Values that a report has all of."""
_FEW = 3


def _glimpse(values: npt.NDArray[Any]) -> str:
    """The first values and the last, or all if they are few."""
    listed = values.tolist()
    few = listed if len(listed) <= 2 * _FEW else [*listed[:_FEW], "…", *listed[-_FEW:]]
    return " ".join(map(str, few))


def _listed(values: npt.NDArray[Any]) -> list[object]:
    """For JSON, which has no infinite numbers: they are texts."""
    return [one if np.isfinite(one) else str(one) for one in values.tolist()]


def sort(
    network: Network,
    values: npt.ArrayLike | None = None,
    *,
    comparators: str = "merge-exchange",
    seed: int = 0,
    progress: Progress = None,
) -> Sorted:
    """Sort n values on the machine by a sorting network, one value per processor.

    Parameters
    ----------
    network : Network
        The network; n may be at most 2^20.
    values : array, optional
        One value per processor; random integers if not given.
    comparators : {"merge-exchange", "bitonic", "bag-tree"}
        The sorting network.
    seed : int
        The seed of random values, and of a bag tree.
    progress : function, bool or None
        A function that is called with the slots done and the most there can be. None shows a
        bar on a terminal after two seconds, False shows nothing.

    Examples
    --------
    >>> import popsnet
    >>> done = popsnet.sort(popsnet.Network(2, 4), [5, 3, 8, 1, 9, 2, 7, 0])
    >>> done.values, done.slots
    (array([0, 1, 2, 3, 5, 7, 8, 9]), 12)
    """
    require_network(network)
    if network.n > MOST_VALUES:
        raise InputError(f"n = {network.n:,}: at most {MOST_VALUES:,} values are sorted.")
    given = random_values(network, seed) if values is None else np.asarray(values)
    if given.shape != (network.n,) or given.dtype.kind not in "iuf":
        raise InputError(
            f"values has shape {given.shape} and type {given.dtype}; {network} sorts "
            f"n = {network.n:,} numbers, one per processor."
        )
    if given.dtype.kind == "f" and np.isnan(given).any():
        raise InputError("values has nan, which has no place in any order; give numbers.")
    made = make_network(comparators, network.n, seed)
    bound = sort_slots(network, made.depth)
    begin = time.perf_counter()
    with reporter(progress, f"sorting on {network}", "slots") as report:
        done = execute(
            network, sort_values(network, made, given), lambda slots: report(slots, bound)
        )
    right = bool(np.array_equal(done.values, np.sort(given)))
    return Sorted(
        network, done.values, comparators, NETWORKS[comparators].proved, made.depth, done.slots,
        bound, done.messages, done.collisions, right, time.perf_counter() - begin,
    )  # fmt: skip
