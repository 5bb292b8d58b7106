"""Demands: the packets to send, each with a source and a destination."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from popsnet.base.errors import InputError
from popsnet.model.network import I64, Ints, Network

_MOST = 2**30


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """A demand (h-relation): packet p goes from ``source[p]`` to ``destination[p]``.

    A processor may be the source or the destination of several packets, or of none. If every
    processor is each of at most one packet, the demand is a partial permutation.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules import Demand
    >>> demand = Demand(Network(4, 3), np.array([0, 0, 5]), np.array([3, 7, 3]))
    >>> demand.packets, demand.h, demand.degree
    (3, 2, 2)
    """

    network: Network
    source: Ints
    destination: Ints
    where: Callable[[int], str] = "packet {}".format
    """Names a packet in error messages, such as the line of a file."""

    def __post_init__(self) -> None:
        if len(self.source) != len(self.destination):
            raise InputError(
                f"There are {len(self.source)} sources and {len(self.destination)} destinations; "
                "every packet must have one of each."
            )
        if max(self.network.n, len(self.source)) > _MOST:
            raise InputError(
                f"{self.network} has {self.network.n:,} processors and the demand "
                f"{len(self.source):,} packets; at most 2^30 of each are allowed."
            )
        for name in ("source", "destination"):
            object.__setattr__(self, name, self._checked(name, getattr(self, name)))

    def _checked(self, name: str, values: Ints) -> Ints:
        values = np.asarray(values)
        if values.ndim != 1 or (values.dtype.kind not in "iu" and values.size):
            raise InputError(
                f"The {name}s have dtype {values.dtype} and shape {values.shape}; give a "
                "one-dimensional array of integers, a processor for each packet."
            )
        wrong = (values < 0) | (values >= self.network.n)
        if wrong.any():
            i = int(np.argmax(wrong))
            raise InputError(
                f"{self.where(i)}: {name} {values[i]} is outside 0 to {self.network.n - 1}, the "
                f"processors of {self.network}."
            )
        return np.ascontiguousarray(values, dtype=np.int32)

    @classmethod
    def of_permutation(cls, network: Network, destination: Ints) -> Demand:
        """Make the demand of a permutation, in which packet i starts at processor i."""
        return cls(network, network.processors, destination)

    def at(self, rows: Any) -> Demand:
        """Return the demand of some of the packets, by their numbers or a mask."""
        return Demand(self.network, self.source[rows], self.destination[rows])

    @property
    def moving(self) -> I64:
        """The numbers of the packets that do not start at their destinations."""
        return np.flatnonzero(self.source != self.destination)

    @property
    def couplers(self) -> I64:
        """The coupler of each packet, if it goes straight."""
        return self.network.coupler(*map(self.network.group, (self.destination, self.source)))

    @property
    def digest(self) -> str:
        """A hash of the packets, in order."""
        digest = blake2b(digest_size=16)
        for ends in (self.source, self.destination):
            digest.update(ends.astype("<i4").data)
        return digest.hexdigest()

    @property
    def packets(self) -> int:
        """The number of packets."""
        return len(self.source)

    @property
    def h(self) -> int:
        """The largest number of packets that a processor sends or receives."""
        return max(most(self.source), most(self.destination))

    @property
    def degree(self) -> int:
        """The largest number of packets that a group sends or receives (Δ)."""
        ends = self.source, self.destination
        return max(most(self.network.group(processors)) for processors in ends)

    @property
    def rounds(self) -> int:
        """The rounds that are needed: R = max(h, ⌈Δ/gW⌉)."""
        return max(self.h, -(-self.degree // self.network.channels))

    def moving_counts(self) -> I64:
        """Return the packets from each group (row) to each group that do not start where they go.

        Returns
        -------
        array of int, shape (g, g)
            The counts.
        """
        g, couplers = self.network.g, self.at(self.moving).couplers
        return np.bincount(couplers, minlength=g * g).reshape(g, g).T

    @property
    def is_permutation(self) -> bool:
        """Whether packet i starts at processor i, and every processor receives one packet."""
        network = self.network
        in_order = self.packets == network.n and bool((self.source == network.processors).all())
        return in_order and most(self.destination) == 1


def most(numbers: Ints) -> int:
    """Return how often the most frequent number occurs."""
    return int(np.bincount(numbers).max(initial=0))
