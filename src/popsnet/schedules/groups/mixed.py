"""Plans in which some packets go straight and the others are relayed once."""

from __future__ import annotations

import numpy as np

from popsnet.coins import Coins
from popsnet.schedules.groups.pipeline import pipeline
from popsnet.schedules.groups.plan import GroupPlan
from popsnet.schedules.groups.split import I64, limits_of, split
from popsnet.slot import Ints


def plan_mixed(counts: Ints, d: int, bound: int, most: int, *, seed: int) -> GroupPlan | None:
    counts = np.ascontiguousarray(counts, dtype=np.int64)
    coins = Coins(seed)
    slots = bound
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
