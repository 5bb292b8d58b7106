"""Shower: copies by several relay groups at once, no acks; a global OR says if all are home."""

from __future__ import annotations

import numpy as np

from popsnet.routing.facts import Phases
from popsnet.routing.global_or import OR_PHASES, global_or
from popsnet.routing.relay.attempt import attempt
from popsnet.routing.relay.state import RelayState
from popsnet.slot import Ints, Slot, Slots

SHOWER_PHASES: Phases = {
    "shower: attempt": "Packets that still wait are sent to several relay groups at once: one copy "
    "that comes through is enough.",
    "shower: delivery*": "Relays send on the copies they heard; destinations listen to one relay "
    "group after another.",
    **OR_PHASES,
}


def shower(state: RelayState, copies: int) -> Slots:
    """1 + r slots for r copies, and the two of the global OR; the last stage of a schedule.

    Every pending source sends its packet to r relay groups at once: T_1 … T_r, the places of its
    destination under r bijections, mod g. In delivery slot u the relays that are T_u of what they
    heard forward it, and destinations listen to T_u. Then every processor that still waits objects.

    Nothing is lost: sources keep their packets until the OR is clean, which it is if and only if
    every destination has its packet. For d = g deliveries have no conflict; for d > g
    destinations that share T_u share a coupler.
    """
    network, pending, processors = state.network, state.pending, state.network.processors
    bijections = [state.fresh_bijection(network.d) for _ in range(copies)]
    places = np.stack([state.places(one, processors) for one in bijections], axis=1)
    relays = places % network.g
    groups, fanout = _distinct(relays[state.destination[pending]])
    heard = yield from attempt(state, "shower", groups, fanout)
    for turn in range(copies):
        sending = heard.at(relays[heard.destinations, turn] == network.group(heard.receivers))
        listeners = processors[state.undelivered]
        home = yield Slot.forward(
            sending,
            network.group(sending.destinations),
            (listeners, relays[listeners, turn]),
            phase="shower: delivery" + (f", copy {turn + 1}" if copies > 1 else ""),
            step=state.step,
            conflict_free=network.d == network.g,
        )
        state.bring_home(home)
    state.release(heard.receivers, heard.packets, heard.destinations)
    undelivered = np.flatnonzero(state.undelivered).astype(np.int32)
    objections = yield from global_or(
        state.network, undelivered, phase="shower: who still waits", step=state.step
    )
    if not objections:
        state.acknowledge(pending)


def _distinct(targets: Ints) -> tuple[Ints, Ints]:
    """The different groups of each row, one row after the other, and how many each row has."""
    targets = np.sort(targets, axis=1)
    new = np.ones(targets.shape, dtype=np.bool_)
    new[:, 1:] = targets[:, 1:] != targets[:, :-1]
    return targets[new], new.sum(axis=1, dtype=np.int32)
