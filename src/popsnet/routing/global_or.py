"""Global OR: every processor learns whether any objects."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from popsnet.network import Network
from popsnet.routing.facts import Phases
from popsnet.slot import Inbox, Ints, Slot

OR_PHASES: Phases = {
    "*: groups object*": "One processor of each group says that all is well, and every processor "
    "that still waits destroys that message on purpose: here a collision is the message.",
    "*: within groups": "Within each group one processor passes the message on, and every "
    "processor that missed it destroys it, so that all know whether it is over.",
}


def global_or_slots(network: Network) -> int:
    """⌈g/d⌉ + 1 slots: two for d ≥ g."""
    return -(-network.g // network.d) + 1


def global_or(
    network: Network, objectors: Ints, *, phase: str, step: int
) -> Generator[Slot, Inbox, bool]:
    """Whether there are objectors, in ⌈g/d⌉ + 1 slots, known to all; messages of one bit.

    Processor (a, 0) tells all groups that its group is content, and every objector of the group
    tells them that it is not. So group a is content if and only if its message arrives, and says
    so: two messages destroy each other, and one from an objector alone says the opposite. The d
    processors of a group listen to d groups at a time, ⌈g/d⌉ slots for all. Then within each group
    x, on coupler c(x, x), processor (x, 0) says that all is well, and every processor
    that has missed a good word, (x, 0) itself included, spoils it. (Section 3.3 of the paper needs
    such a test.)
    """
    d, g, n, processors = network.d, network.g, network.n, network.processors
    group, index = network.group(processors), network.index(processors)
    objects = np.zeros(n, dtype=np.bool_)
    objects[objectors] = True
    speakers = processors[objects | (index == 0)]
    misses = np.zeros(n, dtype=np.bool_)
    for turn in range(-(-g // d)):
        listened = index + turn * d
        listens = listened < g
        inbox = yield Slot.broadcast(
            speakers,
            g,
            (processors[listens], listened[listens]),
            contents=objects[speakers].astype(np.uint8),
            bits=1,
            phase=f"{phase}: groups {'object' if turn == 0 else f'object, part {turn + 1}'}",
            step=step,
        )
        assert inbox.contents is not None
        content = np.zeros(n, dtype=np.bool_)
        content[inbox.receivers] = inbox.contents == 0
        misses |= listens & ~content
    repeaters = processors[misses | (index == 0)]
    inbox = yield Slot.send_control(
        repeaters,
        group[repeaters],
        group,
        contents=misses[repeaters].astype(np.uint8),
        bits=1,
        phase=f"{phase}: within groups",
        step=step,
    )
    assert inbox.contents is not None
    return len(inbox.receivers) < n or bool(inbox.contents.any())
