"""direct: one hop by time division."""

from __future__ import annotations

from popsnet.hardware.propagation import ONE_HOP
from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import Network
from popsnet.model.slot import Ints, Slot, Slots
from popsnet.programs.facts import Claims, Expectation, explained
from popsnet.programs.router import register
from popsnet.theory.bounds import Bound

_PHASE = "to destination"
WORDS = explained("direct", "direct")


def direct_slots(network: Network) -> int:
    """Return max(d, g), the slots for every permutation."""
    return max(network.d, network.g)


def listening_in(network: Network, processors: Ints, slot: int) -> tuple[Ints, Ints]:
    """Return the processors that listen in a slot, and the group that has its turn with each."""
    awaited = (slot - network.index(processors)) % direct_slots(network)
    listens = awaited < network.g
    return processors[listens], awaited[listens]


_CLAIMS = Claims(
    Expectation(direct_slots, exact=True, reason="formula: max(d, g)"),
    (Bound("direct", "upper", "max(d, g)", "always", "any d, g", "time division",
           slots=direct_slots),),
)  # fmt: skip


def direct_working(network: Network) -> int:
    """Return the bytes of turns, groups and listeners. Few processors send in a slot."""
    return 24 * network.n


@register(
    "direct",
    summary="one hop by time division: no coins, no acks, no collisions",
    slots="max(d, g), always",
    buffers=2,
    messages="none",
    randomness="none",
    faults="survives none: a packet whose message is not heard is lost",
    online=True,
    claims=_CLAIMS,
    propagation=ONE_HOP,  # the slot of a packet is a formula, and nothing that is heard matters
    words=WORDS,
    working=direct_working,
)
def direct(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Send every packet straight to its destination in max(d, g) slots.

    A packet from group a to the processor with index m in group b is sent in slot
    (a + m) mod max(d, g). Two packets of group a for group b have different m, so they never
    meet on c(b, a). The destination need not know where its packet comes from: in slot t it
    listens to the one group a with (a + m) ≡ t, if there is one, and has heard every group by
    the end. No one-hop router can do better in the worst case: a group may send all its d
    packets over one coupler, and a destination has g couplers to listen to.
    """
    period, processors = direct_slots(network), network.processors
    turn = (network.group(processors) + network.index(destination)) % period
    for t in range(period):
        senders = processors[turn == t]
        to, listening = network.group(destination[senders]), listening_in(network, processors, t)
        inbox = yield Slot.send_packets(senders, to, listening, phase=_PHASE, conflict_free=True)
        memory.drop(senders, senders)
        mine = inbox.destinations == inbox.receivers
        memory.deliver(inbox.receivers[mine], inbox.packets[mine])
