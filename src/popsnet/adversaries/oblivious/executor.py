"""Sends the packets of a permutation along their paths, on the machine."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from popsnet.adversaries.oblivious.crossing import loads
from popsnet.adversaries.oblivious.paths import PathSystem
from popsnet.coins import Coins
from popsnet.engines import Instance, Outcome
from popsnet.engines.slots import execute
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing import Router
from popsnet.routing.router import Variant
from popsnet.slot import Ints, Slot, Slots
from popsnet.trace import Observer

__all__ = ["execute_paths"]


def execute_paths(
    paths: PathSystem, network: Network, destination: Ints, observers: Sequence[Observer] = ()
) -> Outcome:
    """Store and forward, without a collision, by a scheduler that sees the whole network.

    In every slot packets are taken with the longest way to go first. Each is sent if its
    processor, its coupler and the next processor are not in use yet. The bound holds for every
    order, "however omniscient"; this one is greedy, so a packet waits only while one of these
    three is busy. A processor may hold as many packets as there are paths through it.
    """
    held = loads(paths, network, destination)[: network.n].max()

    def route(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        return _forward(paths, network, destination, memory)

    router = Router(
        name=f"paths {paths.name}",
        summary="packets along fixed paths, the longest way first",
        slots="as many as the congestion, or more",
        buffers=int(held) + 1,
        variants={"standard": Variant(route)},
    )
    return execute(Instance(network, router, "standard", destination, Coins(0), 1), observers)


def _forward(paths: PathSystem, network: Network, destination: Ints, memory: Memory) -> Slots:
    rows = paths.between(network, network.processors, destination)
    ways = [_stops(way) for way in rows.tolist()]
    home = np.array([p for p, way in enumerate(ways) if len(way) == 1], dtype=np.int32)
    memory.deliver(home, home)
    place = [0] * network.n
    travelling = [p for p, way in enumerate(ways) if len(way) > 1]
    while travelling:
        travelling.sort(key=lambda p: place[p] - len(ways[p]))
        moving = _choose(network, ways, place, travelling)
        packets = np.array(moving, dtype=np.int32)
        here = np.array([ways[p][place[p]] for p in moving], dtype=np.int32)
        there = np.array([ways[p][place[p] + 1] for p in moving], dtype=np.int32)
        yield Slot.send_packets(
            here,
            network.group(there),
            (there, network.group(here)),
            packets=packets,
            phase="along the paths",
            conflict_free=True,
        )
        memory.drop(here, packets)
        ends = np.array([place[p] + 2 == len(ways[p]) for p in moving])
        memory.store(there[~ends], packets[~ends])
        memory.deliver(there[ends], packets[ends])
        for p in moving:
            place[p] += 1
        travelling = [p for p in travelling if place[p] < len(ways[p]) - 1]


def _stops(way: list[int]) -> list[int]:
    """The path without waiting."""
    return [stop for i, stop in enumerate(way) if i == 0 or stop != way[i - 1]]


def _choose(
    network: Network, ways: list[list[int]], place: list[int], travelling: list[int]
) -> list[int]:
    """Whom to send: a maximal set in which no processor, coupler or listener is used twice."""
    senders: set[int] = set()
    couplers: set[int] = set()
    listeners: set[int] = set()
    moving = []
    for p in travelling:
        here, there = ways[p][place[p]], ways[p][place[p] + 1]
        coupler = network.coupler(network.group(there), network.group(here))
        if here not in senders and there not in listeners and coupler not in couplers:
            moving.append(p)
            senders.add(here)
            listeners.add(there)
            couplers.add(coupler)
    return moving
