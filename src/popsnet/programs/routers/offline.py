"""offline: the router that knows the permutation, with which on-line routers are compared."""

from __future__ import annotations

from popsnet.hardware.propagation import Propagation
from popsnet.model.coins import Coins
from popsnet.model.medium import hashed_bytes
from popsnet.model.memory import Memory
from popsnet.model.network import Network
from popsnet.model.slot import Ints, Slots
from popsnet.programs.facts import Claims, Expectation, explained
from popsnet.programs.router import register, register_relation
from popsnet.programs.schedules import cache
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.schedule import pipelined_rounds
from popsnet.programs.schedules.slots_needed import permutation_slots
from popsnet.theory.bounds import Bound

_CLAIMS = Claims(
    Expectation(
        permutation_slots,
        exact=lambda network: not 1 < network.d <= network.channels,
        reason="formula: 2⌈d/g⌉, 1 if no coupler is shared",
    ),
    (Bound("off-line", "upper", "2⌈d/g⌉, 1 if d = 1", "always", "the permutation is known to all",
           "Mei and Rizzi, J. Parallel Distrib. Comput. 2003", slots=permutation_slots),),
)  # fmt: skip


def _working(network: Network) -> int:
    """Return the bytes of the schedule, and of a slot in which up to all processors send."""
    tuned = 40 * network.n if network.wavelengths > 1 else 0
    return cache.kept_bytes(network.n) + 40 * network.n + hashed_bytes(network, network.n) + tuned


def _lengthen(network: Network, slots: float, hops: float, tau: int) -> float:
    """Return one hop in one slot, or rounds of two slots, of which the first halves come first."""
    return slots + tau if slots <= 1 else pipelined_rounds(slots / 2, tau)


@register(
    "offline",
    summary="knows the whole permutation beforehand: one hop, or two by an edge colouring",
    slots="1 if no two packets share a coupler, as for d = 1; else 2⌈d/g⌉",
    version="2",
    buffers=lambda network: 1 if network.d <= network.channels else 2,
    memory="1 packet per processor for d ≤ g, 2 for d > g",
    randomness="none",
    faults="survives none: a packet that is not heard is lost",
    reference="Mei and Rizzi, Routing permutations in POPS networks (2003)",
    online=False,
    claims=_CLAIMS,
    propagation=Propagation(
        "first hops, then second hops: max(S + τ, S/2 + 1 + 2τ) of S slots", _lengthen, hops=2
    ),
    working=_working,
    wavelengths=True,
    words=explained("offline", "offline"),
)
def offline(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route a permutation in one slot if no two packets share a coupler, else in 2⌈d/g⌉.

    If every packet has a coupler of its own, one slot is enough: for d = 1, for a transpose, and
    for other permutations with at most one packet from each group to each group. Otherwise the
    packets are the edges of a bipartite multigraph of degree d between source groups and
    destination groups. It has a proper edge colouring with d colours, and the colour of a packet
    says in which round of two slots, and through which group, it is sent: nothing ever collides.
    Takes O(n log d) time. With W wavelengths up to W packets share a coupler in a slot, and the
    number of slots is 1 or 2⌈d/gW⌉. See :func:`popsnet.programs.schedules.make_schedule`.
    """
    return cache.schedule_permutation(network, destination).follow(memory)


@register_relation("offline", "standard", buffers=cache.schedule_buffers, wavelengths=True)
def offline_demand(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Follow the schedule of a demand: see :func:`popsnet.programs.schedules.make_schedule`."""
    return cache.schedule_demand(Demand(network, memory.start, destination)).follow(memory)
