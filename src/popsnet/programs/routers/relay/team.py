"""Team, Tr: r public candidates per packet, of which one that is free on both sides delivers it.

A public draw gives every destination j = (b, l) a set C(j) of at most r groups. A source (a, i)
sends its packet for j to all of them at once, and then j sends a mark to all of them. The processor
(y, a) listens to group a and, if it heard a packet for b, to group b. Let W(j) be the groups y of
C(j) whose processor (y, a) heard the packet j and the mark of j: no other packet of a and no other
waiting destination of b has y in its set.

**A coupler on which a packet was heard alone belongs to it**: for y in W(j) no other packet of a
has y in its set, so nothing but messages about j is ever sent on c(y, a), and by the same argument
on c(y, b). So the members of W(j) can elect the least of them, which delivers. In the slots below,
only the first two and the election have conflicts.

    attempt       (a, i) pending: its packet to C(j); (y, a) listens to a
    marks         (b, l) waiting: its name to C(b, l); (y, a) with a packet for b listens to b
    fronts        (y, a), y in W(j): the packet to a; (a, y) listens to y and is a front of j
    election      front (a, y): a beep to all y' ≥ y in C(j); (y, a), y in W(j), listens to a and is
                  chosen if it hears one: then y is the least of W(j)
    departure     (y, a) chosen: the packet to b; (b, y) listens to y
    fronts tell   fronts of the packet of (a, i), and (a, i) if it is pending, their own name to
                  group i mod g; (i mod g, a) listens to a, and hears i alone only if W(j) is empty
    approach      (b, y): the packet to group l mod g; (l mod g, b) listens to b
    arrival       (l mod g, b) to b: the packet, and whether the packet that (b, l) sends out is
                  still pending; (b, l) listens to l mod g

The last three slots are repeated for each class of indices i and l, those from τg to τg + g - 1: a
stage takes 5 + 3k slots, k = ⌈d/g⌉, which is 8 for d = g.

Nothing is lost: a source is done if it does not hear that its packet is still pending, and nothing
collides in the arrival. If W(j) is not empty, j has its packet then, because one relay is chosen;
if it is empty, only (a, i) sends to (i mod g, a). A source that is the front of its own packet
knows that it is delivered, and tells nothing.

All this needs that the pending sources are exactly those of the waiting destinations: a source that
waits for an ack alone would wait for ever. So no stage may come before it that delivers without
telling the source: Q, X and R.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.model.network import F64, Network
from popsnet.model.slot import NO_PACKET, Exchange, Inbox, Ints, Kind, Slot, SlotOptions, Slots
from popsnet.programs.facts import phases_of
from popsnet.programs.routers.relay.state import RelayStage, RelayState, distinct, numbered
from popsnet.programs.routers.to_all import one_per_coupler
from popsnet.theory.stages import after_team


@dataclass(frozen=True)
class TeamStage(RelayStage):
    """Tr: r candidates per packet, 5 + 3⌈d/g⌉ slots."""

    letters = "T"
    phases = phases_of("team")
    largest = 1024
    candidates: int

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        return _TeamSlots(state, self.candidates).run()

    def slots(self, network: Network) -> int:
        """Return 5 + 3k."""
        return 5 + 3 * network.blocks

    def after(self, network: Network, rho: F64) -> F64:
        """Return the fraction of packets that the stage leaves, in the fluid limit."""
        return after_team(network, rho, self.candidates)

    def buffers(self, network: Network) -> int:
        """Return the packets that a processor may hold: its own, the one for it, and copies.

        For d > g a copy may wait for its class while another one passes.
        """
        return 3 if network.d == network.g else 4

    @property
    def bytes_per_packet(self) -> int:
        """The bytes of the sets, sorted, and of the messages to them."""
        return 28 * self.candidates


class _TeamSlots:
    def __init__(self, state: RelayState, candidates: int) -> None:
        network = state.network
        self._state, self._network, self._g = state, network, network.g
        self._draw = state.public_draws(network.g, candidates)
        self._duals = one_per_coupler(network)
        """Processor (y, a) listens to group a."""
        self._name_bits = max((network.d - 1).bit_length(), 1)

    def run(self) -> Slots:
        relays = yield from self._find_free()
        fronts = yield from self._forward(relays, self._network.index(relays.receivers), "fronts")
        chosen = yield from self._elect(relays, fronts)
        passing = yield from self._forward(
            chosen, self._network.group(chosen.destinations), "departure"
        )
        self._state.release(chosen)
        self._state.keep(passing)
        pending = yield from self._tell(fronts)
        yield from self._arrive(passing, pending)

    def _find_free(self) -> Exchange[Inbox]:
        """Return what the relays in the sets W heard."""
        state, network = self._state, self._network
        groups, fanout = distinct(self._draw(state.destination[state.pending]))
        options = SlotOptions(phase="team: attempt", step=state.step, fanout=fanout)
        heard = yield Slot.send_packets(state.pending, groups, self._duals, **options)
        state.keep(heard)
        waiting = state.waiting
        groups, fanout = distinct(self._draw(waiting))
        marks = yield Slot.send_control(
            waiting, groups, (heard.receivers, network.group(heard.destinations)), fanout=fanout,
            contents=network.index(waiting), bits=self._name_bits,
            phase="team: marks", step=state.step,
        )  # fmt: skip
        at = np.searchsorted(heard.receivers, marks.receivers)
        free = np.zeros(len(heard.receivers), dtype=np.bool_)
        free[at] = network.index(heard.destinations[at]) == marks.contents
        return self._choose(heard, free)

    def _choose(self, held: Inbox, rows: np.ndarray) -> Inbox:
        """Let the other relays drop their copies."""
        self._state.release(held.at(~rows))
        return held.at(rows)

    def _forward(self, held: Inbox, groups: Ints, name: str) -> Exchange[Inbox]:
        """Send packets where nothing can collide."""
        options = self._state.without_conflict(f"team: {name}")
        return (yield Slot.forward(held, groups, self._duals, **options))

    def _elect(self, relays: Inbox, fronts: Inbox) -> Exchange[Inbox]:
        own = self._network.index(fronts.receivers)
        groups, fanout = distinct(np.maximum(self._draw(fronts.destinations), own[:, None]))
        heard = yield Slot.send_control(
            fronts.receivers, groups, (relays.receivers, self._network.index(relays.receivers)),
            fanout=fanout, phase="team: election", step=self._state.step,
        )  # fmt: skip
        return self._choose(relays, np.isin(relays.receivers, heard.receivers))

    def _tell(self, fronts: Inbox) -> Exchange[list[Ints]]:
        """Return, for each class, the processors that know of a source that is still pending."""
        state, network, g = self._state, self._network, self._g
        own_front = np.isin(state.pending, fronts.receivers[fronts.receivers == fronts.packets])
        theirs = fronts.at(fronts.receivers != fronts.packets)
        sources = state.pending[~own_front]
        senders = np.concatenate([theirs.receivers, sources])
        about = network.index(np.concatenate([theirs.packets, sources]))
        known = []
        for turn in range(network.blocks):
            now = about // g == turn
            order = np.argsort(senders[now], kind="stable")
            speakers, fanout = np.unique(senders[now], return_counts=True)
            heard = yield Slot.send_control(
                speakers, (about[now] % g)[order], self._duals, fanout=fanout,
                contents=network.index(speakers), bits=self._name_bits,
                phase=numbered("team: fronts tell", turn, network.blocks, "class"), step=state.step,
            )  # fmt: skip
            expected = turn * g + network.group(heard.receivers)
            known.append(heard.receivers[heard.contents == expected])
        return known

    def _arrive(self, passing: Inbox, known: list[Ints]) -> Slots:
        state, network, g = self._state, self._network, self._g
        classes = network.index(passing.destinations) // g
        done = []
        for turn in range(network.blocks):
            now = passing.at(classes == turn)
            name = numbered("approach", turn, network.blocks, "class")
            near = yield from self._forward(now, network.index(now.destinations) % g, name)
            state.release(now)
            state.keep(near)
            waiting, pending = (
                some[network.index(some) // g == turn] for some in (state.waiting, state.pending)
            )
            senders = np.union1d(near.receivers, known[turn]).astype(np.int32)
            packets = np.full(len(senders), NO_PACKET, dtype=np.int32)
            packets[np.searchsorted(senders, near.receivers)] = near.packets
            flags = np.isin(senders, known[turn]).astype(np.uint8)
            listeners = np.union1d(waiting, pending).astype(np.int32)
            heard = yield Slot(
                senders=senders, groups=network.index(senders),
                kind=np.where(packets == NO_PACKET, Kind.CONTROL, Kind.PACKET),
                packets=packets, contents=flags, bits=1,
                listeners=listeners, listened=network.index(listeners) % g,
                **state.without_conflict(numbered("team: arrival", turn, network.blocks, "class")),
            )  # fmt: skip
            state.release(near)
            state.take(heard)
            still = heard.receivers[heard.contents == 1]
            done.append(np.setdiff1d(pending, still))
        state.acknowledge(np.concatenate(done).astype(np.int32))
