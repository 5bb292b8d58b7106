"""An attempt in one slot: all pending sources at once, before fold and shower deliver."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from popsnet.routing.relay.traffic import Traffic
from popsnet.slot import Inbox, Ints, Slot

__all__ = ["attempt"]


def attempt(
    traffic: Traffic, stage: str, groups: Ints, fanout: Ints | None = None
) -> Generator[Slot, Inbox, Inbox]:
    """Send to relay groups, given as in a slot, in which (T, a) listens to a; relays keep it."""
    d, g, n = traffic.network.d, traffic.network.g, traffic.network.n
    everybody = np.arange(n, dtype=np.int32)
    first = everybody[everybody % d < g]
    heard = yield Slot(
        phase=f"{stage}: attempt",
        step=traffic.step,
        senders=traffic.pending,
        groups=groups,
        fanout=fanout,
        packets=traffic.pending,
        listeners=first,
        listened=first % d,
    )
    traffic.keep(heard)
    return heard
