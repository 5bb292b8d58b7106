"""The shortest schedule known: one hop, two hops, or part straight and the rest relayed."""

from __future__ import annotations

from popsnet.schedules.construction import make_two_hops, one_slot
from popsnet.schedules.demand import Demand
from popsnet.schedules.schedule import Schedule


def make_schedule(demand: Demand, *, seed: int = 0) -> Schedule:
    """Build a collision-free schedule of a demand.

    Parameters
    ----------
    demand : Demand
        The packets to send.
    seed : int
        The random seed of the colouring; a seed always gives the same schedule.

    Returns
    -------
    Schedule
        A schedule of one slot if that is enough, and else of two hops per packet.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.schedules import Demand, make_schedule
    >>> demand = Demand(Network(4, 3), np.array([0, 0, 5]), np.array([3, 7, 3]))
    >>> make_schedule(demand).slots
    4
    """
    return one_slot(demand) or make_two_hops(demand, seed=seed)
