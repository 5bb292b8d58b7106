"""How short are plans of traffic matrices, and how fast are they made? Prints a table.

Run it in the folder of the project: ``PYTHONPATH=. python benchmarks/schedules.py 16 64 256``. The
numbers are those of groups, of which d is a quarter, the same and four times as much. Every plan
is checked. ``bound`` counts the hops of couplers, groups and two halves of the network; the linear
program of :mod:`popsnet.schedules` is sometimes higher. Seconds are those of a process that has
compiled everything: of one hop, of the mixed plan, and of the choice of processors.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from tests.schedules.families import Matrix, families, simple_bound

from popsnet import Network
from popsnet.schedules.groups import GroupPlan, give_processors, plan_mixed, plan_one_hop

R = TypeVar("R")

HEAD = ("matrix", "POPS", "packets", "one hop", "mixed", "bound", "gap", "relayed", "s", "s", "s")


def main(sizes: list[int]) -> None:
    """Print a row for each matrix and network."""
    for counts in families(16).values():  # compiles everything
        for d in (4, 16):
            row_of("", counts, d)
    print("| " + " | ".join(HEAD) + " |")
    print("|---" * len(HEAD) + "|")
    for g in sizes:
        for name, counts in families(g).items():
            for d in (g // 4, g, 4 * g):
                print("| " + " | ".join(row_of(name, counts, d)) + " |", flush=True)


def row_of(name: str, counts: Matrix, d: int) -> list[str]:
    """Plan a matrix and return the cells of its row."""
    network, bound = Network(d, len(counts)), simple_bound(counts, d)
    straight, one_hop = timed(lambda: plan_one_hop(counts, d))
    found, search = timed(lambda: plan_mixed(counts, d, bound, straight.slots, seed=0))
    best = straight if found is None else found
    _, seats = timed(lambda: give_processors(network, best))
    for plan in (straight, best):
        check(counts, d, plan)
    relayed = int(np.count_nonzero(best.relay >= 0))
    numbers = (straight.slots, best.slots, bound, best.slots - bound, relayed)
    return [
        name, f"({d},{len(counts)})", str(counts.sum()), *map(str, numbers),
        *(f"{seconds:.2f}" for seconds in (one_hop, search, seats)),
    ]  # fmt: skip


def timed(work: Callable[[], R]) -> tuple[R, float]:
    """Return a result and the seconds that it took."""
    begin = time.perf_counter()
    return work(), time.perf_counter() - begin


def check(counts: Matrix, d: int, plan: GroupPlan) -> None:
    """Count what couplers carry and what groups send and receive in every slot."""
    g, slots = len(counts), plan.slots
    relayed = plan.relay >= 0
    assert (plan.first[relayed] < plan.final[relayed]).all()
    assert (plan.first[~relayed] == plan.final[~relayed]).all()
    assert plan.final.max(initial=0) < slots
    cells = plan.source * np.int64(g) + plan.destination
    assert (np.bincount(cells, minlength=g * g) == counts.ravel()).all()
    begin = np.concatenate((plan.source, plan.relay[relayed])).astype(np.int64)
    end = np.concatenate(
        (np.where(relayed, plan.relay, plan.destination), plan.destination[relayed])
    )
    slot = np.concatenate((plan.first, plan.final[relayed]))
    for numbers, most in ((begin * g + end, 1), (begin, min(d, g)), (end, min(d, g))):
        assert np.bincount(numbers * np.int64(slots) + slot).max() <= most


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [16, 64])
