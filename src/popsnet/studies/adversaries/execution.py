"""Build permutations for adversaries and execute routes on the machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from sys import maxsize
from typing import NamedTuple

import numpy as np

from popsnet.base.errors import wrong
from popsnet.engines import Instance, Outcome
from popsnet.engines.slots import execute
from popsnet.model.coins import Coins
from popsnet.model.medium import Medium, SlotArrays
from popsnet.model.memory import Memory
from popsnet.model.network import I32, Bools, Network
from popsnet.model.slot import Ints, Kind, Slot, Slots
from popsnet.programs.router import Route, Router, Variant
from popsnet.trace import Observer
from popsnet.workloads.permutations.uniform import UniformPermutation

_SMALLEST = 8


def complete(n: int, sources: Ints, destinations: Ints) -> I32:
    """Return the permutation of [0, n) with these pairs and the rest matched in rising order."""
    permutation = np.full(n, -1, dtype=np.int32)
    permutation[sources] = destinations
    permutation[permutation < 0] = np.delete(np.arange(n), destinations)
    return permutation


def uniform_permutations(network: Network, runs: int, seed: int = 0) -> Iterator[I32]:
    """Draw this many uniform permutations, one after the other."""
    coins = Coins(seed)
    return (UniformPermutation(network.n, coins.for_run(run)).array() for run in range(runs))


def sizes_to(largest: int) -> list[int]:
    """Return the sizes 8, 16, … up to ``largest``."""
    if largest < _SMALLEST:
        rule = f"the smallest size is g = {_SMALLEST}; give {_SMALLEST} or more."
        raise wrong("largest", largest)(rule)
    return [_SMALLEST << k for k in range((largest // _SMALLEST).bit_length())]


def verdict(confirmed: bool, text: str) -> str:
    """Begin a text with whether the machine confirms it."""
    return f"{'Confirmed' if confirmed else 'NOT CONFIRMED'}: {text}"


def execute_route(
    route: Route, network: Network, destination: Ints, name: str, buffers: int,
    max_steps: int = 1, observers: Sequence[Observer] = (),
) -> Outcome:  # fmt: skip
    """Execute a route on the machine without registering it as a router."""
    router = _router(name, route, buffers)
    return execute(Instance(network, router, "", destination, Coins(0), max_steps), observers)


def _router(name: str, route: Route, buffers: int) -> Router:
    return Router(name, summary="", slots="", buffers=buffers, variants={"": Variant(route)})


def heard(medium: Medium, slot: Slot, all_kinds: bool = False) -> tuple[Ints, Ints]:
    """Return the processors that hear a packet, and for each the number of its sender's entry.

    With ``all_kinds``, those that hear any message.
    """
    light = medium.transmit(0, slot, SlotArrays.of(slot))
    chosen = (slot.kinds[light.messages] == Kind.PACKET) | all_kinds
    return slot.listeners[light.listeners[chosen]], light.messages[chosen]


class WatchedRun(NamedTuple):
    """The outcome of a router's run, and which packets are at their destinations."""

    outcome: Outcome
    delivered: Bools
    """At the end of the run, or where it was truncated; all False if the machine stops it."""


def watch(
    instance: Instance, note: Callable[[Slot], None], most: int = maxsize, promises: bool = True
) -> WatchedRun:
    """Execute a router for at most ``most`` slots and pass each of them to ``note``.

    The router still stores, drops and delivers what it received in the last of these slots.
    Without ``promises`` a slot that is declared free of conflicts may have conflicts.
    """
    router, variant = instance.router, instance.variant
    delivered = np.zeros(instance.network.n, dtype=np.bool_)

    def route(network: Network, to: Ints, coins: Coins, memory: Memory) -> Slots:
        running = router.start(variant, network, to, coins, memory)
        with suppress(StopIteration), closing(running):
            slot = next(running)
            for _ in range(most):
                inbox = yield (slot if promises else replace(slot, conflict_free=False))
                note(slot)
                slot = running.send(inbox)
        delivered[:] = memory.holds(to, network.processors)

    watched = _router(router.name, route, router.buffers_on(instance.network, variant))
    return WatchedRun(execute(replace(instance, router=watched, variant="")), delivered)
