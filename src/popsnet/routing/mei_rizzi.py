"""mei-rizzi: the randomized router of the paper, five slots a step."""

from __future__ import annotations

import numpy as np

from popsnet.coins import Coins
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.router import Slots, register
from popsnet.slot import Ints, Kind, Slot

__all__ = ["BUFFERS", "INTERMEDIATE_GROUP", "PHASES", "mei_rizzi", "obstacle"]

BUFFERS = 3
"""The processor's own packet, the packet it is to receive, and one copy on its way."""

INTERMEDIATE_GROUP = "mei-rizzi intermediate group"
"""The purpose of the router's coins."""

PHASES = (
    "1 to intermediate group",
    "2 to temporary group",
    "3 ack to intermediate group",
    "4 ack to source",
    "5 to destination",
)


def obstacle(network: Network) -> str | None:
    """The router is defined here for d = g."""
    if network.d == network.g:
        return None
    return "it needs d = g. Take a square network, or --router direct, which runs on any."


@register(
    "mei-rizzi",
    variant="published",
    summary="each packet by a random and a temporary group, acknowledged, until all are home",
    slots="O(log log g) with high probability, 5 a step",
    buffers=BUFFERS,
    applies="d = g",
    obstacle=obstacle,
    randomness="private coins",
    reference="Mei and Rizzi, On-Line Permutation Routing in Partitioned Optical Passive Star "
    "Networks, section 3.1",
)
def mei_rizzi(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route any permutation on POPS(g, g) in O(log log g) slots with high probability.

    A step has five slots. A source sends a copy of its packet to a random intermediate group
    (1), which passes it on to the temporary group, the destination's number mod g (2). Acks
    go back the same way (3, 4), and the source that hears one drops its original. The
    temporary group sends the copy to its destination (5). In slots 1, 2 and 5 processor j
    listens to group j mod g; an ack is heard by whoever sent the copy.

    Copies may meet in slots 1 and 2 only. In slots 3 to 5 two messages never meet
    (Proposition 3.1 of the paper); the machine checks it on every run.

    The router stops when every source has its ack. No processor could know that: the
    simulation looks, to end the run, and nothing a processor does depends on it.
    """
    d, g, n = network.d, network.g, network.n
    everybody = np.arange(n, dtype=np.int32)
    own_residue = everybody % g
    pending: Ints = everybody
    waiting = np.ones(n, dtype=np.bool_)
    step = 0
    while pending.size:
        intermediate = coins.draws(g, INTERMEDIATE_GROUP, step, pending)
        copies = yield Slot(
            phase=PHASES[0],
            step=step,
            senders=pending,
            groups=intermediate,
            packets=pending,
            listeners=everybody,
            listened=own_residue,
        )
        memory.store(copies.receivers, copies.packets)

        relays, temporary = copies.receivers, copies.destinations % g
        arrived = yield Slot(
            phase=PHASES[1],
            step=step,
            senders=relays,
            groups=temporary,
            packets=copies.packets,
            listeners=everybody,
            listened=own_residue,
        )
        memory.drop(relays, copies.packets)
        memory.store(arrived.receivers, arrived.packets)

        acks = yield Slot(
            phase=PHASES[2],
            step=step,
            senders=arrived.receivers,
            groups=arrived.groups,
            kind=Kind.ACK,
            packets=arrived.packets,
            listeners=relays,
            listened=temporary,
            conflict_free=True,
        )
        confirmed = yield Slot(
            phase=PHASES[3],
            step=step,
            senders=acks.receivers,
            groups=own_residue[acks.receivers],
            kind=Kind.ACK,
            packets=acks.packets,
            listeners=pending,
            listened=intermediate,
            conflict_free=True,
        )
        memory.drop(confirmed.receivers, confirmed.receivers)
        waiting[confirmed.receivers] = False
        pending = pending[waiting[pending]]

        home = yield Slot(
            phase=PHASES[4],
            step=step,
            senders=arrived.receivers,
            groups=arrived.destinations // d,
            packets=arrived.packets,
            listeners=everybody,
            listened=own_residue,
            conflict_free=True,
        )
        memory.drop(arrived.receivers, arrived.packets)
        memory.deliver(home.receivers, home.packets)
        step += 1
