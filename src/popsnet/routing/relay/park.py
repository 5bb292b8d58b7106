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

from popsnet.network import Network
from popsnet.routing.facts import Phases
from popsnet.routing.relay.buffers import STORED, RelayBuffers
from popsnet.routing.relay.state import RelayState
from popsnet.slot import Inbox, Ints, Slot, Slots

_AT_ONCE = (
    "Every waiting packet is sent to the relay group computed for its destination. Only here can "
    "packets of this stage collide."
)
_ACKS = "Relays say which packets they stored; those sources are done, the others try again."
PARK_PHASES: Phases = {
    "park*: attempt": _AT_ONCE,
    "park*: attempt, slot *": "Each waiting packet is sent to the relay group computed for its "
    "destination, in one of the slots of this window, drawn by its source. Only in attempts can "
    "packets of this stage collide.",
    "park: delivery*": STORED,
    "park*: acks": _ACKS,
}
SWEEP_PHASES: Phases = {
    "sweep: attempt": _AT_ONCE,
    "sweep: attempt, slot *": "Each waiting packet is sent to the relay group computed for its "
    "destination, in the slot of its class. Only in attempts can packets of this stage collide.",
    "sweep: delivery*": STORED,
    "sweep: acks": _ACKS,
}

Maps = npt.NDArray[np.uint8]


def park(state: RelayState, windows: Sequence[int]) -> Slots:
    """Σ(w + 1) + k slots for windows of w slots; each source tries in a slot of its own choice."""
    buffers = RelayBuffers(state)
    for number, window in enumerate(windows, start=1):
        turns = state.attempts(window)
        name = f"park, window {number}" if len(windows) > 1 else "park"
        maps = yield from _attempt(state, buffers, turns, window, name)
        if len(windows) == 1:
            yield from buffers.deliver("park")
        yield from _acknowledge(state, buffers, turns, maps, name)
    if len(windows) > 1:
        yield from buffers.deliver("park")


def sweep_slots(network: Network) -> int:
    """2k + 1 slots of a plain sweep, k = ⌈d/g⌉."""
    return 2 * network.blocks + 1


def sweep(state: RelayState) -> Slots:
    """The plain sweep, 2k + 1 slots: a packet of class τ tries in slot τ, so no coins are drawn."""
    buffers = RelayBuffers(state)
    turns = buffers.classes(state.destination[state.pending])
    maps = yield from _attempt(state, buffers, turns, buffers.k, "sweep")
    yield from buffers.deliver("sweep")
    yield from _acknowledge(state, buffers, turns, maps, "sweep")


def _attempt(
    state: RelayState, buffers: RelayBuffers, turns: Ints, window: int, stage: str
) -> Generator[Slot, Inbox, Maps]:
    """The slots of a window; returns, by set, in which of them a packet was stored."""
    network, pending = state.network, state.pending
    relays = buffers.relays(state.destination[pending])
    residues = network.index(network.processors) % network.g
    maps = np.zeros((network.couplers, window), dtype=np.uint8)
    for turn in range(window):
        trying = turns == turn
        heard = yield Slot.send_packets(
            pending[trying],
            relays[trying],
            residues,
            phase=f"{stage}: attempt" + (f", slot {turn + 1}" if window > 1 else ""),
            step=state.step,
        )
        maps[buffers.store(heard), turn] = 1
    return maps


def _acknowledge(
    state: RelayState, buffers: RelayBuffers, turns: Ints, maps: Maps, stage: str
) -> Slots:
    """The first member of each set that stored anything says in which slots."""
    network, pending = state.network, state.pending
    sets = np.flatnonzero(maps.any(axis=1)).astype(np.int32)
    relay, source = np.divmod(sets, network.g)  # the groups T and a of each set
    inbox = yield Slot.send_control(
        network.processor(relay, source),
        source,
        (pending, buffers.relays(state.destination[pending])),
        contents=maps[sets],
        bits=maps.shape[1],
        phase=f"{stage}: acks",
        step=state.step,
        conflict_free=True,
    )
    state.hear_maps(inbox, turns)
