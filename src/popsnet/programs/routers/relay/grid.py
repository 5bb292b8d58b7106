"""Grid, XY(x, y): the stage for d < g, where a group has fewer listeners than couplers.

With G = ⌈g/d⌉ the source groups a form G superclasses, a mod G, each of at most d groups, so that
the d processors of a relay group can hear one superclass at a time. A stage has x slots of attempts
(A), y of deliveries (D), xy ≥ G, and one of acks (K).

A public injection P_b of [0, d) into [0, ĝ), ĝ = G⌈g/G⌉, gives destination j = (b, l) its y relay
groups T_v = (P_b(l) + vx) mod ĝ. In attempt slot u group T listens to superclass (T + shift + u)
mod G, processor (T, l) to the l-th group of it. A source of group a has δ = (a - P_b(l) - shift)
mod G and sends in slot u = δ mod x to T_v, v = δ div x: in that slot T_v listens to it. If there is
no group T_v it waits for the next stage. A relay stores one packet for each v. In delivery slot v
it sends the one stored under v, and j listens to T_v.

Nothing is lost: relay (T, l) alone hears group a, in one slot u, so its map of x bits, sent to the
groups whose packets it stored, meets no other in K and can be true of one source only. In D slot v
no two packets of T go to one group, because T_v is injective on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.model.network import F64, Network
from popsnet.model.slot import Exchange, Inbox, Ints, Slot, Slots
from popsnet.programs.facts import phases_of
from popsnet.programs.routers.relay.state import RelayStage, RelayState, numbered, split
from popsnet.theory.stages import after_grid


def superclasses(d: int, g: int) -> int:
    """Return G = ⌈g/d⌉."""
    return -(-g // d)


@dataclass(frozen=True)
class Grid(RelayStage):
    """XY(x,y): a stage with conflicts only in the first x slots."""

    letters = "XY"
    phases = phases_of("grid")
    instead = "P, S, F, R, T, Q and X"
    x: int
    y: int

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        grid = GridSlots(state, self.x, self.y)
        maps, stored = yield from grid.attempt("grid")
        for v, held in enumerate(stored):
            phase = numbered("grid: delivery", v, self.y)
            listening = grid.listening(state.waiting, state.waiting, v)
            yield from state.deliver(held, listening, phase)
        speakers = state.network.processors[maps.any(axis=1)]
        groups = np.stack([grid.listened(turn)[speakers] for turn in range(self.x)], axis=1)
        maps, options = maps[speakers], state.without_conflict("grid: acks")
        options["fanout"] = maps.sum(axis=1, dtype=np.int32)
        confirmed = yield from state.send_maps(
            speakers, groups[maps == 1], grid.asking, maps, grid.turns, **options
        )
        state.acknowledge(confirmed)

    def slots(self, network: Network) -> int:
        """Return x + y + 1."""
        return self.x + self.y + 1

    def after(self, network: Network, rho: F64) -> F64:
        """Return the fraction of packets that the stage leaves, in the fluid limit."""
        return after_grid(network, rho, self.x)

    def buffers(self, network: Network) -> int:
        """Return 2 + y, as a relay stores a packet for each delivery slot."""
        return 2 + self.y

    def working(self, network: Network) -> int:
        """Return the bytes of stored packets, and of what is taken by v or later of maps by slot.

        About two thirds of all processors have a map to send, to groups that are listed twice.
        """
        return (16 + max(self.y, 8 * self.x)) * network.n

    def obstacle(self, network: Network) -> str | None:
        """Return why the stage cannot be run on a network, or None if it can."""
        if network.d >= network.g:
            return f"stage {self} needs d < g; for d >= g use stages {self.instead}."
        classes = superclasses(network.d, network.g)
        if self.x * self.y < classes:
            return f"stage {self} needs x·y >= ⌈g/d⌉ = {classes}."
        if self.x > classes:
            return f"stage {self} needs x <= ⌈g/d⌉ = {classes}."
        return None


class GridSlots:
    """The slots of one grid stage."""

    def __init__(self, state: RelayState, x: int, y: int) -> None:
        network, g = state.network, state.network.g
        self.state, self.x, self.y = state, x, y
        self._classes = superclasses(network.d, g)
        self._width = self._classes * -(-g // self._classes)  # ĝ
        self._shift = state.public_draw(self._classes)
        self.bijection = state.fresh_bijection(self._width)
        pending = state.pending
        place = state.places(self.bijection, state.destination[pending])
        delta = (network.group(pending) - place - self._shift) % self._classes
        self.turns, self.v = delta % x, delta // x
        """The slot u of each pending source, and its v."""
        self.asking = self.listening(pending, state.destination[pending], self.v)
        """The pending sources that have a relay group, and these groups."""

    def listening(self, listeners: Ints, destinations: Ints, v: Ints | int) -> tuple[Ints, Ints]:
        """Return the listeners for whose destinations there is a group T_v, and these groups."""
        relays = (self.state.places(self.bijection, destinations) + v * self.x) % self._width
        exists = relays < self.state.network.g
        return listeners[exists], relays[exists]

    def attempt(self, name: str) -> Exchange[tuple[Ints, list[Inbox]]]:
        """Send packets; return in which slots relays stored one, and what they stored by v."""
        state, network, (sources, relays) = self.state, self.state.network, self.asking
        turns, parts = self.turns[np.isin(state.pending, sources)], []
        maps = np.zeros((network.n, self.x), dtype=np.uint8)
        taken = np.zeros((self.y, network.n), dtype=np.bool_)  # by v and relay
        for turn in range(self.x):
            trying, listened = turns == turn, self.listened(turn)
            listens = listened < network.g
            listening = network.processors[listens], listened[listens]
            phase = numbered(f"{name}: attempt", turn, self.x)
            heard = yield Slot.send_packets(
                sources[trying], relays[trying], listening, phase=phase, step=state.step
            )
            v = self._stored_under(heard)
            parts.append(heard.at(~taken[v, heard.receivers]))
            state.keep(parts[-1])
            taken[v, heard.receivers] = True
            maps[parts[-1].receivers, turn] = 1
        return maps, split(parts, self._stored_under, self.y)

    def _stored_under(self, held: Inbox) -> Ints:
        """Return v for packets that relays heard."""
        state = self.state
        place = state.places(self.bijection, held.destinations)
        return (state.network.group(held.receivers) - place) % self._width // self.x

    def listened(self, turn: int) -> Ints:
        """Return the group each processor listens to in an attempt slot, g or more for none."""
        network = self.state.network
        group, index = network.group(network.processors), network.index(network.processors)
        return (group + self._shift + turn) % self._classes + index * self._classes
