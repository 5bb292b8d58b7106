"""Which wire of a comparator network is which processor."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from popsnet.network import Network
from popsnet.slot import Ints


def strips(network: Network) -> Iterator[range]:
    """The indices of each strip: k = ⌈d/g⌉ strips, all of g indices but the last, of the rest.

    A strip of w ≤ g indices of every group has w·g wires, which can be sorted at once.
    """
    for first in range(0, network.d, network.g):
        yield range(first, min(first + network.g, network.d))


def place_wires(network: Network, indices: range | None = None) -> npt.NDArray[np.int32]:
    """The processor of each wire of a strip: of those with these indices, or of all.

    Wire q is in group q mod g, at index first + q div g. So neighbours are in different groups, and
    g wires in a row can all send to one group at once.
    """
    indices = range(network.d) if indices is None else indices
    wires = np.arange(len(indices) * network.g, dtype=np.int32)
    row, group = np.divmod(wires, np.int32(network.g))
    return network.processor(group, row + np.int32(indices.start))


def wire_of(network: Network, processors: Ints) -> npt.NDArray[np.int64]:
    """The wire of each processor, if the strip is the whole network."""
    wide = processors.astype(np.int64)
    return network.index(wide) * network.g + network.group(wide)
