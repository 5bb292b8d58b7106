"""The layout of comparator networks: the processor of each wire."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from popsnet.network import Network
from popsnet.slot import Ints


def strips(network: Network) -> Iterator[range]:
    """Yield the indices of each of k = ⌈d/g⌉ strips: g of them, and in the last the rest.

    A strip of w ≤ g indices of every group has w·g wires, which can be sorted together.
    """
    for first in range(0, network.d, network.g):
        yield range(first, min(first + network.g, network.d))


def place_wires(network: Network, indices: range | None = None) -> npt.NDArray[np.int32]:
    """Return the processor of each wire of a strip with these indices, or of the network.

    Wire q is in group q mod g, at index first + q div g. So neighbours are in different groups, and
    g consecutive wires can all send to one group at once.
    """
    indices = range(network.d) if indices is None else indices
    wires = np.arange(len(indices) * network.g, dtype=np.int32)
    row, group = np.divmod(wires, np.int32(network.g))
    return network.processor(group, row + np.int32(indices.start))


def wire_of(network: Network, processors: Ints) -> npt.NDArray[np.int64]:
    """Return the wire of each processor, if the strip is the whole network."""
    wide = processors.astype(np.int64)
    return network.index(wide) * network.g + network.group(wide)
