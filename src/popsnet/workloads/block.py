"""The arrivals of consecutive slots."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.model.network import I32, I64


class Block(NamedTuple):
    """The arrivals of consecutive slots, in order of slot and then of source.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.workloads.arrivals import make_arrivals
    >>> block = make_arrivals(Network(2, 2), load=0.5).block(0, 3)
    >>> block.sources[block.starts[1] : block.starts[2]]  # those of slot 1
    array([2], dtype=int32)
    """

    begin: int
    """The first slot."""
    starts: I64
    """The arrivals of slot ``begin + k`` are ``starts[k]`` to ``starts[k + 1] - 1``."""
    sources: I32
    """The processor at which each packet arrives."""
    destinations: I32
    """The processor to which each packet goes."""

    def without(self, rows: I64) -> Block:
        """Return the arrivals without those at some positions."""
        if not len(rows):
            return self
        remaining = np.ones(len(self.sources), dtype=np.bool_)
        remaining[rows] = False
        starts = self.starts - np.searchsorted(np.sort(rows), self.starts)
        return Block(self.begin, starts, self.sources[remaining], self.destinations[remaining])

    @property
    def slots(self) -> int:
        """The number of slots."""
        return len(self.starts) - 1
