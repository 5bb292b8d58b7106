"""Fold: one attempt and one delivery for all classes at once, for few packets and d > g."""

from __future__ import annotations

import numpy as np

from popsnet.routing.relay.attempt import attempt
from popsnet.routing.relay.traffic import Traffic
from popsnet.routing.router import Slots
from popsnet.slot import Kind, Slot

__all__ = ["fold"]


def fold(traffic: Traffic) -> Slots:
    """Four slots, whatever k = ⌈d/g⌉ is; conflicts in the first two.

    Every pending source sends to its relay group T (A), where (T, a) listens to group a; the relay
    forwards (D), and the up to k destinations of a group that share T share a coupler. The
    destination that got its packet tells T (DA), and the relay tells the source (K).

    Nothing is lost: the source drops its packet on an ack only, and an ack starts at the
    destination. DA has no conflict, because of the destinations of b that listen to T one at most
    was served by c(b, T); nor has K, because (T, a) alone sends to a, and what it sends concerns
    the one source of a that sent to T.
    """
    d, g, n = traffic.network.d, traffic.network.g, traffic.network.n
    pending = traffic.pending
    everybody = np.arange(n, dtype=np.int32)
    relays = traffic.places(traffic.fresh_bijection(d), everybody) % g
    asked = relays[traffic.destination[pending]]
    copies = yield from attempt(traffic, "fold", asked)
    home = yield Slot(
        phase="fold: delivery",
        step=traffic.step,
        senders=copies.receivers,
        groups=copies.destinations // d,
        packets=copies.packets,
        listeners=everybody,
        listened=relays,
    )
    traffic.bring_home(home)
    mine = home.at(home.destinations == home.receivers)
    confirmed = yield Slot(
        phase="fold: destinations confirm",
        step=traffic.step,
        senders=mine.receivers,
        groups=relays[mine.receivers],
        kind=Kind.ACK,
        packets=mine.packets,
        listeners=copies.receivers,
        listened=copies.destinations // d,
        conflict_free=True,
    )
    traffic.release(copies.receivers, copies.packets, copies.destinations)
    acks = yield Slot(
        phase="fold: acks",
        step=traffic.step,
        senders=confirmed.receivers,
        groups=confirmed.receivers % d,
        kind=Kind.ACK,
        packets=confirmed.packets,
        listeners=pending,
        listened=asked,
        conflict_free=True,
    )
    traffic.acknowledge(acks.receivers)
