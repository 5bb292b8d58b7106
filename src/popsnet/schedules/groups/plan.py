"""Plans: the slots and the relay group of every packet of a traffic matrix."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

I32 = npt.NDArray[np.int32]


class GroupPlan(NamedTuple):
    """The slots of all packets of a traffic matrix, in row-major order of its entries.

    In each slot a coupler carries at most one packet, and a group sends and receives at most d.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.schedules.groups import plan_one_hop
    >>> plan = plan_one_hop(np.array([[0, 2], [1, 0]]), 1)
    >>> plan.slots, plan.first.tolist()
    (2, [0, 1, 0])
    """

    source: I32
    """The group that each packet starts in."""
    relay: I32
    """The group that passes it on, or -1 if it goes straight."""
    destination: I32
    """The group that it goes to."""
    first: I32
    """The slot of its first hop, counted from 0."""
    final: I32
    """The slot of its final hop; that of its first if it goes straight."""
    slots: int
    """The number of slots."""
