"""An attempt in one slot: all pending sources at once, before fold and shower deliver."""

from __future__ import annotations

from collections.abc import Generator

from popsnet.routing.relay.state import RelayState
from popsnet.slot import Inbox, Ints, Slot


def attempt(
    state: RelayState, stage: str, groups: Ints, fanout: Ints | None = None
) -> Generator[Slot, Inbox, Inbox]:
    """Send to relay groups, given as in a slot, in which (T, a) listens to a; relays keep it."""
    network, processors = state.network, state.network.processors
    first = processors[network.index(processors) < network.g]
    heard = yield Slot.send_packets(
        state.pending,
        groups,
        (first, network.index(first)),
        fanout=fanout,
        phase=f"{stage}: attempt",
        step=state.step,
    )
    state.keep(heard)
    return heard
