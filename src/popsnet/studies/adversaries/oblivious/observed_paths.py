"""Observe the paths that a router's packets take, and whether they depend on other packets."""

from __future__ import annotations

import numpy as np

from popsnet.base.errors import InputError
from popsnet.base.progress import Progress, patient_progress
from popsnet.engines import Instance
from popsnet.model.coins import Coins
from popsnet.model.medium import Medium
from popsnet.model.network import Network, on_network
from popsnet.model.slot import Ints, Slot
from popsnet.programs.router import Router, find_variant
from popsnet.studies.adversaries.execution import heard, watch
from popsnet.studies.adversaries.oblivious.paths import PathSystem, stops
from popsnet.workloads.permutations.uniform import UniformPermutation

MOST_N = 1024
"""A router is run n times to see all its paths."""

_PROBES = 5
"""Random permutations, each with other coins, on which a path must be the same again."""

_MAX_STEPS, _MAX_SLOTS = 1000, 10**5
"""A run is stopped after this many steps, or this many slots of one step."""


@on_network
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
    network : Network, or int and int
        The network, of at most 1024 processors, or its d and g.
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
    >>> from popsnet.studies.adversaries import observe
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
    width = max(map(len, seen.values())) - 1
    table = np.empty((network.n, network.n, width), dtype=np.int32)
    for ends, way in seen.items():
        table[ends] = (way[1:] + way[-1:] * width)[:width]
    name = f"of router {router.name} ({variant})"
    return PathSystem(name, "observed", lambda _, a, b: table[a, b])


def _require_same(router: Router, first: list[int], again: list[int]) -> None:
    if first != again:
        raise InputError(
            f"{router.name} is not oblivious: from {first[0]} to {first[-1]} its packet goes by "
            f"{stops(first)} in one permutation, and by {stops(again)} in another. In an oblivious "
            "router the path of a packet depends on its source and destination only."
        )


def _ways(
    router: Router, variant: str, network: Network, destination: Ints, coins: Coins
) -> list[list[int]]:
    """Return the path of every packet in one run, by the last message that each processor heard."""
    medium = Medium(network)
    ways = {(packet, packet): [packet] for packet in range(network.n)}

    def note(slot: Slot) -> None:
        receivers, rows = heard(medium, slot)
        records = np.stack([receivers, slot.senders[rows], slot.packet_numbers[rows]], axis=1)
        longer = {
            (receiver, packet): [*ways[sender, packet], receiver]
            for receiver, sender, packet in records.tolist()
            if receiver != packet
        }
        ways.update(longer)

    instance = Instance(
        network, router, variant, destination, coins, _MAX_STEPS, max_slots=_MAX_SLOTS
    )
    outcome, _ = watch(instance, note)
    if outcome.delivered < network.n:
        stopped = f", and was stopped after {outcome.slots:,} slots" if outcome.capped else ""
        raise InputError(
            f"{router.name} delivers {outcome.delivered} of {network.n} packets on {network}"
            f"{stopped}; paths can be observed only if all packets are delivered."
        )
    return [ways[int(to), packet] for packet, to in enumerate(destination)]
