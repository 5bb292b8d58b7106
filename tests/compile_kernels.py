"""Compiles kernels, so that the processes that run tests find them and do not each do it."""

from __future__ import annotations

import sys

import numpy as np

from popsnet import Network, route, schedule, simulate
from popsnet.engines.fused import session
from popsnet.programs.schedules import Demand
from popsnet.programs.schedules.fixed import best_fixed, straight_slots
from popsnet.programs.schedules.groups.mixed import plan_mixed
from popsnet.programs.schedules.groups.plan import plan_one_hop
from popsnet.programs.schedules.groups.processors import give_processors
from tests.programs.schedules.families import families, simple_bound

MEI_RIZZI = ((4, 4, "mei-rizzi", "published"), (8, 4, "mei-rizzi", "deferred"))
RELAY = (
    (8, 4, "relay", "P2 T2 P1 R1 S F"), (8, 4, "relay", "S Q P4"), (3, 12, "relay", "XY(2,2)"),
)  # fmt: skip


def compile_engine(cases: tuple[tuple[int, int, str, str], ...]) -> None:
    """Small runs one by one and many at a time, and large runs."""
    for _ in ("small", "large"):
        for d, g, router, variant in cases:
            for permutation in ("random", "keyed", "transpose"):
                choices = {"router": router, "variant": variant, "permutation": permutation}
                route(d, g, engine="fused", runs=2, **choices)  # type: ignore[arg-type]
                route(d, g, engine="slots", **choices)  # type: ignore[arg-type]
        session.RESIDENT = 0  # type: ignore[attr-defined]


def compile_traffic() -> None:
    """All schedulers, and all kinds of arrivals."""
    for name in ("tdm", "vlb", "rotor", "hop3", "aloha", "relay", "ideal", "epochs"):
        simulate(3, 2, scheduler=name, load=0.1, slots=1000)
    for pattern in ("uniform-with-self", "transpose", "group-shift", "hotspot:1:0.2", "gravity:1"):
        simulate(4, 4, scheduler="tdm", load=0.05, pattern=pattern, slots=1000, overload=True)
    simulate(4, 4, scheduler="tdm", load=0.05, burst=4, slots=1000)


def compile_schedules() -> None:
    """Two hops, and the searches for given processors."""
    schedule(Network(6, 4)).execute()
    demand = Demand(Network(2, 2), np.array([0, 0, 1]), np.array([1, 2, 3]))
    straight_slots(demand)
    best_fixed(demand, 2, 9)


def compile_plans() -> None:
    """One hop, and relays in a pipeline, in two phases and in many."""
    counts = families(16)["one entry and others"]
    for d in (4, 16):
        straight = plan_one_hop(counts, d)
        plan = plan_mixed(counts, d, simple_bound(counts, d), straight.slots, seed=0)
        give_processors(Network(d, 16), plan or straight)


if __name__ == "__main__":
    if sys.argv[1] == "relay":
        compile_schedules()
        compile_plans()
        compile_engine(RELAY)
    else:
        compile_engine(MEI_RIZZI)
        compile_traffic()
