"""Messages to every processor: a broadcast of one word, and a global OR of objections.

Also termination detection: after every step a global OR tells every processor whether to go on.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.memory import Memory
from popsnet.model.network import Bools, Network
from popsnet.model.slot import Exchange, Ints, Slot, SlotOptions, Slots
from popsnet.programs.facts import Explanation, phases_of, text_on

OR_PHASES = phases_of("global-or")


def broadcast(network: Network, word: int, *, phase: str, step: int = 0) -> Exchange[Bools]:
    """Let processor 0 send a word of 64 bits to every processor, and return which have it.

    Without faults every processor has.
    """
    zero, everyone = np.zeros(1, dtype=np.int32), np.zeros(network.n, dtype=np.int32)
    contents = np.array([word], dtype=np.uint64)
    options = SlotOptions(phase=phase, step=step, conflict_free=True)
    inbox = yield Slot.broadcast(zero, network.g, everyone, contents=contents, bits=64, **options)
    knows = np.isin(network.processors, inbox.receivers)
    knows[0] = True
    return knows


def among(processors: Bools, running: Slots) -> Slots:
    """Execute slots in which only some processors send and listen.

    The others take no part: they lack a word that they need to know what to do. ``processors`` may
    change between slots.
    """
    with suppress(StopIteration):
        slot = next(running)
        while True:
            if not processors.all():
                slot = slot.only(processors[slot.senders], processors[slot.listeners])
            slot = running.send((yield slot))


def one_per_coupler(network: Network, first: int = 0) -> tuple[Ints, Ints]:
    """Let the processor with index i of every group listen to group ``first`` + i, if there is one.

    Returns the processors that listen, and the group of each. For d ≥ g every group hears every
    group.
    """
    listened = network.index(network.processors) + first
    listens = listened < network.g
    return network.processors[listens], listened[listens]


def global_or_bytes(network: Network, objectors: float) -> int:
    """Return the bytes that a global OR takes in a simulation: each objector sends to g groups."""
    return int(29 * objectors * network.g)  # groups, owners, couplers and what is heard, measured


def global_or_slots(network: Network) -> int:
    """Return the slots of a global OR, ⌈g/d⌉ + 1: two for d ≥ g."""
    return -(-network.g // network.d) + 1


def global_or(network: Network, objectors: Ints, *, phase: str, step: int) -> Exchange[bool]:
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
    objects, misses = np.zeros((2, n), dtype=np.bool_)
    objects[objectors] = True
    speakers = processors[objects | (index == 0)]
    contents = objects[speakers].astype(np.uint8)
    for turn in range(-(-g // d)):
        listeners, listened = one_per_coupler(network, turn * d)
        part = f"{phase}: groups object" + (f", part {turn + 1}" if turn else "")
        inbox = yield Slot.broadcast(
            speakers, g, (listeners, listened), contents=contents, bits=1, phase=part, step=step
        )
        content = np.zeros(n, dtype=np.bool_)
        content[inbox.receivers] = inbox.contents == 0
        misses[listeners] |= ~content[listeners]
    repeaters = processors[misses | (index == 0)]
    contents, phase = misses[repeaters].astype(np.uint8), f"{phase}: within groups"
    inbox = yield Slot.send_control(
        repeaters, group[repeaters], group, contents=contents, bits=1, phase=phase, step=step
    )
    return len(inbox.receivers) < n or bool(inbox.contents.any())


Route = Callable[[Network, Ints, Coins, Memory], Slots]

DETECTED = "+or"
"""The ending of the name of a variant with termination detection."""


def detected(route: Route) -> Route:
    """Return the same router with ⌈g/d⌉ + 1 more slots per step, so that every processor knows.

    Without them only the simulation sees that a randomized router is done. After each step every
    processor that still waits for its packet objects. When no processor does, all packets are
    delivered, and every processor has heard so and drops the copies that it holds.
    """

    def route_and_ask(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        running, step = route(network, destination, coins, memory), 0
        with suppress(StopIteration):
            slot = next(running)
            while True:
                # the engine refuses what is not a slot
                if isinstance(slot, Slot) and slot.step > step:
                    if not (yield from _ask(network, memory, step)):
                        memory.drop_copies()
                        return
                    step = slot.step
                slot = running.send((yield slot))
        yield from _ask(network, memory, step)

    return route_and_ask


def detected_bytes(network: Network) -> int:
    """Return the bytes of a global OR after the first step of a randomized router.

    Most packets are still on their way then: 0.5 to 1 of all, by router and shape.
    """
    return global_or_bytes(network, 0.74 * network.n)


def detected_words(words: Explanation) -> Explanation:
    """Return the words of a variant, with those of the question after every step."""

    def explain(network: Network) -> str:
        asked = "After every step all processors are asked whether they have their packets."
        return f"{text_on(words.explanation, network)} {asked}".lstrip()

    return replace(words, explanation=explain, phases={**OR_PHASES, **words.phases})


def _ask(network: Network, memory: Memory, step: int) -> Exchange[bool]:
    """Ask whether a processor waits for its packet, which each knows of itself."""
    return (yield from global_or(network, memory.awaiting(), phase="all delivered?", step=step))
