"""offline: the optimum that on-line routers are measured against."""

from __future__ import annotations

from popsnet.coins import Coins
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.router import register
from popsnet.schedules.cache import schedule_permutation
from popsnet.slot import Ints, Slots

__all__ = ["offline"]


@register(
    "offline",
    summary="knows the whole permutation beforehand: two hops by an edge colouring",
    slots="1 for d = 1, else 2⌈d/g⌉, always",
    buffers=lambda network: 1 if network.d <= network.g else 2,
    memory="1 packet a processor for d ≤ g, 2 for d > g",
    reference="Mei and Rizzi, Routing permutations in POPS networks (2003)",
    online=False,
)
def offline(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Route any permutation in one slot for d = 1, and in 2⌈d/g⌉ for d > 1.

    The packets are the edges of a bipartite multigraph of degree d between source groups and
    destination groups. It has a proper colouring, and the colour says in which round of two
    slots, and by which group, the packet goes: nothing ever collides. O(n log d) time.
    See :func:`popsnet.routing.offline.make_schedule`.
    """
    return schedule_permutation(network, destination).follow(memory)
