"""Observe the paths that a router's packets take, and whether they depend on other packets."""

from __future__ import annotations

from itertools import count

import numpy as np

from popsnet.adversaries.execution import watch
from popsnet.adversaries.oblivious.paths import PathSystem, stops
from popsnet.coins import Coins
from popsnet.engines import Instance
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
"""A run is stopped after this many steps, or this many slots of one step."""

Heard = dict[tuple[int, int], list[tuple[int, int]]]
"""For each processor and packet, the slots in which it was heard there and the senders."""


def observe(
    router: Router | str, variant: str | None, network: Network, progress: Progress = None
) -> PathSystem:
    """Observe the paths of a router's packets and return them as a path system.

    Parameters
    ----------
    router : Router or str
        A router, its name, or a file that registers one.
    variant : str or None
        A variant of the router; None for the default on this network.
    network : Network
        The network, of at most 1024 processors.
    progress : function, bool or None
        As for :func:`attack_oblivious`.

    Returns
    -------
    PathSystem
        The observed paths of all pairs.

    Raises
    ------
    InputError
        If a packet takes another path between the same two processors on a random permutation;
        the message names both paths. Also if the router does not deliver every packet.

    Notes
    -----
    The router runs on the n cyclic shifts, which contain every pair once, and on five random
    permutations. That cannot prove a router oblivious, but permutations built against these paths
    are executed on these paths in any case.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.adversaries import observe
    >>> observe("direct", None, Network(2, 2)).name
    'of router direct (standard)'
    """
    router, variant = find_variant(router, variant)
    variant = router.choose_variant(variant, network)
    if network.n > MOST_N:
        raise InputError(
            f"{network} has n = {network.n:,} processors, and a router runs n times to observe its "
            f"paths; give a network of at most {MOST_N:,}."
        )
    if router.variant(variant).idealized:
        raise InputError(
            f"Variant {variant} of {router.name} gives statistics only and has no paths; choose "
            "another variant."
        )
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
            f"{one} in one permutation, and by {other} in another. In an oblivious router the path "
            "of a packet depends on its source and destination only."
        )


def _system(name: str, network: Network, seen: dict[tuple[int, int], list[int]]) -> PathSystem:
    width = max(map(len, seen.values()))
    table = np.empty((network.n, network.n, width - 1), dtype=np.int32)
    for (source, destination), way in seen.items():
        table[source, destination] = (way[1:] + [destination] * width)[: width - 1]

    def ways(network: Network, sources: Ints, destinations: Ints) -> Ints:
        return table[sources, destinations]

    return PathSystem(f"of router {name}", "observed", ways)


def _ways(
    router: Router, variant: str, network: Network, destination: Ints, coins: Coins
) -> list[list[int]]:
    """Return the path of every packet in one run."""
    heard: Heard = {}
    numbers = count(1)
    instance = Instance(
        network, router, variant, destination, coins, _MAX_STEPS, max_slots=_MAX_SLOTS
    )
    outcome, _ = watch(
        instance, lambda slot, inbox: _note(network, slot, next(numbers), inbox, heard)
    )
    if outcome.delivered < network.n:
        stopped = f", and was stopped after {outcome.slots:,} slots" if outcome.capped else ""
        raise InputError(
            f"{router.name} delivers {outcome.delivered} of {network.n} packets on {network}"
            f"{stopped}; paths can be observed only if all packets are delivered."
        )
    return [_way(heard, packet, int(to)) for packet, to in enumerate(destination)]


def _note(network: Network, slot: Slot, number: int, inbox: Inbox, heard: Heard) -> None:
    """Note which processor heard which packet from which sender."""
    senders = slot.senders[slot.owners].tolist()
    on = {(b, network.group(s)): s for b, s in zip(slot.groups.tolist(), senders, strict=True)}
    rows = inbox.receivers, inbox.groups, inbox.packets, inbox.kinds
    for receiver, group, packet, kind in zip(*(row.tolist() for row in rows), strict=True):
        if kind == Kind.PACKET:
            told = (number, on[network.group(receiver), group])  # alone on it, or not heard
            heard.setdefault((receiver, packet), []).append(told)


def _way(heard: Heard, packet: int, destination: int) -> list[int]:
    """Trace the path from the destination back to the source, by the last message each time."""
    way, before = [destination], np.inf
    while way[-1] != packet:
        number, sender = next(told for told in reversed(heard[way[-1], packet]) if told[0] < before)
        way.append(sender)
        before = number
    return way[::-1]
