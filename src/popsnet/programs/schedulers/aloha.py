"""aloha: one hop, at random, with acknowledgements."""

from __future__ import annotations

from functools import partial
from itertools import count

import numpy as np

from popsnet.base.errors import InputError
from popsnet.hardware.propagation import INTERLEAVED, Propagation, rounded_up
from popsnet.model.coins import Coins
from popsnet.model.network import Network
from popsnet.model.slot import Inbox, Slot
from popsnet.model.traffic_memory import NewPackets, TrafficMemory
from popsnet.programs.facts import Explanation
from popsnet.programs.queues import Queues
from popsnet.programs.scheduler import DEAD, ProgramFunction, Running, register_scheduler
from popsnet.programs.schedulers.attempts import Attempts, Patience, one_coin

_DATA, _ACK = "data", "ack"


def _saturation(network: Network) -> float:
    """Return the rate at which d sources that always have a packet succeed, per processor."""
    d, g = network.d, network.g
    return min(1, g / d) * (1 - 1 / d) ** (d - 1) / 2 if d > 1 else 0.5


def aloha_patience(d: int) -> Patience:
    """Return the patience of sources: 1/(64d) lets d sources share one coupler."""
    return Patience(8, (d - 1).bit_length() + 6)


def _parse(text: str) -> tuple[str, ProgramFunction]:
    """Return the variant of a probability."""
    try:
        probability = float(text)
    except ValueError:
        probability = 0.0
    if not 0 < probability <= 1:
        raise InputError(
            f"Scheduler aloha has no variant {text!r}; give backoff, or the probability of every "
            "attempt, more than 0 and at most 1."
        )
    return f"{probability:g}", partial(_aloha, patience=one_coin(probability))


def _aloha(
    network: Network, public: Coins, coins: Coins, memory: TrafficMemory, patience: Patience
) -> Running:
    """Send in data slots to destinations that listen, and acknowledge in the slots between.

    In data slot s, destination (b, l) listens to group b + (l mod g) + s. An acknowledgement cannot
    collide: on c(a, b) only the destination that heard the one message from a sends. It names the
    packet, since the message of another source with a dead transmitter does not collide.
    """
    g, processors = network.g, network.processors
    groups, residues = network.group(processors), network.index(processors) % g
    queues, attempts = Queues(), Attempts(coins, patience)
    for t in count():
        arrived: NewPackets = yield None
        to = network.group(arrived.destinations), network.index(arrived.destinations)
        turns = (network.group(arrived.processors) - to[0] - to[1] % g) % g
        queues.push(arrived.processors, turns, arrived.packets)
        s, is_ack = divmod(t, 2)
        if not is_ack:
            attempt = attempts.choose(
                queues, processors, np.full(network.n, s % g), s, lambda _, packets: packets >= 0
            )
            targets = network.group(memory.destinations(attempt.packets))
            listening = (groups + residues + s) % g
            inbox = yield Slot.send_packets(
                attempt.senders, targets, listening, packets=attempt.packets, phase=_DATA
            )
            mine: Inbox = inbox.at(inbox.destinations == inbox.receivers)
            new = mine.at(~memory.taken(mine.packets))  # a source may not have heard the ack
            memory.deliver(new.receivers, new.packets)
        else:
            heard = attempt.senders, targets
            inbox = yield Slot.acknowledge(mine, mine.groups, heard, phase=_ACK, conflict_free=True)
            memory.drop(*attempts.conclude(attempt, inbox, queues))


def _propagation(network: Network, tau: int) -> Propagation:
    """Return + τ if outcomes are known before they matter, with acknowledgements τ' slots later.

    τ' is τ rounded up to an even number, so that data slots and acknowledgements still alternate.
    Data slot s looks at one queue of every source, that of the destinations that listen, and data
    slot s + g is the next to do so. The outcome of data slot s is known 2 + τ' + τ slots after it
    begins. If these are at most 2g, every decision is the same, and a packet arrives τ slots later.
    Otherwise 1 + τ schedulers are interleaved.
    """
    return _IN_TIME if tau + rounded_up(tau, 2) <= 2 * (network.g - 1) else INTERLEAVED


_IN_TIME = Propagation(
    "one hop, acknowledged before the next turn: + τ", lambda _, delay, hops, tau: delay + tau
)


@register_scheduler(
    "aloha",
    variant="backoff",
    parse=_parse,
    summary="one hop, with collisions and acknowledgements",
    period=lambda network: 2 * network.g,
    saturation=_saturation,
    saturation_formula="about min(1, g/d)·(1 - 1/d)^(d-1)/2; large d: 0.184·min(1, g/d)",
    delay=lambda network: network.g + 0.5,
    delay_formula="g + 1/2",
    hops="1",
    messages="an acknowledgement per delivered packet",
    randomness="private",
    reference="L. G. Roberts, 1975 (slotted ALOHA)",
    propagation=_propagation,
    paths="one hop, both ways",
    survives=frozenset({"loss"}),
    survives_known=DEAD | {"loss"},
    words=Explanation(
        "Destinations listen to the groups in turn. A source that has a packet for a destination "
        "that listens to its group sends it; two on one coupler destroy each other, and are tried "
        "again later, at random.",
        {_DATA: "Sources send packets to destinations that listen to their groups.",
         _ACK: "Destinations acknowledge what they heard. Acknowledgements never collide."},
    ),
)  # fmt: skip
def aloha(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
    """Try a packet that failed f times with probability 2^-f, at least about 1/(64d)."""
    return _aloha(network, public, coins, memory, aloha_patience(network.d))
