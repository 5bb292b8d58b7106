"""mei-rizzi: the randomized router of the paper, five slots a step."""

from __future__ import annotations

import numpy as np

from popsnet.coins import Coins
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.router import Slots, register, register_variant
from popsnet.slot import Ints, Kind, Slot

__all__ = [
    "BUFFERS",
    "INTERMEDIATE_GROUP",
    "PHASES",
    "idealized",
    "mei_rizzi",
    "participation",
]

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


def _needs_a_square(network: Network) -> str | None:
    if network.d == network.g:
        return None
    return (
        "it needs d = g. Take --router direct, which runs on any network, or for d > g the "
        "statistics of --variant idealized."
    )


def _needs_large_groups(network: Network) -> str | None:
    return None if network.d >= network.g else "it needs d >= g."


def participation(network: Network, step: int) -> int:
    """In 2^32 parts, the probability that a packet takes part in a step 0, 1, ….

    With c + ε = 4 in the paper's law, step s = 1, 2, … has g / (d - g(s - 1)/4) while
    s ≤ ⌈4(d/g - 1)⌉; afterwards every packet takes part. For d = g that is from the start.
    """
    d, g = network.d, network.g
    return (4 * g << 32) // (4 * d - g * step) if g * step < 4 * (d - g) else 2**32


@register(
    "mei-rizzi",
    variant="published",
    summary="each packet by a random and a temporary group, acknowledged, until all are home",
    slots="O(log log g) with high probability, 5 a step",
    buffers=BUFFERS,
    applies="d = g; d > g idealized",
    obstacle=_needs_a_square,
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
        pending = np.flatnonzero(waiting).astype(np.int32)

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


@register_variant("mei-rizzi", "idealized", obstacle=_needs_large_groups, idealized=True)
def idealized(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Count a packet as delivered once it survives slots 1 and 2, whatever slots 3 to 5 would do.

    On d = g that is what happens. On d > g it is what the paper's tables report, and not what
    happens: several destinations share a coupler in slot 5. Packets take part by the paper's law
    (section 3.2). In group x the processor with index a < g listens to group a, so that every
    coupler has one listener. Slots 3 to 5 are empty here: they are assumed, not executed.
    """
    d, g, n = network.d, network.g, network.n
    listeners = np.flatnonzero(np.arange(n) % d < g).astype(np.int32)
    pending: Ints = np.arange(n, dtype=np.int32)
    waiting = np.ones(n, dtype=np.bool_)
    step = 0
    while pending.size:
        chance = participation(network, step)
        taking = pending[coins.chances(chance, INTERMEDIATE_GROUP, step, pending)]
        copies = yield Slot(
            phase=PHASES[0],
            step=step,
            senders=taking,
            groups=coins.draws(g, INTERMEDIATE_GROUP, step, taking),
            packets=taking,
            listeners=listeners,
            listened=listeners % d,
        )
        memory.store(copies.receivers, copies.packets)
        arrived = yield Slot(
            phase=PHASES[1],
            step=step,
            senders=copies.receivers,
            groups=copies.destinations % g,
            packets=copies.packets,
            listeners=listeners,
            listened=listeners % d,
        )
        memory.drop(copies.receivers, copies.packets)
        memory.assume_delivered(arrived.packets)
        waiting[arrived.packets] = False
        pending = pending[waiting[pending]]
        for phase in PHASES[2:]:
            yield Slot(phase=f"{phase} (assumed)", step=step)
        step += 1
