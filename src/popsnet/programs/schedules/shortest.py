"""The shortest schedule known: one hop, two hops, or part straight and the rest relayed.

A demand says at which processor each packet starts, and where it goes. A traffic matrix says it of
groups only, and leaves the processors to the schedule.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, get_args

import numpy.typing as npt

from popsnet.base.errors import abbreviated, wrong
from popsnet.model.network import Network, on_network
from popsnet.programs.schedules.construction import MOST_ROUNDS, is_crowded, make_two_hops, one_slot
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.files import demand_of_matrix
from popsnet.programs.schedules.fixed import MOST_PACKETS, best_fixed, straight_slots
from popsnet.programs.schedules.groups.mixed import plan_mixed
from popsnet.programs.schedules.groups.plan import GroupPlan, one_hop_slots, plan_one_hop
from popsnet.programs.schedules.groups.processors import give_processors
from popsnet.programs.schedules.linear_program import linear_bound, whole_slots
from popsnet.programs.schedules.schedule import Paths, Schedule
from popsnet.programs.schedules.slots_needed import lower_bound, matrix_bound, offline_slots

Hops: TypeAlias = Literal["auto", "1", "2", "mixed"]
"""How packets travel: straight, through one relay each, straight or through a relay, or the
shortest of these."""

_NO_SCHEDULE = 2**62
"""Stands for the slots of a schedule that cannot be made."""

MOST_GROUPS = 64
"""For more groups the linear program takes minutes, and is not solved."""


def make_schedule(demand: Demand, *, hops: Hops | int = "auto", seed: int = 0) -> Schedule:
    """Build a collision-free schedule of a demand.

    Parameters
    ----------
    demand : Demand
        The packets to send.
    hops : {"auto", 1, 2, "mixed"}
        1 sends every packet straight to its destination, 2 every packet through a relay, and
        "mixed" some straight and the others through relays. "auto" keeps the shortest.
    seed : int
        The random seed; a seed always gives the same schedule.

    Returns
    -------
    Schedule
        The schedule.

    Raises
    ------
    InputError
        If a processor sends or receives more than 65,536 packets, for ``hops=2``, or if
        ``hops="mixed"`` on a network with several wavelengths.

    Notes
    -----
    Let h be the largest number of packets of a processor, Δ that of a group, and C that of a
    coupler. One hop takes at least max(h, C) slots, and no more if d = 1 or h = 1; whether three
    slots are enough is NP-complete in general, so the rest is a search (see
    ``popsnet.programs.schedules.fixed``). Two hops take 2·max(h, ⌈Δ/g⌉) slots; see
    ``popsnet.programs.schedules.construction``. Mixtures are found by a search, for up to 2^21
    packets. A packet that starts at its destination is sent with ``hops=2`` only.

    With W wavelengths one hop takes at least max(h, ⌈C/W⌉) slots, two take 2·max(h, ⌈Δ/gW⌉), and
    "auto" keeps the shorter of these two: mixtures are not searched for.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules import Demand, make_schedule
    >>> demand = Demand(Network(4, 3), np.array([0, 0, 5]), np.array([3, 7, 3]))
    >>> make_schedule(demand).slots, make_schedule(demand, hops=2).slots
    (2, 4)
    """
    if not isinstance(demand, Demand):
        raise wrong("demand", abbreviated(demand))("give a Demand.")
    kind = _on(demand.network, hops)
    if kind == "2":
        return make_two_hops(demand, seed=seed)
    at_home = bool((demand.source == demand.destination).any())  # these are not sent
    if not at_home and (made := one_slot(demand)) is not None:
        return made
    two = offline_slots(demand) if demand.h <= MOST_ROUNDS else _NO_SCHEDULE
    paths, most, wavelengths = None, two, demand.network.wavelengths
    if kind != "auto" or not is_crowded(demand.at(demand.moving), two * wavelengths):
        paths = Paths.straight(straight_slots(demand, seed=seed))
        most = min(two, paths.slots) if kind == "auto" else paths.slots
    if kind != "1" and wavelengths == 1 and demand.packets <= MOST_PACKETS:
        paths = best_fixed(demand, lower_bound(demand), most, seed=seed) or paths
    if paths is None or (kind == "auto" and paths.slots > two):
        return make_two_hops(demand, seed=seed)
    return Schedule.of_paths(demand, paths)


@on_network
def schedule_matrix(
    network: Network, counts: npt.NDArray[Any], *, hops: Hops | int = "auto", seed: int = 0
) -> tuple[Demand, Schedule]:
    """Build a collision-free schedule of packets between groups, and choose their processors.

    Parameters
    ----------
    network : Network, or int and int
        The network, or its d and g.
    counts : array of int, shape (g, g)
        The number of packets from each group (row) to each group (column).
    hops : {"auto", 1, 2, "mixed"}
        As for :func:`make_schedule`.
    seed : int
        The random seed; a seed always gives the same schedule.

    Returns
    -------
    tuple of Demand and Schedule
        The packets in row-major order with the processors that were chosen, and their slots.

    Notes
    -----
    One hop takes max(largest ⌈entry/W⌉, ⌈row/d⌉, ⌈column/d⌉) slots, which is optimal for one hop.
    Two hops take 2⌈Δ/min(d, gW)⌉. For W = 1 mixtures are searched for from the lower bound upwards.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules import schedule_matrix
    >>> counts = np.array([[0, 9, 1], [1, 0, 9], [9, 1, 0]])
    >>> [schedule_matrix(Network(3, 3), counts, hops=hops)[1].slots for hops in (1, 2, "mixed")]
    [9, 8, 7]
    """
    kind, d = _on(network, hops), network.d
    one_hop = one_hop_slots(counts, d, network.wavelengths)
    busiest = max(counts.sum(axis=axis).max(initial=0) for axis in (0, 1))
    two_hops = 2 * -(-int(busiest) // min(d, network.channels))
    plan = None
    if d > 1 and kind in ("auto", "mixed") and network.wavelengths == 1:
        most = min(one_hop, two_hops) if kind == "auto" else one_hop
        plan = _mixed_plan(counts, d, most, seed)
    if plan is None and kind == "auto" and two_hops < one_hop and two_hops <= 2 * MOST_ROUNDS:
        kind = "2"
    if d == 1 or kind == "2":  # for d = 1 packets inside a group start where they go
        demand = demand_of_matrix(network, counts)
        return demand, make_schedule(demand, hops=kind, seed=seed)
    plan = plan or plan_one_hop(counts, d, network.wavelengths)
    source, relay, destination = give_processors(network, plan)
    demand = Demand(network, source, destination)
    return demand, Schedule.of_paths(demand, Paths(relay, plan.first, plan.final, plan.slots))


def _mixed_plan(counts: npt.NDArray[Any], d: int, most: int, seed: int) -> GroupPlan | None:
    """Search for a plan with fewer than ``most`` slots; the linear program cuts the search."""
    bound = matrix_bound(counts, d)
    if bound >= most:
        return None
    plan = plan_mixed(counts, d, bound, bound + 1, seed=seed)
    if plan is None and len(counts) <= MOST_GROUPS:
        bound = max(bound, whole_slots(linear_bound(counts, d) or 0) - 1)
    return plan or plan_mixed(counts, d, bound + 1, most, seed=seed)


def _on(network: Network, hops: Hops | int) -> Hops:
    """Return which hops are allowed, and refuse a mixture on several wavelengths."""
    kind = require_hops(hops)
    if kind == "mixed" and network.wavelengths > 1:
        raise wrong("hops", "mixed")(
            f"mixtures are searched for with one wavelength per coupler, and {network} has "
            "several; choose one of auto, 1, 2."
        )
    return kind


def require_hops(hops: Hops | int) -> Hops:
    """Return which hops are allowed, and refuse anything else."""
    for known in get_args(Hops):
        if str(hops) == known:
            return known  # type: ignore[no-any-return]
    raise wrong("hops", f"{hops!s:.60}")(f"choose one of {', '.join(get_args(Hops))}.")
