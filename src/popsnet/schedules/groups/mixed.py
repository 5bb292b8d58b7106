"""Plans in which some packets go straight and the others are relayed once."""

from __future__ import annotations

import numpy as np

from popsnet.coins import Coins
from popsnet.schedules.groups.phases import in_many_phases, in_two_phases
from popsnet.schedules.groups.pipeline import pipeline
from popsnet.schedules.groups.plan import GroupPlan
from popsnet.schedules.groups.split import I64, limits_of, split
from popsnet.slot import Ints

LOG = []


def plan_mixed(counts: Ints, d: int, bound: int, most: int, *, seed: int) -> GroupPlan | None:
    counts = np.ascontiguousarray(counts, dtype=np.int64)
    coins = Coins(seed)
    slots = bound
    LOG.clear()
    while slots < most:
        plan = attempt(counts, d, slots, coins)
        if plan is not None:
            return plan
        slots += max(1, slots // 100)
    return None


def attempt(counts: I64, d: int, slots: int, coins: Coins) -> GroupPlan | None:
    g = len(counts)
    if d >= g:
        for early in sorted({slots // 2, 3 * slots // 4, slots - 1}):
            late = slots - slots // 2 if early == slots // 2 else early
            divided = split(counts, limits_of(slots, d, g, early, late), True, coins)
            if divided is not None:
                plan = pipeline(divided, slots)
                if plan is not None:
                    return plan
        return None
    early, late = slots // 2, slots - slots // 2
    divided = split(counts, limits_of(slots, d, g, early, late), False, coins)
    LOG.append((slots, "split2", divided is not None))
    if divided is not None:
        plan = in_two_phases(divided, d, early, late)
        LOG.append((slots, "two", plan is not None))
        if plan is not None:
            return plan
    if slots > 2:
        divided = split(counts, limits_of(slots, d, g, slots - 1, slots - 1), False, coins)
        LOG.append((slots, "split", divided is not None))
        if divided is None:
            return None
        for lengths in (growing_phases(slots), np.ones(slots, dtype=np.int64)):
            plan = in_many_phases(divided, d, lengths, coins)
            LOG.append((slots, len(lengths), plan is not None))
            if plan is not None:
                return plan
            if len(divided.packets) * slots > 10_000_000:
                break
    return None


def growing_phases(slots: int) -> I64:
    """Return the lengths of phases that double from one slot to the middle, and then halve."""
    ends = [1]
    while 2 * sum(ends) + 2 * sum(ends) <= slots:
        ends.append(sum(ends))
    middle = slots - 2 * sum(ends)
    count = -(-middle // ends[-1])
    inner = [(middle + k) // count for k in range(count)]
    return np.array([*ends, *inner, *ends[::-1]])
