"""Runs of schedules that survive faults, each inspected at its end.

``python -m tests.programs.routers.relay.survival --packets 1e8`` routes this many packets on
networks with random faults, prints the sums, and ends with 1 if a packet was lost, delivered twice
or forgotten.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from popsnet import Coins, Faults, Machine, Network
from popsnet.model.faults import ActiveFaults, two_way_paths
from popsnet.model.slot import Ints
from popsnet.programs.router import get_router
from popsnet.workloads.permutations import make_permutation

RELAY = get_router("relay")

SHAPES = [
    (1, 1), (2, 2), (3, 3), (5, 5), (8, 8), (4, 2), (6, 3), (5, 3), (7, 4), (12, 3), (11, 2),
    (7, 1), (1, 6), (2, 6), (3, 7), (4, 10), (1, 2), (2, 1),
]  # fmt: skip
"""d = g, d > g with and without g | d, g = 1, d < g, d = 1."""

PERMUTATIONS = ["random", "reversal", "shift:d", "tornado", "group-permutation", "identity"]

LARGE = [(256, 256), (512, 512), (1024, 1024), (1024, 256), (600, 256), (256, 1024), (100, 700)]


@dataclass(frozen=True)
class Case:
    """One run: everything that decides it."""

    d: int
    g: int
    permutation: str
    variant: str
    faults: str
    seed: int

    @property
    def network(self) -> Network:
        return Network(self.d, self.g)


@dataclass
class Done:
    """A run that has ended."""

    complaint: str | None = None
    slots: int = 0
    delivered: int = 0
    without_path: int = 0
    unheard: int = 0
    dead: int = 0


def run(case: Case, most_steps: int = 3000) -> Done:
    """Route, until every source with a live path knows, on the strict machine.

    Returns
    -------
    Done
        With a complaint if a packet was lost, left behind or delivered where it is not due. The
        machine itself refuses a second delivery, a conflict in a slot declared free of them, and
        every other rule that is broken.
    """
    network = case.network
    destination = make_permutation(case.permutation, network, Coins(case.seed))
    active = ActiveFaults(network, Faults.parse(case.faults), Coins(case.seed))
    variant = RELAY.resolve(case.variant, network)
    assert active.faults.kinds <= variant.survives
    buffers = RELAY.buffers_on(network, variant)
    machine = Machine(network, destination, buffers, faults=active)
    running = variant.route(network, destination.copy(), Coins(case.seed), machine.memory)
    paths = two_way_paths(network, active.faults, network.processors, destination)
    slot, step = next(running, None), 0
    while slot is not None:
        if slot.step > step:
            step = slot.step
            over = machine.counters.slots >= max(active.faults.slots, default=1)
            if over and not (_held_by_source(machine, destination) & paths).any():
                break
            if step >= most_steps:
                return Done(f"it goes on after {most_steps} steps")
        try:
            slot = running.send(machine.execute(slot))
        except StopIteration:
            break
    dead = sum(len(getattr(active.faults, kind)) for kind in active.faults.kinds - {"loss"})
    return Done(
        _complaint(machine, destination, paths), machine.counters.slots, machine.memory.delivered,
        int((~paths).sum()), machine.counters.unheard, dead,
    )  # fmt: skip


def _held_by_source(machine: Machine, destination: Ints) -> np.ndarray:
    processors, packets = machine.memory.content()
    held = np.zeros(len(destination), dtype=np.bool_)
    held[packets[(processors == packets) & (destination[packets] != processors)]] = True
    return held


def _complaint(machine: Machine, destination: Ints, paths: np.ndarray) -> str | None:
    """Every packet is at its destination once, or at its source, and nowhere else."""
    processors, packets = machine.memory.content()
    there = processors == destination[packets]
    home = processors == packets
    if not (there | home).all():
        row = int(np.argmin(there | home))
        return f"packet {packets[row]} is left at processor {processors[row]}"
    arrived = np.bincount(packets[there], minlength=len(destination))
    kept = np.bincount(packets[home], minlength=len(destination))
    if (arrived > 1).any() or (kept > 1).any():
        return "a packet is held twice"
    if not (arrived + kept).all():
        return f"packet {int(np.argmin(arrived + kept))} is lost"
    if not arrived[paths].all():
        return f"packet {int(np.argmin(arrived + ~paths))} has a path and is not delivered"
    if int(arrived.sum()) != machine.memory.delivered:
        return f"{machine.memory.delivered} counted as delivered, of {int(arrived.sum())}"
    return None


def any_faults(rng: np.random.Generator, network: Network, share: float) -> str:
    """Random faults of all kinds: up to this share of the parts is dead, from any slot on."""
    items = []
    there = {"couplers": network.couplers}
    for kind in ("couplers", "transmitters", "receivers", "processors"):
        number = int(rng.integers(int(there.get(kind, network.n) * share) + 1))
        if number and rng.random() < 0.6:
            since = f"@{rng.integers(2, 25)}" if rng.random() < 0.3 else ""
            items.append(f"random:{kind}={number}{since}")
    if rng.random() < 0.6 or not items:
        per = rng.choice(["", "/listener"])
        items.append(f"loss:{rng.choice([0.001, 0.01, 0.1, 0.3])}{per}")
    return " ".join(items)


def any_case(number: int, shape: tuple[int, int], share: float = 0.4) -> Case:
    """The case of a number, which depends on nothing else, on a network of this shape."""
    rng = np.random.default_rng([number, *shape])
    network = Network(*shape)
    permutation = PERMUTATIONS[int(rng.integers(len(PERMUTATIONS)))]
    faults = any_faults(rng, network, share)
    return Case(*shape, permutation, "survive", faults, int(rng.integers(2**31)))


def cases(packets: float) -> Iterator[Case]:
    """Small networks of every shape and large ones in turn, with this many packets in all."""
    left = packets
    for number in count():
        small = [any_case(number * 100 + place, shape) for place, shape in enumerate(SHAPES)]
        large = LARGE[number % len(LARGE)]
        for case in (*small, any_case(number, large, share=0.02)):
            left -= case.network.n
            yield case
            if left <= 0:
                return


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=float, default=1e8)
    packets, began = parser.parse_args().packets, time.monotonic()
    runs = routed = delivered = without = slots = unheard = dead = 0
    for case in cases(packets):
        done = run(case)
        if done.complaint is not None:
            print(f"{case}: {done.complaint}")
            return 1
        runs, routed, delivered = runs + 1, routed + case.network.n, delivered + done.delivered
        without, slots, unheard = (
            without + done.without_path,
            slots + done.slots,
            unheard + done.unheard,
        )
        dead += done.dead
        if runs % 500 == 0:
            print(
                f"{runs:,} runs, {routed:,} packets, {time.monotonic() - began:.0f} s", flush=True
            )
    sums = {
        "runs": runs, "packets": routed, "delivered once each": delivered, "lost": 0,
        "without a live path": without, "dead parts": dead, "messages unheard": unheard,
        "slots": slots, "seconds": round(time.monotonic() - began),
    }  # fmt: skip
    print(", ".join(f"{number:,} {what}" for what, number in sums.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
