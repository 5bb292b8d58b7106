"""What is to be sent: packets with a source and a destination each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.slot import Ints

_MOST = 2**30


@dataclass(frozen=True, slots=True, eq=False)
class Demand:
    """An h-relation: packet p goes from ``source[p]`` to ``destination[p]``.

    A processor may be the source or the destination of several packets, or of none. If each is of
    one at most, it is a partial permutation.
    """

    network: Network
    source: Ints
    destination: Ints
    where: Callable[[int], str] = "packet {}".format
    """Where a packet was read, for those who gave it."""

    def __post_init__(self) -> None:
        if len(self.source) != len(self.destination):
            raise InputError(
                f"{len(self.source)} sources and {len(self.destination)} destinations; every "
                "packet has one of each."
            )
        if max(self.network.n, len(self.source)) > _MOST:
            raise InputError(f"{self.network} or its packets are too many: at most 2^30 of each.")
        for name in ("source", "destination"):
            object.__setattr__(self, name, self._checked(name, getattr(self, name)))

    def _checked(self, name: str, values: Ints) -> Ints:
        values = np.asarray(values)
        if values.ndim != 1 or (values.dtype.kind not in "iu" and values.size):
            raise InputError(f"The {name}s are not a row of whole numbers, a processor each.")
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
        """Packet i starts at processor i; the destinations are a permutation."""
        return cls(network, network.processors, destination)

    @property
    def packets(self) -> int:
        """How many there are."""
        return len(self.source)

    @property
    def h(self) -> int:
        """The most packets that any processor sends, or that any receives."""
        return max(_most(self.source), _most(self.destination))

    @property
    def degree(self) -> int:
        """The most packets that any group sends, or that any receives."""
        ends = self.source, self.destination
        return max(_most(self.network.group(one)) for one in ends)

    @property
    def rounds(self) -> int:
        """R = max(h, ⌈Δ/g⌉): h packets of a processor need as many rounds, Δ of a group ⌈Δ/g⌉."""
        return max(self.h, -(-self.degree // self.network.g))

    @property
    def starts_in_order(self) -> bool:
        """Whether packet i starts at processor i, one at each, as traces take for granted."""
        network = self.network
        return self.packets == network.n and bool((self.source == network.processors).all())


def _most(numbers: Ints) -> int:
    return int(np.bincount(numbers).max()) if len(numbers) else 0
