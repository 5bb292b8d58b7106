"""mei-rizzi: the randomized router of the paper, five slots per step, and a repair for d > g."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import count
from math import ceil

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import Network
from popsnet.model.slot import NO_PACKET, Exchange, Inbox, Ints, Listening, Slot, SlotOptions, Slots
from popsnet.programs.facts import (
    Claims,
    Expectation,
    Explanation,
    by_shape,
    explanation,
    phases_of,
)
from popsnet.programs.router import register, register_variant
from popsnet.programs.routers.to_all import one_per_coupler
from popsnet.theory.bounds import PAPER, Bound
from popsnet.theory.fluid import expected_steps

BUFFERS = 3
"""The processor's own packet, the packet for it, and one copy on its way."""

INTERMEDIATE_GROUP = "mei-rizzi intermediate group"
"""The purpose of the router's coins."""

PHASES = (
    "1 to intermediate group",
    "2 to temporary group",
    "3 ack to intermediate group",
    "4 ack to source",
    "5 to destination",
)


def _expected_slots(network: Network) -> float:
    """Return five slots per step, and for d > g the wait of the last copies for their block."""
    return 5 * expected_steps(network) + (network.blocks - 1) / 2


def _thinned_slots(network: Network) -> float:
    """Return 5⌈4(d/g - 1)⌉, the slots of the steps in which packets take part at random.

    This is with c + ε = 4, in the limit of large g. Afterwards no group has more than g packets.
    The bound of the router is this and O(log log g) more.
    """
    return 5 * ceil(4 * (network.d / network.g - 1))


def _deferred_slots(network: Network) -> float:
    """Return 5⌈4(d/g - 1)⌉ + k - 1 for d = kg, with the wait of the last copies."""
    return _thinned_slots(network) + network.d // network.g - 1


_CLAIMS = Claims(
    Expectation(_expected_slots, exact=False, reason="fluid limit, 5 slots per step"),
    (
        Bound("mei-rizzi, d = g", "upper", "O(log log g)", "with high probability",
              "d = g, asymptotic; its constants: the tail bounds", f"{PAPER}, section 3.1",
              lambda network: network.d == network.g),
        Bound("mei-rizzi, d > g", "upper", "5⌈4(d/g - 1)⌉ + O(log log g)", "with high probability",
              "counts what survives slot 2 as delivered", f"{PAPER}, section 3.2",
              lambda network: network.d > network.g, _thinned_slots, leading=True),
        Bound("mei-rizzi, deferred", "upper", "5⌈4(d/g - 1)⌉ + d/g - 1 + O(log log g)",
              "with high probability", "d > g, g divides d; loses no packet",
              "docs/explanation/mei-rizzi-analysis.md and docs/explanation/exact-chains.md",
              lambda network: network.d > network.g and network.d % network.g == 0,
              _deferred_slots, leading=True),
    ),
)  # fmt: skip

_UP_TO_SLOT_4 = phases_of("mei-rizzi")
_PUBLISHED = Explanation(
    by_shape("mei-rizzi"), {**_UP_TO_SLOT_4, PHASES[4]: by_shape("mei-rizzi slot 5")}, "residue"
)


def _words(variant: str, slots: int) -> Explanation:
    """Return the words of a variant whose first slots are those of the published one."""
    phases = {phase: _UP_TO_SLOT_4[phase] for phase in PHASES[:slots]}
    return Explanation(explanation(variant), {**phases, **phases_of(variant)}, "residue")


def _needs_large_groups(network: Network) -> str | None:
    return None if network.d >= network.g else "it needs d >= g."


def participation(network: Network, step: int) -> int:
    """Return the probability that a packet takes part in step 0, 1, …, in units of 2^-32.

    With c + ε = 4 in the paper's rule, step s = 1, 2, … has g / (d - g(s - 1)/4) while
    s ≤ ⌈4(d/g - 1)⌉. Afterwards every packet takes part. For d = g that is from the start.
    """
    d, g = network.d, network.g
    return (4 * g << 32) // (4 * d - g * step) if g * step < 4 * (d - g) else 2**32


def _working(network: Network) -> int:
    """Return the bytes of what the processors with index less than g hear, and of all sources."""
    return 40 * network.n + 16 * network.couplers


