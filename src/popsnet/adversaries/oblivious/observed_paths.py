"""The paths that a router's packets really take, and whether they depend on other packets."""

from __future__ import annotations

from itertools import count

import numpy as np

from popsnet.adversaries.execution import watch
from popsnet.adversaries.oblivious.paths import PathSystem, stops
from popsnet.coins import Coins
from popsnet.errors import InputError
from popsnet.network import Network
from popsnet.permutations.uniform import UniformPermutation
from popsnet.progress import Progress, patient_progress
from popsnet.routing import Router, find_variant
from popsnet.slot import Inbox, Ints, Kind, Slot

MOST_N = 1024
"""A router is run n times to see all its paths."""

_PROBES = 5
"""Random permutations, each with other coins, on which a path must be the same again."""

_MAX_STEPS, _MAX_SLOTS = 1000, 10**5
"""A run is stopped after so many steps, or slots of one step."""

Heard = dict[tuple[int, int], list[tuple[int, int]]]
"""By processor and packet: when it was heard there, and from whom."""


def observe(
    router: Router | str, variant: str | None, network: Network, progress: Progress = None
) -> PathSystem:
    """Return the path system of a router, seen on the n shifts, which have every pair once.

    Refuses, with a witness, a router whose packet goes another way between the same two
    processors on a random permutation. That cannot prove a router oblivious; but what is
    built against its paths is executed on these paths in any case.
    """
    router, variant = find_variant(router, variant)
    variant = router.choose_variant(variant, network)
    if network.n > MOST_N:
        raise InputError(
            f"{network} has n = {network.n:,}; a router is run n times to see its paths, so give "
            f"a network of up to {MOST_N:,} processors."
        )
    if router.variant(variant).idealized:
        raise InputError(f"Variant {variant} of {router.name} gives statistics only, no paths.")
    seen: dict[tuple[int, int], list[int]] = {}
    with patient_progress("watching", network.n, progress, "shifts") as report:
        for shift in range(network.n):
            report(shift)
            destination = np.roll(network.processors, -shift)
            for way in _ways(router, variant, network, destination, Coins(0)):
                seen[way[0], way[-1]] = way
    for probe in range(_PROBES):
        destination = UniformPermutation(network.n, Coins(probe)).array()
        for way in _ways(router, variant, network, destination, Coins(probe + 1)):
            _require_same(router, seen[way[0], way[-1]], way)
    return _system(f"{router.name} ({variant})", network, seen)


def _require_same(router: Router, first: list[int], again: list[int]) -> None:
    if first != again:
        one, other = stops(first), stops(again)
        raise InputError(
            f"{router.name} is not oblivious: from {first[0]} to {first[-1]} its packet goes by "
            f"{one} in one permutation, and by {other} in another. An oblivious router's path "
            "depends on its source and destination only."
        )


def _system(name: str, network: Network, seen: dict[tuple[int, int], list[int]]) -> PathSystem:
    width = max(map(len, seen.values()))
    table = np.empty((network.n, network.n, width - 1), dtype=np.int32)
    for (source, destination), way in seen.items():
        table[source, destination] = (way[1:] + [destination] * width)[: width - 1]

    def ways(network: Network, sources: Ints, destinations: Ints) -> Ints:
        found: Ints = table[sources, destinations]
        return found

    return PathSystem(f"of router {name}", "observed", ways)


def _ways(
    router: Router, variant: str, network: Network, destination: Ints, coins: Coins
) -> list[list[int]]:
    """The path of every packet in one run."""
    heard: Heard = {}
    numbers = count(1)
    outcome, _ = watch(
        router, variant, network, destination, coins,
        lambda slot, inbox: _note(network, slot, next(numbers), inbox, heard),
        max_steps=_MAX_STEPS, max_slots=_MAX_SLOTS,
    )  # fmt: skip
    if outcome.delivered < network.n:
        stopped = f", and was stopped after {outcome.slots:,} slots" if outcome.capped else ""
        raise InputError(
            f"{router.name} delivers {outcome.delivered} of {network.n} packets on {network}"
            f"{stopped}; only a router that delivers all has paths."
        )
    return [_way(heard, packet, int(to)) for packet, to in enumerate(destination)]


def _note(network: Network, slot: Slot, number: int, inbox: Inbox, heard: Heard) -> None:
    """Note who heard which packet from whom."""
    senders = slot.senders[slot.owners].tolist()
    on = {(b, network.group(s)): s for b, s in zip(slot.groups.tolist(), senders, strict=True)}
    rows = inbox.receivers, inbox.groups, inbox.packets, inbox.kinds
    for receiver, group, packet, kind in zip(*(row.tolist() for row in rows), strict=True):
        if kind == Kind.PACKET:
            told = (number, on[network.group(receiver), group])  # alone on it, or not heard
            heard.setdefault((receiver, packet), []).append(told)


def _way(heard: Heard, packet: int, destination: int) -> list[int]:
    """The path from the destination back to the source, each by the last message before."""
    way, before = [destination], np.inf
    while way[-1] != packet:
        number, sender = next(told for told in reversed(heard[way[-1], packet]) if told[0] < before)
        way.append(sender)
        before = number
    return way[::-1]
