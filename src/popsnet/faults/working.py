"""The parts of a network that work when others are dead."""

from __future__ import annotations

import numpy as np

from popsnet.faults.faults import Faults
from popsnet.network import Bools, Network


class WorkingParts:
    """The couplers, transmitters and receivers that work when others are dead.

    Parameters
    ----------
    network : Network
        The network.
    faults : Faults
        The dead parts, all of them listed. All count, whatever the slots in which they die.

    Attributes
    ----------
    couplers : array of bool
        Entry (b, a) says whether coupler c(b, a), from group a to group b, works.
    sends, hears : array of bool
        Whether the transmitter and the receiver of each processor work.

    Examples
    --------
    >>> from popsnet import Faults, Network
    >>> from popsnet.faults import WorkingParts
    >>> parts = WorkingParts(Network(2, 2), Faults.parse("coupler:1,0 receiver:3 processor:0"))
    >>> parts.couplers.tolist()
    [[True, True], [False, True]]
    >>> parts.sends.tolist(), parts.hears.tolist()
    ([False, True, True, True], [False, True, True, False])
    """

    def __init__(self, network: Network, faults: Faults) -> None:
        self.network = network
        self.couplers: Bools = np.ones((network.g, network.g), dtype=np.bool_)
        for to, by, _ in faults.couplers:
            self.couplers[to, by] = False
        self.sends: Bools = np.ones(network.n, dtype=np.bool_)
        self.sends[[processor for processor, _ in faults.processors]] = False
        self.hears: Bools = self.sends.copy()
        self.sends[[processor for processor, _ in faults.transmitters]] = False
        self.hears[[processor for processor, _ in faults.receivers]] = False
