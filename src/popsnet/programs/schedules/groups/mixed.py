"""Plans in which some packets go straight and the others are relayed once."""

from __future__ import annotations

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.network import I64, Ints
from popsnet.programs.schedules.groups import phases
from popsnet.programs.schedules.groups.pipeline import pipeline
from popsnet.programs.schedules.groups.plan import GroupPlan
from popsnet.programs.schedules.groups.split import split


def plan_mixed(counts: Ints, d: int, bound: int, most: int, *, seed: int) -> GroupPlan | None:
    """Plan few slots in which packets go straight or are relayed once.

    Parameters
    ----------
    counts : array of int, shape (g, g)
        The number of packets from each group (row) to each group (column).
    d : int
        The processors per group.
    bound : int
        A number of slots below which there is no plan; the search begins here.
    most : int
        The slots of a plan that is known; only shorter ones are looked for.
    seed : int
        The random seed; a seed always gives the same plan.

    Returns
    -------
    GroupPlan or None
        The shortest plan found, or None if none with fewer than ``most`` slots was found.

    Notes
    -----
    For a number of slots, relays are chosen such that couplers and groups are not overloaded
    (:mod:`~popsnet.programs.schedules.groups.split`), and then the slots of all hops: in a
    :mod:`~popsnet.programs.schedules.groups.pipeline` for d ≥ g, and else in
    :mod:`~popsnet.programs.schedules.groups.phases`. Both are heuristics, and end after a number of
    passes, whatever the time. Slots are tried from the bound upwards, in growing steps, and then
    halfway between those that failed and the shortest plan, to a precision of 1 %.

    Examples
    --------
    All packets go from group 0 to group 1. One hop takes 12 slots, and two hops take 6.

    >>> import numpy as np
    >>> from popsnet.programs.schedules.groups.mixed import plan_mixed
    >>> counts = np.zeros((4, 4), dtype=int)
    >>> counts[0, 1] = 12
    >>> plan = plan_mixed(counts, 4, 4, 12, seed=0)
    >>> plan.slots, int((plan.relay >= 0).sum())
    (5, 7)
    """
    matrix = np.ascontiguousarray(counts, dtype=np.int64)
    attempt = _attempt_wide if d >= len(matrix) else _attempt_narrow
    best: GroupPlan | None = None
    failed, slots, step = bound - 1, bound, 1
    while failed < slots < most:
        plan = attempt(matrix, d, slots, Coins(seed))
        if plan is None:
            failed = slots
        else:
            best, most = plan, slots
        precision = max(1, failed // 100)
        if best is not None:
            slots = failed + max(precision, (most - failed) // 2)
        else:
            slots = min(failed + step, most - 1)
            step = max(2 * step, precision) if step > 1 or failed > bound else 2
    return best


def _attempt_wide(counts: I64, d: int, slots: int, coins: Coins) -> GroupPlan | None:
    """Plan this many slots for d ≥ g, or return None.

    With first hops in one half of the slots and second hops in the other, all loads that fit have
    a plan. A heavy entry needs nearly all slots for either.
    """
    for early in dict.fromkeys((slots // 2, slots - 1, 3 * slots // 4)):
        late = slots - early if early == slots // 2 else early
        divided = split(counts, d, slots, early, late, coins)
        if divided is None and early == slots - 1:  # the widest limits
            return None
        if divided and (plan := pipeline(divided, slots)):
            return plan
    return None


def _attempt_narrow(counts: I64, d: int, slots: int, coins: Coins) -> GroupPlan | None:
    """Plan this many slots for d < g, or return None."""
    early, late = slots // 2, slots - slots // 2
    divided = split(counts, d, slots, early, late, coins)
    if divided and (plan := phases.in_two_phases(divided, d, early, late)):
        return plan
    divided = split(counts, d, slots, slots - 1, slots - 1, coins) if slots > 2 else None
    for lengths in (phases.growing_phases, phases.equal_phases):
        if divided and (plan := phases.in_many_phases(divided, d, lengths, slots, coins)):
            return plan
    return None
