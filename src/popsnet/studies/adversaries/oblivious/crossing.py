"""The nodes that paths go through, the load of each node, and the execution of paths.

A node is a processor p, numbered p, or a coupler c(b, a), numbered n + b·g + a. As in the paper, a
path goes through its couplers and all its processors except the source. In one slot a node takes
one packet, so a permutation with m paths through one node needs at least m slots, whatever the
schedule.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby

import numpy as np

from popsnet.engines import Outcome
from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import I64, Network
from popsnet.model.slot import Ints, Slot, Slots
from popsnet.studies.adversaries.execution import execute_route
from popsnet.studies.adversaries.oblivious.paths import PathSystem
from popsnet.trace import Observer


def nodes(network: Network) -> int:
    """Return the number of nodes."""
    return network.n + network.couplers


def name_of(network: Network, node: int) -> str:
    """Return the name of a node."""
    if node < network.n:
        return f"processor {node}"
    b, a = divmod(node - network.n, network.g)
    return f"coupler {a}→{b}"


def crossings(network: Network, ways: Ints) -> tuple[Ints, Ints]:
    """Return which rows of ``ways`` go through which nodes, each pair once.

    A path that returns to a node is counted there once.
    """
    stops, following = ways[:, :-1], ways[:, 1:]
    moves = stops != following
    couplers = network.n + following // network.d * network.g + stops // network.d
    rows, through = [], []
    for visited in (following, couplers):
        for k in range(visited.shape[1]):
            again = moves[:, :k] & (visited[:, :k] == visited[:, k, None])
            new = moves[:, k] & ~again.any(axis=1)
            rows.append(np.flatnonzero(new))
            through.append(visited[new, k])
    return np.concatenate(rows), np.concatenate(through)


def loads(paths: PathSystem, network: Network, destination: Ints) -> I64:
    """Count the paths of a permutation through every node."""
    ways = paths.between(network, network.processors, destination)
    _, through = crossings(network, ways)
    return np.bincount(through, minlength=nodes(network))


def execute_paths(
    paths: PathSystem, network: Network, destination: Ints, observers: Sequence[Observer] = ()
) -> Outcome:
    """Forward all packets along their paths without collisions, scheduled with full knowledge.

    In every slot, packets with the longest remaining path are considered first. A packet is sent
    if its processor, its coupler and the next processor are still free in this slot. The bound
    holds for every order, "however omniscient"; this one is greedy, so a packet waits only while
    one of these three is busy. A processor may hold as many packets as there are paths through it.
    """
    held = loads(paths, network, destination)[: network.n].max()
    route, name = partial(_forward, paths), f"paths {paths.name}"
    return execute_route(route, network, destination, name, int(held) + 1, observers=observers)


def _forward(paths: PathSystem, network: Network, to: Ints, coins: Coins, memory: Memory) -> Slots:
    rows = paths.between(network, network.processors, to)
    ways = [[stop for stop, _ in groupby(way)] for way in rows.tolist()]  # without waiting
    delivered = np.array([p for p, way in enumerate(ways) if len(way) == 1], dtype=np.int32)
    memory.deliver(delivered, delivered)
    left = {p: way for p, way in enumerate(ways) if len(way) > 1}
    while left:
        left = dict(sorted(left.items(), key=lambda item: -len(item[1])))
        packets, senders, receivers = np.array(_choose(network, left), dtype=np.int32).T
        yield Slot.send_packets(
            senders, network.group(receivers), (receivers, network.group(senders)), packets=packets,
            phase="along the paths", conflict_free=True,
        )  # fmt: skip
        memory.drop(senders, packets)
        ends = np.array([len(left[p]) == 2 for p in packets])
        memory.store(receivers[~ends], packets[~ends])
        memory.deliver(receivers[ends], packets[ends])
        left |= {p: left[p][1:] for p in packets.tolist()}
        left = {p: way for p, way in left.items() if len(way) > 1}


def _choose(network: Network, left: dict[int, list[int]]) -> list[tuple[int, int, int]]:
    """Choose hops of as many packets as fit, with no sender, coupler or listener used twice."""
    used: set[tuple[str, int]] = set()
    moving = []
    for p, (sender, receiver, *_) in left.items():
        coupler = network.coupler(network.group(receiver), network.group(sender))
        needs = {("sender", sender), ("coupler", coupler), ("listener", receiver)}
        if used.isdisjoint(needs):
            moving.append((p, sender, receiver))
            used |= needs
    return moving
