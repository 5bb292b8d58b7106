"""Stages of a single attempt, F and R: all pending sources at once, for few packets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from popsnet.model.network import F64, Network
from popsnet.model.slot import Exchange, Inbox, Ints, Slot, Slots
from popsnet.programs.facts import Phases, by_shape, phases_of
from popsnet.programs.routers.relay.channels import Tuning, channels_of, spread
from popsnet.programs.routers.relay.state import RelayStage, RelayState, distinct, numbered
from popsnet.programs.routers.to_all import OR_PHASES, global_or_slots
from popsnet.theory.stages import after_shower


def _attempt(
    state: RelayState,
    stage: str,
    groups: Ints,
    fanout: Ints | None = None,
    places: Ints | None = None,
) -> Exchange[Inbox]:
    """Send to relay groups, in which (T, a) listens to a and stores what it hears.

    With ``places``, those of the destinations, all wavelengths are used.
    """
    network, processors = state.network, state.network.processors
    channels = channels_of(network)
    first = processors[network.index(processors) < channels.number]
    index, phase = network.index(first), f"{stage}: attempt"
    tuned: Tuning = {} if places is None else channels.tuned(places, index)
    heard = yield Slot.send_packets(
        state.pending, groups, (first, index % network.g), fanout=fanout, phase=phase,
        step=state.step, **tuned,
    )  # fmt: skip
    state.keep(heard)
    return heard


@dataclass(frozen=True)
class Fold(RelayStage):
    """F: one attempt and one delivery for all classes at once, with acks from destinations.

    It takes four slots for any k = ⌈d/g⌉, with conflicts in the first two.

    Every pending source sends to its relay group T (A), where (T, a) listens to group a. The relay
    forwards (D), and the up to k destinations of a group that share T share a coupler. The
    destination that received its packet tells T (DA), and the relay tells the source (K).

    Nothing is lost: the source drops its packet only after an ack, and an ack starts at the
    destination. DA has no conflict, because at most one of the destinations of b that listen to T
    received a packet from c(b, T). K has none, because only (T, a) sends to a, and what it sends
    concerns the one source of a that sent to T.
    """

    letters = "F"
    phases: ClassVar[Phases] = {**phases_of("fold"), "fold: delivery": by_shape("relay fold")}

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        network = state.network
        places = state.places(state.fresh_bijection(network.d), network.processors)
        channels = channels_of(network)
        relays, tuned = channels.relays(places), channels.tuned
        due = state.destination[state.pending]
        copies = yield from _attempt(state, "fold", relays[due], places=places[due])
        targets, through = network.group(copies.destinations), places[copies.destinations]
        heard = yield Slot.forward(
            copies, targets, relays, phase="fold: delivery", step=state.step,
            **tuned(through, places),
        )  # fmt: skip
        state.take(heard)
        mine = heard.at(heard.destinations == heard.receivers)
        listening = copies.receivers, targets
        options = state.without_conflict("fold: destinations confirm")
        options = {**options, **tuned(places[mine.receivers], through)}
        confirmed = yield Slot.acknowledge(mine, relays[mine.receivers], listening, **options)
        state.release(copies)
        index = network.index(confirmed.receivers)
        options = {**state.without_conflict("fold: acks"), **tuned(index, places[due])}
        asked = state.pending, relays[due]
        acks = yield Slot.acknowledge(confirmed, index % network.g, asked, **options)
        state.acknowledge(acks.receivers)

    def slots(self, network: Network) -> int:
        """Return 4."""
        return 4

    def after(self, network: Network, rho: F64) -> F64:
        """Return the fraction of packets that the stage leaves, in the fluid limit."""
        return after_shower(spread(network), rho, 1)


@dataclass(frozen=True)
class Shower(RelayStage):
    """Rr: copies by way of r relay groups at once, without acks, and a global OR.

    It takes 1 + r slots for r copies, and the two of the global OR. It is the last stage of a
    schedule.

    Every pending source sends its packet to r relay groups at once: T_1 … T_r, the places of its
    destination under r bijections, mod g. In delivery slot u the relays that are T_u of what they
    heard forward it, and destinations listen to T_u. Then every processor that still waits objects.

    Nothing is lost: sources keep their packets until the OR has no objection, that is, until every
    destination has its packet. For d = g deliveries have no conflict. For d > g destinations that
    share T_u share a coupler.
    """

    letters = "R"
    phases: ClassVar[Phases] = {**phases_of("shower"), **OR_PHASES}
    tells_sources = False
    largest = 16  # with more it would destroy its own copies
    copies: int

    def run(self, state: RelayState) -> Slots:
        """Execute the stage."""
        network = state.network
        relays = state.next_places(self.copies).of(network.processors).groups
        groups, fanout = distinct(relays[state.destination[state.pending]])
        heard = yield from _attempt(state, "shower", groups, fanout)
        for turn in range(self.copies):
            sending = heard.at(relays[heard.destinations, turn] == network.group(heard.receivers))
            groups, listening = network.group(sending.destinations), relays[state.waiting, turn]
            phase = numbered("shower: delivery", turn, self.copies, "copy")
            options = state.without_conflict(phase)
            options["conflict_free"] = network.d == network.g
            state.take((yield Slot.forward(sending, groups, (state.waiting, listening), **options)))
        state.release(heard)
        yield from state.ask("shower")

    def slots(self, network: Network) -> int:
        """Return 1 + r and the slots of the global OR."""
        return 1 + self.copies + global_or_slots(network)

    def working(self, network: Network) -> int:
        """Return the bytes of the places and relays of all destinations, for each copy."""
        return 12 * self.copies * network.n

    def after(self, network: Network, rho: F64) -> F64:
        """Return the fraction of packets that the stage leaves, in the fluid limit."""
        return after_shower(network, rho, self.copies)
