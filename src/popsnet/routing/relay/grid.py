"""Grid: the stage for d < g, where a group has fewer listeners than couplers. XY(x, y).

With G = ⌈g/d⌉ the source groups a form G superclasses, a mod G, each of at most d groups, so that
the d processors of a relay group can hear one superclass at a time. A stage has x slots of attempts
(A), y of deliveries (D), xy ≥ G, and one of acks (K).

A public injection P_b of [0, d) into [0, ĝ), ĝ = G⌈g/G⌉, gives destination j = (b, l) its y relay
groups T_v = (P_b(l) + vx) mod ĝ. In attempt slot u group T listens to superclass (T + shift + u)
mod G, processor (T, l) to the l-th group of it. A source of group a has δ = (a - P_b(l) - shift)
mod G and sends in slot u = δ mod x to T_v, v = δ div x: just then T_v listens to it. If there is no
group T_v it waits for the next stage. A relay stores one packet for each v. In delivery slot v it
sends the one stored under v, and j listens to T_v.

Nothing is lost: relay (T, l) alone hears group a, in one slot u, so that its map of x bits, sent to
the groups it stored packets of, meets no other in K and can be true of one source only. In D slot v
no two packets of T go to one group, because T_v is injective on it.
"""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import numpy.typing as npt

from popsnet.routing.facts import Phases
from popsnet.routing.relay.state import RelayState
from popsnet.slot import NO_PACKET, Inbox, Ints, Slot, Slots

GRID_PHASES: Phases = {
    "grid: attempt*": "A waiting packet is sent in the slot in which the relay group computed for "
    "it listens to its group.",
    "grid: delivery*": "Relays send on what they store: nothing can collide.",
    "grid: acks": "Relays say which packets they stored; those sources are done.",
}

Maps = npt.NDArray[np.uint8]


def superclasses(d: int, g: int) -> int:
    """G = ⌈g/d⌉."""
    return -(-g // d)


def grid(state: RelayState, x: int, y: int) -> Slots:
    """X + y + 1 slots; conflicts only in the first x."""
    yield from _GridSlots(state, x, y).run()


class _GridSlots:
    def __init__(self, state: RelayState, x: int, y: int) -> None:
        network, g, n = state.network, state.network.g, state.network.n
        self._state, self._x, self._y = state, x, y
        self._classes = superclasses(network.d, g)
        self._width = self._classes * -(-g // self._classes)  # ĝ
        self._shift = state.public_draw(self._classes)
        self._bijection = state.fresh_bijection(self._width)
        self._processors = network.processors
        self._stored = np.full((y, n), NO_PACKET, dtype=np.int32)  # by v and processor
        self._targets = np.full((y, n), NO_PACKET, dtype=np.int32)

    def run(self) -> Slots:
        state, pending = self._state, self._state.pending
        place = state.places(self._bijection, state.destination[pending])
        delta = (state.network.group(pending) - place - self._shift) % self._classes
        turns, relays = delta % self._x, self._relay(place, delta // self._x)
        maps = yield from self._attempt(turns, relays)
        yield from self._deliver()
        yield from self._acknowledge(turns, relays, maps)

    def _relay(self, places: Ints, v: Ints | int) -> Ints:
        return (places + v * self._x) % self._width

    def _attempt(self, turns: Ints, relays: Ints) -> Generator[Slot, Inbox, Maps]:
        state, network = self._state, self._state.network
        pending = state.pending
        maps = np.zeros((network.n, self._x), dtype=np.uint8)
        exists = relays < network.g
        for turn in range(self._x):
            trying = (turns == turn) & exists
            listened = self._listened(turn)
            listens = listened < network.g
            heard = yield Slot.send_packets(
                pending[trying],
                relays[trying],
                (self._processors[listens], listened[listens]),
                phase="grid: attempt" + (f", slot {turn + 1}" if self._x > 1 else ""),
                step=state.step,
            )
            place = state.places(self._bijection, heard.destinations)
            v = (network.group(heard.receivers) - place) % self._width // self._x
            free = self._stored[v, heard.receivers] == NO_PACKET
            at, v = heard.receivers[free], v[free]
            state.keep(heard.at(free))
            self._stored[v, at] = heard.packets[free]
            self._targets[v, at] = heard.destinations[free]
            maps[at, turn] = 1
        return maps

    def _listened(self, turn: int) -> Ints:
        """The group each processor listens to in an attempt slot; g or more for none."""
        network = self._state.network
        group, index = network.group(self._processors), network.index(self._processors)
        return (group + self._shift + turn) % self._classes + index * self._classes

    def _deliver(self) -> Slots:
        state, network, g = self._state, self._state.network, self._state.network.g
        for v in range(self._y):
            holders = np.flatnonzero(self._stored[v] != NO_PACKET).astype(np.int32)
            undelivered = np.flatnonzero(state.undelivered).astype(np.int32)
            relays = self._relay(state.places(self._bijection, undelivered), v)
            undelivered, relays = undelivered[relays < g], relays[relays < g]
            packets, targets = self._stored[v, holders], self._targets[v, holders]
            home = yield Slot.send_packets(
                holders,
                network.group(targets),
                (undelivered, relays),
                packets=packets,
                phase="grid: delivery" + (f", slot {v + 1}" if self._y > 1 else ""),
                step=state.step,
                conflict_free=True,
            )
            state.release(holders, packets, targets)
            state.bring_home(home)

    def _acknowledge(self, turns: Ints, relays: Ints, maps: Maps) -> Slots:
        """Each relay sends its map to the groups whose packets it stored."""
        state, g = self._state, self._state.network.g
        pending = state.pending
        told = np.flatnonzero(maps.any(axis=1)).astype(np.int32)
        groups = np.stack([self._listened(turn)[told] for turn in range(self._x)], axis=1)
        exists = relays < g
        inbox = yield Slot.send_control(
            told,
            groups[maps[told] == 1],
            (pending[exists], relays[exists]),
            fanout=maps[told].sum(axis=1, dtype=np.int32),
            contents=maps[told],
            bits=self._x,
            phase="grid: acks",
            step=state.step,
            conflict_free=True,
        )
        state.hear_maps(inbox, turns)