@register(
    "mei-rizzi",
    variant="published",
    default=lambda network: "published" if network.d == network.g else "deferred",
    summary="each packet by a random and a temporary group, with acks, until all are delivered",
    slots="O(d/g + log log g) with high probability, 5 per step",
    buffers=BUFFERS,
    messages="acks of 1 bit",
    applies="d >= g; published loses packets for d > g",
    obstacle=_needs_large_groups,
    randomness="private coins",
    faults="survives none: a packet that is not heard in its last hop is lost, and one whose ack "
    "is not heard is delivered again",
    reference="Mei and Rizzi, On-Line Permutation Routing in Partitioned Optical Passive Star "
    "Networks, sections 3.1 and 3.2",
    online=True,
    claims=_CLAIMS,
    words=_PUBLISHED,
    working=_working,
)
def mei_rizzi(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route any permutation on POPS(g, g) in O(log log g) slots with high probability.

    A step has five slots. A source sends a copy of its packet to a random intermediate group
    (1), which passes it on to the temporary group, the destination's number mod g (2). Acks
    go back the same way (3, 4), and the source that hears one drops its original. The
    temporary group sends the copy to its destination (5). In slots 1 and 2 the processor with
    index a < g listens to group a. An ack is heard by the processor that sent the copy. In slot 5
    processor j listens to group j mod g.

    For d > g a packet takes part in a step with the probability of section 3.2 of the paper, and
    the bound is O(d/g + log log g).

    Copies may meet in slots 1 and 2. In slots 3 and 4 two messages never meet, and for d = g not
    in slot 5 either (Proposition 3.1 of the paper). The machine checks this on every run. For d > g
    destinations in one group that are equal mod g share a coupler in slot 5. Copies for them meet
    there, after their sources have heard the ack and dropped them: **these packets are lost**.

    The router stops when every source has its ack. No processor can know that: only the
    simulation looks, to end the run, and nothing that a processor does depends on it.
    """
    steps, listening = _Steps(network, coins, memory), one_per_coupler(network)
    own_residue = network.processors % network.g
    while steps.pending.size:
        arrived = yield from steps.until_acks(listening)
        groups = network.group(arrived.destinations)
        options = SlotOptions(
            phase=PHASES[4], step=steps.step, conflict_free=network.d == network.g
        )
        heard = yield Slot.forward(arrived, groups, own_residue, **options)
        memory.drop(arrived.receivers, arrived.packets)
        mine = heard.destinations == heard.receivers
        memory.deliver(heard.receivers[mine], heard.packets[mine])
        steps.step += 1


@dataclass
class _Steps:
    """The steps of a run, and the sources that still wait."""

    network: Network
    coins: Coins
    memory: Memory
    step: int = 0

    def __post_init__(self) -> None:
        self.pending: Ints = self.network.processors
        self._waits = np.ones(self.network.n, dtype=np.bool_)

    def two_hops(self, listening: Listening) -> Exchange[tuple[Ints, Ints, Inbox, Inbox]]:
        """Execute slots 1 and 2, in which each pending source takes part by its own coin.

        Returns the sources that take part, their intermediate groups, and what these groups and the
        temporary groups heard.
        """
        g, memory, step, taking = self.network.g, self.memory, self.step, self.pending
        threshold = participation(self.network, step)
        if threshold < 2**32:
            taking = taking[self.coins.chances(threshold, INTERMEDIATE_GROUP, step, taking)]
        intermediate = self.coins.draws(g, INTERMEDIATE_GROUP, step, taking)
        copies = yield Slot.send_packets(
            taking, intermediate, listening, phase=PHASES[0], step=step
        )
        memory.store(copies.receivers, copies.packets)
        temporary = copies.destinations % g
        arrived = yield Slot.forward(copies, temporary, listening, phase=PHASES[1], step=step)
        memory.drop(copies.receivers, copies.packets)
        return taking, intermediate, copies, arrived

    def until_acks(self, listening: Listening) -> Exchange[Inbox]:
        """Execute slots 1 to 4, and return what the temporary groups stored.

        Acks for copies that arrived go back the way the copies came, never two on a coupler.
        """
        memory, network = self.memory, self.network
        taking, intermediate, copies, arrived = yield from self.two_hops(listening)
        memory.store(arrived.receivers, arrived.packets)
        options = SlotOptions(step=self.step, conflict_free=True, phase=PHASES[2])
        await_acks = copies.receivers, copies.destinations % network.g
        acks = yield Slot.acknowledge(arrived, arrived.groups, await_acks, **options)
        came_from = np.zeros(network.n, dtype=np.int32)
        came_from[copies.receivers] = copies.groups
        back, options["phase"] = came_from[acks.receivers], PHASES[3]
        confirmed = yield Slot.acknowledge(acks, back, (taking, intermediate), **options)
        memory.drop(confirmed.receivers, confirmed.receivers)
        self.done(confirmed.receivers)
        return arrived

    def done(self, sources: Ints) -> None:
        """Let sources wait no more."""
        self._waits[sources] = False
        self.pending = self.pending[self._waits[self.pending]]


def deferred(
    network: Network, destination: Ints, coins: Coins, memory: Memory, *, unabridged: bool = False
) -> Slots:
    """Route for d > g without losses: a copy waits in its temporary group until slot 5 is safe.

    A group has k = ⌈d/g⌉ blocks of g processors, the last one perhaps smaller. In slot 5 of step
    s only copies for block s mod k are sent: destinations of one group and block differ mod g,
    so that two of them never share a coupler. The others wait. In slots 1 and 2 the processor
    with index g(s mod k) + a listens to group a (index a, if there is no such processor), if
    it has no copy that waits: so k times as many buffers take turns, one per processor as before.
    A copy that is stored cannot be lost, so the ack that its source hears is true.

    After the last ack at most k - 1 more slots of kind 5 deliver the waiting copies. Only the
    simulation sees that the run is over, as in :func:`mei_rizzi`. If ``unabridged``, every step has
    all its slots, because no processor knows which step is the last.
    """
    steps, blocks, processors = _Steps(network, coins, memory), network.blocks, network.processors
    d, g, index = network.d, network.g, network.index(processors)
    # waiting copies, and where to
    stored, target = np.full((2, network.n), NO_PACKET, dtype=np.int32)
    while steps.pending.size or (unabridged and (stored != NO_PACKET).any()):
        block = steps.step % blocks
        stands_in = (index < g) & (index + block * g >= d)  # for one that the last block lacks
        listens = (index // g == block) | stands_in
        listeners = processors[listens & (stored == NO_PACKET)]
        arrived = yield from steps.until_acks((listeners, network.index(listeners) % g))
        stored[arrived.receivers] = arrived.packets
        target[arrived.receivers] = arrived.destinations
        yield from _deliver_block(network, memory, stored, target, steps.step, block)
        steps.step += 1
    for block in count(steps.step):
        if (stored == NO_PACKET).all():
            return
        yield from _deliver_block(network, memory, stored, target, steps.step - 1, block % blocks)


register_variant(
    "mei-rizzi",
    "deferred",
    obstacle=_needs_large_groups,
    unabridged=partial(deferred, unabridged=True),
    words=_words("mei-rizzi deferred", 4),
)(deferred)


def _deliver_block(
    network: Network, memory: Memory, stored: Ints, target: Ints, step: int, block: int
) -> Slots:
    """Execute slot 5: send the copies for one block of every group to their destinations."""
    g, processors = network.g, network.processors
    senders = processors[(stored != NO_PACKET) & (network.index(target) // g == block)]
    listeners = processors[network.index(processors) // g == block]
    options = SlotOptions(phase=PHASES[4], step=step, conflict_free=True)
    groups, packets, listening = network.group(target[senders]), stored[senders], listeners % g
    heard = yield Slot.send_packets(
        senders, groups, (listeners, listening), packets=packets, **options
    )
    memory.drop(senders, packets)
    stored[senders] = NO_PACKET
    memory.deliver(heard.receivers, heard.packets)


@register_variant(
    "mei-rizzi",
    "idealized",
    obstacle=_needs_large_groups,
    idealized=True,
    words=_words("mei-rizzi idealized", 2),
)
def idealized(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Count a packet as delivered once it survives slots 1 and 2, whatever slots 3 to 5 would do.

    For d = g that is what happens. For d > g it is what the paper's tables report, and not what
    happens: several destinations share a coupler in slot 5. Packets take part with the paper's
    probability (section 3.2). In group x the processor with index a < g listens to group a, so
    every coupler has one listener. Slots 3 to 5 are empty here: they are assumed, not executed.
    """
    steps, listening = _Steps(network, coins, memory), one_per_coupler(network)
    while steps.pending.size:
        *_, arrived = yield from steps.two_hops(listening)
        memory.assume_delivered(arrived.packets)
        steps.done(arrived.packets)
        for phase in PHASES[2:]:
            yield Slot(phase=f"{phase} (assumed)", step=steps.step)
        steps.step += 1
