"""Which wire of a comparator network is which processor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.network import Network
from popsnet.slot import Ints


def place_wires(
    network: Network, first: int = 0, width: int | None = None
) -> npt.NDArray[np.int32]:
    """The processor of each wire of a strip: of those with index ``first`` to first + width - 1.

    Wire q is in group q mod g, at index first + q div g. So neighbours are in different groups, and
    g wires in a row can all send to one group at once.
    """
    wires = np.arange((network.d - first if width is None else width) * network.g, dtype=np.int32)
    row, group = np.divmod(wires, np.int32(network.g))
    return network.processor(group, row + np.int32(first))


def wire_of(network: Network, processors: Ints) -> npt.NDArray[np.int64]:
    """The wire of each processor, if the strip is the whole network."""
    wide = processors.astype(np.int64)
    return network.index(wide) * network.g + network.group(wide)
