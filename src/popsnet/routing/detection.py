"""Termination detection: after every step a global OR tells every processor whether to go on."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

from popsnet.coins import Coins
from popsnet.memory import Memory
from popsnet.network import Network
from popsnet.routing.facts import Words, told
from popsnet.routing.to_all import OR_PHASES, global_or, global_or_bytes
from popsnet.slot import Inbox, Ints, Slot, Slots

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
        running = route(network, destination, coins, memory)
        step: int = 0
        inbox: Inbox | None = None
        while True:
            try:
                slot = next(running) if inbox is None else running.send(inbox)
            except StopIteration:
                break
            if isinstance(slot, Slot) and slot.step > step:  # the engine refuses what is not a slot
                if not (yield from _ask(network, memory, step)):
                    memory.drop_copies()
                    return
                step = slot.step
            inbox = yield slot
        yield from _ask(network, memory, step)

    return route_and_ask


def detected_bytes(network: Network) -> int:
    """Return the bytes of a global OR after the first step of a randomized router.

    Most packets are still on their way then: 0.5 to 1 of all, by router and shape.
    """
    return global_or_bytes(network, 0.74 * network.n)


def detected_words(words: Words) -> Words:
    """Return the words of a variant, with those of the question after every step."""

    def explain(network: Network) -> str:
        asked = "After every step all processors are asked whether they have their packets."
        return f"{told(words.explanation, network)} {asked}".lstrip()

    return replace(words, explanation=explain, phases={**OR_PHASES, **words.phases})


def _ask(network: Network, memory: Memory, step: int) -> Generator[Slot, Inbox, bool]:
    """Ask whether a processor waits for its packet, which each knows of itself."""
    return (yield from global_or(network, memory.awaiting(), phase="all delivered?", step=step))
