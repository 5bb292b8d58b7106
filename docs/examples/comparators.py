"""A rigid router: sort packets by destination with a fixed network of comparators.

    popsnet adversary rigid 4 4 --router docs/examples/comparators.py --variant bitonic

A stage of comparators is a fixed set of disjoint pairs. The two of a pair send each other their
packets, in fixed slots; the lower one keeps the packet with the lower destination.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from popsnet import Coins, Memory, Network, Slot, register
from popsnet.model.slot import Ints, Slots
from popsnet.programs.router import Route, register_variant

Pairs = list[tuple[int, int]]


def odd_even(n: int) -> Iterator[Pairs]:
    """Transposition of neighbours: n stages."""
    for stage in range(n):
        yield [(i, i + 1) for i in range(stage % 2, n - 1, 2)]


def merge_exchange(n: int) -> Iterator[Pairs]:
    """Batcher's merge exchange, for any n: t(t + 1)/2 stages, t = ⌈log₂ n⌉ (Knuth 5.2.2 M)."""
    top = 1 << max((n - 1).bit_length() - 1, 0)
    p = top
    while p and n > 1:
        q, r, span = top, 0, p
        while True:
            yield [(i, i + span) for i in range(n - span) if i & p == r]
            if q == p:
                break
            span, q, r = q - p, q // 2, p
        p //= 2


def bitonic(n: int) -> Iterator[Pairs]:
    """Batcher's bitonic sort with all comparators pointing one way; n a power of two."""
    size = 2
    while size <= n:
        yield [(i, i ^ (size - 1)) for i in range(n) if i < i ^ (size - 1)]
        span = size // 4
        while span:
            yield [(i, i ^ span) for i in range(n) if not i & span]
            span //= 2
        size *= 2


def pratt(n: int) -> Iterator[Pairs]:
    """Shell's sort with the increments 2^p 3^q: about (log₂ n)² / log₂ 3 stages (Pratt)."""
    twos = [2**p for p in range(n.bit_length())]
    spans = sorted({t * 3**q for t in twos for q in range(n.bit_length()) if t * 3**q < n})
    for span in reversed(spans):
        for parity in (0, 1):
            yield [(i, i + span) for i in range(n - span) if i // span % 2 == parity]


def slots_of(network: Network, pairs: Pairs) -> list[Pairs]:
    """The messages of a stage, in slots in which nothing meets: the first slot that is free."""
    slots: list[dict[tuple[int, int], tuple[int, int]]] = []
    for source, target in [(a, b) for low, high in pairs for a, b in ((low, high), (high, low))]:
        coupler = target // network.d, source // network.d
        free = next((slot for slot in slots if coupler not in slot), None)
        if free is None:
            free = {}
            slots.append(free)
        free[coupler] = source, target
    return [list(slot.values()) for slot in slots]


def sorting(stages: Callable[[int], Iterator[Pairs]]) -> Route:
    """The router of a network of comparators."""

    def route(network: Network, destination: Ints, coins: Coins, memory: Memory) -> Slots:
        held, to = network.processors, np.array(destination)
        for number, pairs in enumerate(filter(None, stages(network.n))):
            guest, guest_to = held.copy(), to.copy()
            for messages in slots_of(network, pairs):
                senders, targets = np.array(messages, dtype=np.int32).T
                inbox = yield Slot(
                    phase="compare",
                    step=number,
                    senders=senders,
                    groups=targets // network.d,
                    packets=held[senders],
                    listeners=targets,
                    listened=senders // network.d,
                    conflict_free=True,
                )
                memory.store(inbox.receivers, inbox.packets)
                guest[inbox.receivers] = inbox.packets
                guest_to[inbox.receivers] = inbox.destinations
            _keep(memory, np.array(pairs), held, to, guest, guest_to)
        memory.deliver(network.processors, held)

    return route


def _keep(memory: Memory, pairs: Ints, held: Ints, to: Ints, guest: Ints, guest_to: Ints) -> None:
    """The lower of a pair keeps the packet with the lower destination, the other the other."""
    for side in (0, 1):
        here = pairs[:, side]
        takes = (guest_to[here] < to[here]) == (side == 0)
        memory.drop(here, np.where(takes, held[here], guest[here]))
        held[here] = np.where(takes, guest[here], held[here])
        to[here] = np.where(takes, guest_to[here], to[here])


def _power_of_two(network: Network) -> str | None:
    return None if network.n & (network.n - 1) == 0 else "n must be a power of two."


register(
    "comparators",
    summary="sorts by destination with fixed comparators: rigid",
    slots="2 or more per stage; 1 for d = 1",
    buffers=2,
    variant="merge-exchange",
)(sorting(merge_exchange))
register_variant("comparators", "odd-even")(sorting(odd_even))
register_variant("comparators", "pratt")(sorting(pratt))
register_variant("comparators", "bitonic", obstacle=_power_of_two)(sorting(bitonic))
