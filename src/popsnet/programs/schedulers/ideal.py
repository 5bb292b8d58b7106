"""ideal: an off-line scheduler that knows all queues and sends a maximal set of packets."""

from __future__ import annotations

from functools import partial
from itertools import count
from math import gcd

import numpy as np

from popsnet.base.errors import InputError
from popsnet.hardware.propagation import ONE_HOP
from popsnet.model.coins import Coins
from popsnet.model.network import Network
from popsnet.model.traffic_memory import TrafficMemory
from popsnet.programs.facts import Explanation
from popsnet.programs.scheduler import (
    DEAD,
    ProgramFunction,
    Running,
    register_scheduler,
    register_scheduler_variant,
)
from popsnet.programs.schedulers.two_hops import deliver, send_to

_PHASE = "to destination"
_MOST_DELAY = 10**6


def _parse(text: str) -> tuple[str, ProgramFunction]:
    """Return the variant of a control delay."""
    if not text.isdecimal() or int(text) > _MOST_DELAY:
        raise InputError(
            f"Scheduler ideal has no variant {text!r}; give voq, fifo, or the control delay in "
            f"slots, an integer up to {_MOST_DELAY:,}."
        )
    return str(int(text)), partial(_ideal, control_delay=int(text))


def visiting_order(network: Network, public: Coins, slot: int) -> np.ndarray:
    """Return the order in which processors are served: from a random one, by a random step."""
    n = network.n
    step = 1 + public.draw(n, "step", slot, 0)
    while gcd(step, n) > 1:
        step += 1
    return (public.draw(n, "start", slot, 0) + step * np.arange(n)) % n


def _ideal(
    network: Network, public: Coins, coins: Coins, memory: TrafficMemory,
    control_delay: int = 0, only_first: bool = False,
) -> Running:  # fmt: skip
    """Serve processors in random order: each sends its oldest packet without a conflict.

    The packets of a slot form a one-hop matching to which no packet could be added. Packets are
    known to the scheduler ``control_delay`` slots after their arrival.
    """
    waiting: list[list[tuple[int, int, int]]] = [[] for _ in range(network.n)]
    for t in count():
        arrived = yield None
        for source, packet, destination in np.transpose(arrived).tolist():
            waiting[source].append((packet, destination, t))
        sent = []
        taken: set[object] = set()
        for source in visiting_order(network, public, t).tolist():
            for row in waiting[source][: 1 if only_first else None]:
                packet, destination, arrival = row
                if arrival > t - control_delay:
                    break
                coupler = source // network.d, destination // network.d
                if destination not in taken and coupler not in taken:
                    taken |= {destination, coupler}
                    sent.append((source, packet, destination))
                    waiting[source].remove(row)
                    break
        senders, packets, listeners = np.array(sent, dtype=np.int64).reshape(-1, 3).T
        inbox = yield send_to(network, senders, packets, listeners, _PHASE)
        memory.drop(senders, packets)
        deliver(inbox, memory)


@register_scheduler(
    "ideal",
    variant="voq",
    parse=_parse,
    online=False,
    summary="one hop, off-line: a maximal set of packets without conflicts, of known queues",
    period=lambda network: 1,
    saturation=lambda network: min(1.0, network.g / network.d),
    saturation_formula="min(1, g/d)",
    delay=lambda network: 1.0,
    delay_formula="1, plus the control delay",
    hops="1",
    messages="outside of the network",
    randomness="public",
    reference="T. E. Anderson et al., 1993 (maximal matchings)",
    propagation=lambda network, tau: ONE_HOP,
    paths="one hop",
    survives=DEAD,
    survives_known=DEAD,
    words=Explanation(
        "A scheduler that knows all queues chooses packets that do not disturb each other, as many "
        "as fit one after another in random order.",
        {_PHASE: "Packets go to their destinations, each on a coupler of its own."},
    ),
)
def ideal(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
    """Choose from all packets (virtual output queues)."""
    return _ideal(network, public, coins, memory)


@register_scheduler_variant("ideal", "fifo")
def fifo(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
    """Choose from the oldest packets of all sources: one queue each, head-of-line blocking."""
    return _ideal(network, public, coins, memory, only_first=True)
