"""Park: sources try their relay groups, which store what they can and bring it home; P and S.

A window of w slots is an attempt: each pending source sends its packet to its relay group T in one
of the w slots, and the sets of T store what there is room for. Then one slot of acks: the first
member of the set (T, a) tells group a in which of the w slots a packet was stored, in w bits. After
the last window the stored packets go home. A stage with one window delivers before it acknowledges.

Nothing is lost: an ack for slot s means that one source of group a alone used c(T, a) in slot s, so
that source knows its packet is stored, and what is stored is delivered in the same stage. An ack
meets no other message: on c(a, T) only the first member of (T, a) sends. Only attempts conflict.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np
import numpy.typing as npt

from popsnet.routing.relay.buffers import RelayBuffers
from popsnet.routing.relay.state import RelayState
from popsnet.slot import Inbox, Ints, Slot, Slots

__all__ = ["park", "sweep"]

Maps = npt.NDArray[np.uint8]


def park(traffic: RelayState, windows: Sequence[int]) -> Slots:
    """Σ(w + 1) + k slots for windows of w slots; each source tries in a slot of its own choice."""
    lot = RelayBuffers(traffic)
    for number, window in enumerate(windows, start=1):
        turns = traffic.attempts(window)
        name = f"park, window {number}" if len(windows) > 1 else "park"
        maps = yield from _attempt(traffic, lot, turns, window, name)
        if len(windows) == 1:
            yield from lot.deliver("park")
        yield from _acknowledge(traffic, lot, turns, maps, name)
    if len(windows) > 1:
        yield from lot.deliver("park")


def sweep(traffic: RelayState) -> Slots:
    """The plain sweep, 2k + 1 slots: a packet of class τ tries in slot τ, so no coins are drawn."""
    lot = RelayBuffers(traffic)
    turns = lot.classes(traffic.destination[traffic.pending])
    maps = yield from _attempt(traffic, lot, turns, lot.k, "sweep")
    yield from lot.deliver("sweep")
    yield from _acknowledge(traffic, lot, turns, maps, "sweep")


def _attempt(
    traffic: RelayState, lot: RelayBuffers, turns: Ints, window: int, stage: str
) -> Generator[Slot, Inbox, Maps]:
    """The slots of a window; returns, by set, in which of them a packet was stored."""
    network, pending = traffic.network, traffic.pending
    relays = lot.relays(traffic.destination[pending])
    residues = network.index(network.processors) % network.g
    maps = np.zeros((network.couplers, window), dtype=np.uint8)
    for turn in range(window):
        trying = turns == turn
        heard = yield Slot.send_packets(
            pending[trying],
            relays[trying],
            residues,
            phase=f"{stage}: attempt" + (f", slot {turn + 1}" if window > 1 else ""),
            step=traffic.step,
        )
        maps[lot.store(heard), turn] = 1
    return maps


def _acknowledge(
    traffic: RelayState, lot: RelayBuffers, turns: Ints, maps: Maps, stage: str
) -> Slots:
    """The first member of each set that stored anything says in which slots."""
    network, pending = traffic.network, traffic.pending
    sets = np.flatnonzero(maps.any(axis=1)).astype(np.int32)
    relay, source = np.divmod(sets, network.g)  # the groups T and a of each set
    inbox = yield Slot.send_control(
        network.processor(relay, source),
        source,
        (pending, lot.relays(traffic.destination[pending])),
        contents=maps[sets],
        bits=maps.shape[1],
        phase=f"{stage}: acks",
        step=traffic.step,
        conflict_free=True,
    )
    traffic.hear_maps(inbox, turns)
