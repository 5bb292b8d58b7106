"""What a hypercube computes, on the machine: a move, the sum of all values, prefix sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from popsnet.coins import Coins
from popsnet.computing.computation import MOST_VALUES, execute
from popsnet.computing.moves import add_all, add_prefixes, dimensions, move, move_slots
from popsnet.errors import InputError
from popsnet.network import Network, require_network
from popsnet.progress import Progress, reporter
from popsnet.report import Fact, Report, Reported

__all__ = ["HypercubeComputation", "compute"]

_LARGEST = 1000
_KNOWN = ("move", "sum", "prefix-sums")
Values = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HypercubeComputation(Reported):
    """The values that processors have in the end, and the cost."""

    network: Network
    what: str
    values: Values
    moves: int
    slots: int
    literature_slots: int
    """Slots per move in the literature."""
    messages: int
    collisions: int
    right: bool
    """Whether the values are those that another program computes."""

    def report(self) -> Report:
        """Return the computation as it is shown."""
        facts = (
            Fact("network", self.network.to_dict()),
            Fact("computed", self.what),
            Fact("moves", self.moves),
            Fact("slots", self.slots),
            Fact("literature_slots", self.literature_slots),
            Fact("messages", self.messages),
            Fact("collisions", self.collisions),
            Fact("right", self.right),
        )
        title = (
            f"{self.what} on {self.network}: {self.moves} "
            f"{'move' if self.moves == 1 else 'moves'} of at most {self.literature_slots} slots "
            f"(Sahni), slots {self.slots}"
        )
        verdict = (
            f"{'OK: right' if self.right else 'WRONG'}; messages {self.messages:,}, "
            f"collisions {self.collisions}"
        )
        return Report(title, facts, verdict=verdict, ok=self.right)


def compute(
    network: Network,
    what: str,
    values: npt.ArrayLike | None = None,
    *,
    dimension: int = 0,
    seed: int = 0,
    progress: Progress = None,
) -> HypercubeComputation:
    """Do what a hypercube does on the machine, with one value per processor, and check it.

    Parameters
    ----------
    network : Network
        The network; n is a power of two, at most 2^20.
    what : {"move", "sum", "prefix-sums"}
        A move along a dimension, the sum of all values, or the sums of values 0 to j.
    values : array, optional
        One integer per processor; random ones if not given.
    dimension : int
        The dimension of a move: processors whose numbers differ in this bit exchange values.
    seed : int
        The seed of random values.
    progress : function, bool or None
        A function that is called with the slots done and the most there can be. None shows a
        bar on a terminal after two seconds, False shows nothing.

    Examples
    --------
    >>> import popsnet
    >>> popsnet.compute(popsnet.Network(2, 2), "prefix-sums", [1, 2, 3, 4]).values
    array([ 1,  3,  6, 10])
    """
    require_network(network)
    if what not in _KNOWN:
        raise InputError(f"There is no {what!r} to compute; choose one of {', '.join(_KNOWN)}.")
    if network.n > MOST_VALUES:
        raise InputError(f"n = {network.n:,}: give at most {MOST_VALUES:,} processors.")
    moves = 1 if what == "move" else dimensions(network)
    given = _random_values(network, seed) if values is None else np.asarray(values)
    if given.shape != (network.n,) or given.dtype.kind not in "iu":
        raise InputError(
            f"values has shape {given.shape} and type {given.dtype}; {network} computes with "
            f"n = {network.n:,} integers, one per processor."
        )
    steps = {
        "move": move(network, given, dimension),
        "sum": add_all(network, given),
        "prefix-sums": add_prefixes(network, given),
    }
    most = moves * move_slots(network)
    with reporter(progress, f"computing on {network}", "slots") as report:
        done = execute(network, steps[what], lambda slots: report(slots, most))
    right = bool(np.array_equal(done.values, _expected(what, given, dimension)))
    return HypercubeComputation(
        network, what, done.values, moves, done.slots, move_slots(network), done.messages,
        done.collisions, right,
    )  # fmt: skip


def _random_values(network: Network, seed: int) -> Values:
    return Coins(seed).draws(_LARGEST, "values to add", 0, network.processors).astype(np.int64)


def _expected(what: str, values: Values, dimension: int) -> Values:
    if what == "prefix-sums":
        return np.cumsum(values)
    if what == "sum":
        return np.full_like(values, values.sum())
    moved: Values = values[np.arange(len(values)) ^ (1 << dimension)]
    return moved
