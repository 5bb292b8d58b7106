"""Runs pieces of relay on the machine by hand, for the tests of this folder."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from popsnet import Coins, Machine, Network, Outcome, Slot
from popsnet.engines import Instance, slots
from popsnet.model.slot import Inbox, Ints
from popsnet.programs.router import get_router
from popsnet.programs.routers.relay import RelayStage, parse_schedule
from popsnet.programs.routers.relay.state import RelayState
from popsnet.workloads.permutations import NAMES, make_permutation

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
        self.state = RelayState(self.network, self.destination, coins, self.machine.memory, public)

    def run(self, stage: RelayStage) -> Driven:
        driven = drive(self.machine, stage.run(self.state))
        if not self.state.pending.size:  # the run ends, maybe within the stage
            self.machine.memory.drop_copies()
        self.state.step += 1
        return driven

    @property
    def pending(self) -> float:
        """The fraction of all packets whose source has no ack."""
        return len(self.state.pending) / self.network.n

    @property
    def undelivered(self) -> float:
        """The fraction of all packets that have not arrived."""
        return float(self.state.undelivered.mean())


def stage(text: str) -> RelayStage:
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
    if kind == "residue-aligned":
        return residue_aligned(network, seed)
    if kind == "two-targets":
        return two_targets(network, seed)
    if kind == "numpy":
        return np.random.default_rng(seed).permutation(network.n).astype(np.int32)
    named: Ints = make_permutation(kind, network, Coins(seed))
    return named


@dataclass(frozen=True)
class Dose:
    """One run, by everything that decides it."""

    d: int
    g: int
    kind: str
    variant: str | None
    seed: int

    @property
    def network(self) -> Network:
        return Network(self.d, self.g)

    def destination(self) -> Ints:
        return destinations(self.network, self.kind, self.seed)

    def complaint(self, most_slots: int = 20_000) -> str | None:
        """Execute every message on a machine and look at all buffers; None if all is well.

        At the end each processor holds one packet, and it is the one for it.
        """
        network, destination, router = self.network, self.destination(), get_router("relay")
        if (np.bincount(destination, minlength=network.n) != 1).any():
            return "the test's own permutation is none"
        variant = router.choose_variant(self.variant, network)
        machine = Machine(network, destination, router.buffers_on(network, variant))
        route = router.variant(variant).route
        running = route(network, destination.copy(), Coins(self.seed), machine.memory)
        try:
            slot = next(running)
            while machine.counters.slots < most_slots:
                slot = running.send(machine.execute(slot))
        except StopIteration:
            return _complaint_about(machine, destination)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return f"it goes on after {most_slots} slots"


def _complaint_about(machine: Machine, destination: Ints) -> str | None:
    (holders, packets), n = machine.memory.content(), machine.network.n
    count = np.bincount(holders, minlength=n)
    if (count != 1).any():
        processor = int(np.argmax(count != 1))
        return f"processor {processor} holds {packets[holders == processor].tolist()}"
    held = packets[np.argsort(holders)]
    if (destination[held] != np.arange(n)).any():
        processor = int(np.argmax(destination[held] != np.arange(n)))
        return f"processor {processor} holds packet {held[processor]}, which is not for it"
    if machine.memory.delivered != n or machine.memory.lost().size:
        return f"{machine.memory.delivered} delivered, {machine.memory.lost().size} lost, of {n}"
    return None


FAMILIES = ["numpy", *NAMES, "shift:d", "residue-aligned", "two-targets"]


def any_variant(rng: np.random.Generator, network: Network) -> str | None:
    """The default, a variant with a name, or a schedule that ends with a stage that gets on."""
    d, g = network.d, network.g
    choice = rng.integers(10)
    if choice < 2:
        return None
    if choice == 2 and d == g <= 64:
        return "roll-call"
    if choice == 3 and d % g == 0 and g <= 64:
        return "census"
    if choice == 4:
        return str(rng.choice(["survive", "survive-flooded"]))
    return any_schedule(rng, network)


def any_schedule(rng: np.random.Generator, network: Network) -> str:
    """A schedule that applies and repeats a stage that gets on; T comes before Q, X and R."""
    d, g, k = network.d, network.g, -(-network.d // network.g)
    if d < g:
        return " ".join(_any_grid(rng, -(-g // d)) for _ in range(rng.integers(1, 4)))
    windows = rng.integers(1, k + 2, size=rng.integers(1, 4)).tolist()
    park, several, *_ = told = [f"P{k}", f"P({','.join(map(str, windows))})", "S", "F"]
    telling = [*told, f"T{rng.integers(1, 9)}"]
    silent = [*told, "Q", "Q", f"X{rng.integers(1, 4)}", f"R{rng.integers(1, 4)}"]
    before = [*rng.choice(telling, rng.integers(0, 3)), *rng.choice(silent, rng.integers(0, 4))]
    wide = f"P{k + 1}"
    lasts = ["S", wide, f"| {wide} F", f"| R2 {wide}", f"| P({k + 1},{k}) F", f"| Q {wide}"]
    last = rng.choice([*lasts, f"| Q X2 {wide}", f"{park} | Q Q {wide}", f"{several} | X3 {wide}"])
    if rng.random() < 0.1:
        return f"{' '.join(rng.choice(telling, rng.integers(0, 3)))} | T{rng.integers(1, 9)} {wide}"
    return f"{' '.join(before)} {last}"


def _any_grid(rng: np.random.Generator, classes: int) -> str:
    x = int(rng.integers(1, classes + 1))
    return f"XY({x},{-(-classes // x) + rng.integers(2)})"


def any_network(rng: np.random.Generator, most: int) -> Network:
    """Of all shapes; up to so many processors."""
    n = int(most ** rng.uniform(0.2, 1))
    side = max(int(n**0.5), 1)
    few = int(rng.integers(1, 5))
    match rng.integers(7):
        case 0:
            return Network(side, side)
        case 1:
            return Network(side * few, max(side // few, 1))
        case 2:
            return Network(max(side // few, 1), side * few)
        case 3:
            return Network(1, min(n, 500))
        case 4:
            return Network(min(n, 500), 1)
    g = int(rng.integers(1, max(n // 2, 2)))
    return Network(max(n // g, 1), g)


def any_dose(seed: int, most: int) -> Dose:
    """A run that depends on nothing but its number; on up to so many processors."""
    rng = np.random.default_rng([seed, most])
    network = any_network(rng, most)
    power_of_two = network.n & network.n - 1 == 0
    kinds = [kind for kind in FAMILIES if power_of_two or kind != "bit-reversal"]
    kind = kinds[seed % len(kinds)]
    return Dose(network.d, network.g, kind, any_variant(rng, network), seed)
