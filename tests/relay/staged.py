"""Runs pieces of relay on the machine by hand, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from conftest import permutation
from popsnet import Coins, Machine, Network, Outcome, Slot
from popsnet.engines import Instance, slots
from popsnet.routing import get_router
from popsnet.routing.relay import Stage, parse_schedule
from popsnet.routing.relay.traffic import Traffic
from popsnet.slot import Inbox, Ints

T = TypeVar("T")


@dataclass
class Driven:
    """What a piece of a router did on the machine."""

    result: Any = None
    done: list[tuple[Slot, Inbox]] = field(default_factory=list)


def drive(machine: Machine, running: Generator[Slot, Inbox, T]) -> Driven:
    """Let it run to its end."""
    driven = Driven()
    try:
        slot = next(running)
        while True:
            inbox = machine.execute(slot)
            driven.done.append((slot, inbox))
            slot = running.send(inbox)
    except StopIteration as end:
        driven.result = end.value
    return driven


@dataclass
class Alone:
    """Stages run one by one, without a schedule and without the broadcast of the seed."""

    network: Network
    destination: Ints
    seed: int = 0
    buffers: int = 100

    def __post_init__(self) -> None:
        self.machine = Machine(self.network, self.destination, self.buffers)
        coins = Coins(self.seed)
        public = Coins(self.seed).key("the public seed of a test", 0)
        self.traffic = Traffic(self.network, self.destination, coins, self.machine.memory, public)

    def run(self, stage: Stage) -> Driven:
        driven = drive(self.machine, stage.run(self.traffic))
        self.traffic.step += 1
        return driven

    @property
    def pending(self) -> float:
        """The fraction of all packets whose source has no ack."""
        return len(self.traffic.pending) / self.network.n

    @property
    def hungry(self) -> float:
        """The fraction of all packets that have not arrived."""
        return float(self.traffic.hungry.mean())


def stage(text: str) -> Stage:
    """One stage, from its text."""
    return next(iter(parse_schedule(text)))


def route(
    network: Network, destination: Ints, variant: str | None, seed: int, max_steps: int = 1000
) -> Outcome:
    """A run of relay, every message of it."""
    router = get_router("relay")
    name = router.choose_variant(variant, network)
    instance = Instance(network, router, name, destination, Coins(seed), max_steps)
    return slots.execute(instance)


def residue_aligned(network: Network, seed: int) -> Ints:
    """The packets of a group are for destinations of one residue mod g, as far as there are."""
    n, g = network.n, network.g
    by_residue = np.argsort(np.arange(n) % g, kind="stable")
    rng = np.random.default_rng(seed)
    blocks = rng.permutation(g)
    order = np.argsort(blocks[np.arange(n) // network.d], kind="stable")
    destination = np.empty(n, dtype=np.int32)
    destination[order] = by_residue
    return destination


def two_targets(network: Network, seed: int) -> Ints:
    """Every group sends half of its packets to one group and the rest to another."""
    d, g = network.d, network.g
    ring = np.random.default_rng(seed).permutation(g)
    group, index = np.divmod(np.arange(network.n), d)
    half = index >= d // 2
    at = np.empty(g, dtype=np.int64)
    at[ring] = np.arange(g)
    target = ring[(at[group] + 1 + half) % g]
    destination: Ints = (target * d + index).astype(np.int32)
    return destination


def destinations(network: Network, kind: str, seed: int) -> Ints:
    """A permutation of a kind that has a name."""
    from popsnet.permutations import make_permutation

    if kind == "residue-aligned":
        return residue_aligned(network, seed)
    if kind == "two-targets":
        return two_targets(network, seed)
    if kind == "numpy":
        return permutation(network.n, seed)
    return make_permutation(kind, network, Coins(seed))
