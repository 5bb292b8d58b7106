"""relay: the stage F of the router relay, repeated for ever."""

from __future__ import annotations

from itertools import count

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.network import Bools, Ints, Network
from popsnet.model.slot import Inbox, Slot
from popsnet.model.traffic_memory import NewPackets, TrafficMemory
from popsnet.programs.facts import Explanation
from popsnet.programs.queues import Queues
from popsnet.programs.routers.relay.folds import FoldPlaces
from popsnet.programs.routers.to_all import one_per_coupler
from popsnet.programs.scheduler import DEAD, Running, register_scheduler
from popsnet.programs.schedulers.attempts import Attempts, Patience

_PHASES = ("attempt", "forward", "confirm", "ack")


def _saturation(network: Network) -> float:
    """Return the share of attempts at load 1 per coupler that survive both hops, per slot.

    For d < g it is an estimate: a relay group listens to d of the g groups at a time.
    """
    d, g = network.d, network.g
    first = (1 - 1 / d) ** (d - 1)
    most = min(d, g)
    second = (1 - first / most) ** (most - 1)
    return min(1, g / d) * first * second / 4


def relay_patience(n: int) -> Patience:
    """Return the patience of sources: packets meet others by chance, so it is long."""
    return Patience(32, (n - 1).bit_length() + 4)


class _CyclePlaces(FoldPlaces):
    """The places of one cycle."""

    def listening(self) -> tuple[Ints, Ints]:
        """Return the relays that listen, and the group of each, the same always if d ≥ g."""
        if self._network.d < self._network.g:
            return super().listening()
        return one_per_coupler(self._network)


@register_scheduler(
    "relay",
    summary="two hops, at random, acknowledged from the destination back: a cycle of four slots",
    period=lambda network: 4 * -(-network.g // network.d),
    saturation=_saturation,
    saturation_formula="about 0.064·min(1, g/d)",
    delay=lambda network: 3.5 + 4 * max(network.g / network.d - 1, 0),
    delay_formula="3.5 (d ≥ g)",
    hops="2",
    messages="two acknowledgements per delivered packet",
    randomness="public, and private",
    paths="two hops, both ways",
    survives=frozenset({"couplers", "loss"}),
    survives_known=DEAD | {"loss"},
    words=Explanation(
        "Every four slots sources try to send a packet through a relay group, which public coins "
        "choose for its destination. Only packets that nothing destroyed are acknowledged.",
        {_PHASES[0]: "Sources send a packet to the relay group of its destination.",
         _PHASES[1]: "Relays that heard a packet send it to its destination.",
         _PHASES[2]: "Destinations confirm what they heard to the relays.",
         _PHASES[3]: "Relays pass the confirmations on to the sources."},
    ),
)  # fmt: skip
def relay(network: Network, public: Coins, coins: Coins, memory: TrafficMemory) -> Running:
    """Attempt, forward, confirm, acknowledge, with fresh public places in every cycle.

    Destination (b, l) has its place in group T = l + a public number of b. So d ≤ g destinations of
    a group have different places, and a permutation that shifts groups never collides at d = g.
    Confirmations and acknowledgements cannot collide: a group hears at most one packet from another
    group in a slot.
    """
    group, processors = network.group, network.processors
    queues, attempts = Queues(), Attempts(coins, relay_patience(network.n))
    for t in count():
        arrived: NewPackets = yield None
        queues.push(arrived.processors, 0 * arrived.packets, arrived.packets)
        k, phase = divmod(t, 4)
        if phase == 0:
            places = _CyclePlaces(network, public, "place", k)

            def may(senders: Ints, packets: Ints, places: _CyclePlaces = places) -> Bools:
                return places.is_open(senders, places.relay_group(memory.destinations(packets)))

            attempt = attempts.choose(queues, processors, 0 * processors, k, may)
            targets = places.relay_group(memory.destinations(attempt.packets))
            held: Inbox = yield Slot.send_packets(
                attempt.senders, targets, places.listening(), packets=attempt.packets,
                phase=_PHASES[0],
            )  # fmt: skip
            memory.store(held.receivers, held.packets)
        elif phase == 1:
            inbox = yield Slot.forward(
                held, group(held.destinations), places.relay_group(processors), phase=_PHASES[1]
            )
            mine: Inbox = inbox.at(inbox.destinations == inbox.receivers)
            new = mine.at(~memory.taken(mine.packets))  # its source may not have heard the ack
            memory.deliver(new.receivers, new.packets)
        elif phase == 2:
            waiting = held.receivers, group(held.destinations)
            confirmed: Inbox = yield Slot.acknowledge(
                mine, mine.groups, waiting, phase=_PHASES[2], conflict_free=True
            )
        else:
            passed = held.at(np.isin(held.receivers, confirmed.receivers))
            waiting = attempt.senders, targets
            inbox = yield Slot.acknowledge(
                passed, passed.groups, waiting, phase=_PHASES[3], conflict_free=True
            )
            memory.drop(held.receivers, held.packets)
            memory.drop(*attempts.conclude(attempt, inbox, queues))
