"""Fold: one attempt and one delivery for all classes at once, for few packets and d > g."""

from __future__ import annotations

from popsnet.network import Network
from popsnet.routing.facts import Phases
from popsnet.routing.relay.attempt import attempt
from popsnet.routing.relay.state import RelayState
from popsnet.slot import Slot, Slots


def _explain_delivery(network: Network) -> str:
    """For d = g no relay group has two packets for one group."""
    if network.d == network.g:
        return "Relays send on what they have. For d = g no two want the same coupler."
    return (
        "Relays send on what they have; packets that share a relay group and a destination group "
        "can collide here."
    )


FOLD_PHASES: Phases = {
    "fold: attempt": "All packets that wait are sent to their relay groups at once, whatever their "
    "class.",
    "fold: delivery": _explain_delivery,
    "fold: destinations confirm": "Destinations that have their packet tell the relay.",
    "fold: acks": "Relays tell the sources, which are done.",
}


def fold(state: RelayState) -> Slots:
    """Four slots, whatever k = ⌈d/g⌉ is; conflicts in the first two.

    Every pending source sends to its relay group T (A), where (T, a) listens to group a; the relay
    forwards (D), and the up to k destinations of a group that share T share a coupler. The
    destination that got its packet tells T (DA), and the relay tells the source (K).

    Nothing is lost: the source drops its packet on an ack only, and an ack starts at the
    destination. DA has no conflict, because of the destinations of b that listen to T one at most
    was served by c(b, T); nor has K, because (T, a) alone sends to a, and what it sends concerns
    the one source of a that sent to T.
    """
    network, pending, step = state.network, state.pending, state.step
    places = state.places(state.fresh_bijection(network.d), network.processors)
    relays = places % network.g
    asked = relays[state.destination[pending]]
    copies = yield from attempt(state, "fold", asked)
    targets = network.group(copies.destinations)
    home = yield Slot.forward(copies, targets, relays, phase="fold: delivery", step=step)
    state.bring_home(home)
    mine = home.at(home.destinations == home.receivers)
    confirmed = yield Slot.acknowledge(
        mine,
        relays[mine.receivers],
        (copies.receivers, targets),
        phase="fold: destinations confirm",
        step=step,
        conflict_free=True,
    )
    state.release(copies.receivers, copies.packets, copies.destinations)
    acks = yield Slot.acknowledge(
        confirmed,
        network.index(confirmed.receivers),
        (pending, asked),
        phase="fold: acks",
        step=step,
        conflict_free=True,
    )
    state.acknowledge(acks.receivers)
