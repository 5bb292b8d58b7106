"""A conflict-free router that asks for packets by their destinations, and relays them.

    popsnet adversary conflict-free 2 3 --router docs/examples/queries.py

In a slot of the kind "tell", coupler c(b, a) is reserved for a source, and the processor of group b
that listens becomes a relay of its packet. In a slot of the kind "ask", c(b, a) is reserved for a
destination x in group b, which listens, and the processor of group a that has the packet for x
sends it: its source, or a relay. So who sends depends on what was heard. On POPS(g, g) each slot
"tell" gives every group up to g more packets to answer with, so that k pairs of slots deliver up to
about k(k + 1)·g packets, where sources alone would deliver 2k·g in these slots.

No two messages meet: a packet is told to each group at most once, and its own group does not relay
it, so at most one processor of a group has the packet for x. Every x asks the group of its source
once, and sources answer before they relay, so every packet is delivered.
"""

from __future__ import annotations

import numpy as np

from popsnet import Coins, Memory, Network, Slot, register
from popsnet.model.slot import Ints, Slots


@register(
    "queries",
    summary="asks for packets by their destinations, and relays",
    slots="d + max(d, g)",
    buffers=lambda network: network.d + 2,
    randomness="none",
    online=True,
)
def queries(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
    """Tell packets to other groups in d slots, and ask for packets in max(d, g) slots, in turn."""
    d, g, everyone = network.d, network.g, network.processors
    group, index, period = network.group(everyone), network.index(everyone), max(d, g)
    holders, packets, to = everyone, everyone, np.array(destination)
    done = np.zeros(network.n, dtype=bool)  # whether a processor has its packet
    step = 0

    for t in range(period):
        asked = (index - t) % period  # index m tells and asks group m - t, if there is one
        listening = everyone[asked < g], asked[asked < g]
        if t < d:
            source, groups = np.divmod(np.arange(g * g), g)
            source = source * d + (groups + t) % d  # tells group b: index b + t
            order = np.argsort(source, kind="stable")
            senders, fanout = np.unique(source, return_counts=True)
            inbox = yield Slot.send_packets(
                senders, groups[order], listening, fanout=fanout, phase="tell", step=step,
                conflict_free=True,
            )  # fmt: skip
            heard = inbox.at(group[inbox.packets] != group[inbox.receivers])
            memory.store(heard.receivers, heard.packets)
            holders = np.concatenate([holders, heard.receivers])
            packets = np.concatenate([packets, heard.packets])
            to = np.concatenate([to, heard.destinations])
            step += 1

        answers = np.flatnonzero(asked[to] == group[holders])
        senders, first = np.unique(holders[answers], return_index=True)  # one message each
        chosen = answers[first]
        inbox = yield Slot.send_packets(
            senders, group[to[chosen]], listening, packets=packets[chosen], phase="ask", step=step,
            conflict_free=True,
        )  # fmt: skip
        mine = inbox.at((inbox.destinations == inbox.receivers) & ~done[inbox.receivers])
        done[mine.receivers] = True
        memory.deliver(mine.receivers, mine.packets)
        step += 1
