"""Messages to every processor: a broadcast of one word, and a global OR of objections."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np
import numpy.typing as npt

from popsnet.network import Network
from popsnet.routing.facts import Phases
from popsnet.slot import Inbox, Ints, Slot, SlotOptions, Slots

Bools = npt.NDArray[np.bool_]

OR_PHASES: Phases = {
    "*: groups object*": "One processor of each group sends that its group is done, and every "
    "processor that still waits destroys that message on purpose: here a collision is the message.",
    "*: within groups": "Within each group one processor passes the message on, and every "
    "processor that missed it destroys it, so that all processors know whether the run is over.",
}


def broadcast(
    network: Network, word: int, *, phase: str, step: int = 0
) -> Generator[Slot, Inbox, Bools]:
    """Let processor 0 send a word of 64 bits to every processor, and return which have it.

    Without faults every processor has.
    """
    zero, everyone = np.zeros(1, dtype=np.int32), np.zeros(network.n, dtype=np.int32)
    said = np.array([word], dtype=np.uint64)
    options = SlotOptions(phase=phase, step=step, conflict_free=True)
    inbox = yield Slot.broadcast(zero, network.g, everyone, contents=said, bits=64, **options)
    knows = np.zeros(network.n, dtype=np.bool_)
    knows[0] = True
    knows[inbox.receivers] = True
    return knows


def among(processors: Bools, running: Slots) -> Slots:
    """Execute slots in which only some processors send and listen.

    The others take no part: they lack a word that they need to know what to do. ``processors`` may
    change between slots.
    """
    inbox: Inbox | None = None
    while True:
        try:
            slot = next(running) if inbox is None else running.send(inbox)
        except StopIteration:
            return
        if not processors.all():
            slot = slot.only(processors[slot.senders], processors[slot.listeners])
        inbox = yield slot


def global_or_bytes(network: Network, objectors: float) -> int:
    """Return the bytes that a global OR takes in a simulation: each objector sends to g groups."""
    return int(29 * objectors * network.g)  # groups, owners, couplers and what is heard, measured


def global_or_slots(network: Network) -> int:
    """Return the slots of a global OR, ⌈g/d⌉ + 1: two for d ≥ g."""
    return -(-network.g // network.d) + 1


def global_or(
    network: Network, objectors: Ints, *, phase: str, step: int
) -> Generator[Slot, Inbox, bool]:
    """Tell every processor whether any objects, in ⌈g/d⌉ + 1 slots with messages of one bit.

    Processor (a, 0) sends to all groups that group a does not object, and every objector of the
    group sends to them that it does. So group a does not object if and only if its message arrives
    and says so: two messages destroy each other, and one from an objector alone says the opposite.
    The d processors of a group listen to d groups at a time, so this takes ⌈g/d⌉ slots. Then within
    each group x, on coupler c(x, x), processor (x, 0) sends that no group objects, and every
    processor that has missed such a message, (x, 0) itself included, destroys it by sending, too.
    (Section 3.3 of the paper needs such a test.)
    """
    d, g, n, processors = network.d, network.g, network.n, network.processors
    group, index = network.group(processors), network.index(processors)
    objects = np.zeros(n, dtype=np.bool_)
    objects[objectors] = True
    speakers = processors[objects | (index == 0)]
    said, misses = objects[speakers].astype(np.uint8), np.zeros(n, dtype=np.bool_)
    for turn in range(-(-g // d)):
        listened = index + turn * d
        listens = listened < g
        listening = processors[listens], listened[listens]
        part = f"{phase}: groups object" + (f", part {turn + 1}" if turn else "")
        inbox = yield Slot.broadcast(
            speakers, g, listening, contents=said, bits=1, phase=part, step=step
        )
        assert inbox.contents is not None
        content = np.zeros(n, dtype=np.bool_)
        content[inbox.receivers] = inbox.contents == 0
        misses |= listens & ~content
    repeaters = processors[misses | (index == 0)]
    said, phase = misses[repeaters].astype(np.uint8), f"{phase}: within groups"
    inbox = yield Slot.send_control(
        repeaters, group[repeaters], group, contents=said, bits=1, phase=phase, step=step
    )
    assert inbox.contents is not None
    return len(inbox.receivers) < n or bool(inbox.contents.any())
