"""Faults while a machine runs: who can send, and who hears what.

Also which packets have a live path of two hops to their destination, and one back.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache

import numpy as np

from popsnet.model.coins import Coins
from popsnet.model.faults.faults import PARTS, Faults
from popsnet.model.network import I32, I64, Bools, Network
from popsnet.model.slot import Ints

LOSS = "lost message"
"""The purpose of the coins that say which messages are lost."""

_NEVER = np.iinfo(np.int64).max


class ActiveFaults:
    """The faults of one run, slot by slot.

    Parameters
    ----------
    network : Network
        The network.
    faults : Faults
        The dead parts, all of them listed, and the loss.
    coins : Coins
        The coins that say which messages are lost. They are those of the faults, not of a router.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Coins, Faults, Network
    >>> from popsnet.model.faults import ActiveFaults
    >>> active = ActiveFaults(Network(2, 2), Faults.parse("coupler:0-1@5 receiver:0"), Coins(0))
    >>> active.hear(4, np.array([0, 1, 2]), np.array([0, 0, 0]))
    array([False,  True,  True])
    >>> active.hear(5, np.array([0, 1, 2]), np.array([0, 0, 0]))
    array([False,  True, False])
    """

    def __init__(self, network: Network, faults: Faults, coins: Coins) -> None:
        faults = faults.drawn(network, coins)
        self.faults, self.network, self._coins = faults, network, coins
        self._sends_until = _ends(network.n, faults, "transmitters", "processors")
        self._hears_until = _ends(network.n, faults, "receivers", "processors")
        self._acts_until = _ends(network.n, faults, "processors")
        dead = np.array(faults.dead("couplers"), dtype=np.int64).reshape(-1, 3)  # in order
        self._dead, self._dead_from = dead[:, 0] * network.g + dead[:, 1], dead[:, 2].copy()
        self._threshold = round(faults.loss * 2**32)
        self.misses: I32 = np.empty(0, dtype=np.int32)
        """The processors for which a message was lost in the last slot."""

    def send(self, slot: int, senders: Ints) -> Bools | None:
        """Return whose transmitters work in a slot, None if all do."""
        return None if self._sends_until is None else slot < self._sends_until[senders]

    def act(self, slot: int, processors: Ints) -> Bools | None:
        """Return which processors are not dead after a slot, None if none is."""
        return None if self._acts_until is None else slot < self._acts_until[processors]

    def hear(
        self, slot: int, listeners: Ints, listened: Ints, wavelengths: Ints | None = None
    ) -> Bools:
        """Return which listeners hear the one message on the coupler that each listens to.

        A dead coupler is dead on all wavelengths. Losses of different wavelengths are independent.
        """
        couplers = self.network.group(listeners).astype(np.int64) * self.network.g + listened
        hears = np.ones(len(listeners), dtype=np.bool_)
        if self._hears_until is not None:
            hears &= slot < self._hears_until[listeners]
        if len(self._dead):
            place = np.minimum(np.searchsorted(self._dead, couplers), len(self._dead) - 1)
            hears &= (self._dead[place] != couplers) | (slot < self._dead_from[place])
        if self._threshold:
            channels = couplers * self.network.wavelengths
            channels = channels if wavelengths is None else channels + wavelengths
            per = channels if self.faults.loss_per == "coupler" else listeners
            lost = self._coins.chances(self._threshold, LOSS, slot, per)
            self.misses = np.asarray(listeners[hears & lost], dtype=np.int32)
            hears &= ~lost
        return hears


def _ends(n: int, faults: Faults, *kinds: str) -> I64 | None:
    """Return for each processor the slot from which on a part is dead, None if none is."""
    dead = [part for kind in kinds for part in faults.dead(kind)]
    if not dead:
        return None
    until = np.full(n, _NEVER, dtype=np.int64)
    for processor, slot in dead:
        until[processor] = min(until[processor], slot)
    return until


class WorkingParts:
    """The couplers, transmitters and receivers that work when others are dead.

    Parameters
    ----------
    network : Network
        The network.
    faults : Faults
        The dead parts, all of them listed. All count, whatever the slots in which they die.

    Attributes
    ----------
    couplers : array of bool
        Entry (b, a) says whether coupler c(b, a), from group a to group b, works.
    sends, hears : array of bool
        Whether the transmitter and the receiver of each processor work.

    Examples
    --------
    >>> from popsnet import Faults, Network
    >>> from popsnet.model.faults import WorkingParts
    >>> parts = WorkingParts(Network(2, 2), Faults.parse("coupler:0-1 receiver:3 processor:0"))
    >>> parts.couplers.tolist()
    [[True, True], [False, True]]
    >>> parts.sends.tolist(), parts.hears.tolist()
    ([False, True, True, True], [False, True, True, False])
    """

    def __init__(self, network: Network, faults: Faults) -> None:
        self.network = network
        self.couplers: Bools = np.ones((network.g, network.g), dtype=np.bool_)
        for to, by, _ in faults.dead("couplers"):
            self.couplers[to, by] = False
        self.sends: Bools = np.ones(network.n, dtype=np.bool_)
        self.sends[[processor for processor, _ in faults.dead("processors")]] = False
        self.hears: Bools = self.sends.copy()
        self.sends[[processor for processor, _ in faults.dead("transmitters")]] = False
        self.hears[[processor for processor, _ in faults.dead("receivers")]] = False


def two_way_paths(network: Network, faults: Faults, sources: Ints, destinations: Ints) -> Bools:
    """Return whether each packet has a live path of two hops both ways.

    A packet from group a to group b has one if its source and its destination can send and hear,
    and there is a group T with c(T, a), c(b, T), c(T, b) and c(a, T) alive, in which a relay of
    group a can send and hear: a processor (T, l) with l ≡ a mod g for d ≥ g, and
    (T, ⌊a / ⌈g/d⌉⌋) for d < g.

    Parameters
    ----------
    network : Network
        The network.
    faults : Faults
        The dead parts, all of them listed. All count, whatever the slots in which they die.
    sources, destinations : array of int
        The ends of each packet.

    Returns
    -------
    array of bool
        An entry per packet.

    Notes
    -----
    Let a group T be open for a if both couplers between them and the relay are alive. Groups a
    and b have a path if fewer than g groups are closed for a or for b together, which decides
    nearly all pairs; the others are looked up one by one.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Faults, Network
    >>> from popsnet.model.faults import two_way_paths
    >>> faults = Faults.parse("coupler:0-0 coupler:1-1")
    >>> two_way_paths(Network(2, 2), faults, np.array([0, 0]), np.array([1, 3]))
    array([ True, False])
    """
    works = np.ones(network.n, dtype=np.bool_)
    works[[processor for kind in PARTS[1:] for processor, _ in getattr(faults, kind)]] = False
    ends = works[sources] & works[destinations]
    if not faults.dead("couplers") and works.all():
        return np.ones(len(sources), dtype=np.bool_)
    a, b = network.group(sources), network.group(destinations)
    closed: dict[int, set[int]] = defaultdict(set)  # by dead couplers, in either direction
    for to, by, _ in faults.dead("couplers"):
        closed[to].add(by)
        closed[by].add(to)
    relays = _dead_relays(network, works)
    groups = range(network.g)
    few = np.array([len(closed.get(group, ())) + len(relays.get(group, ())) for group in groups])
    paths: Bools = few[a] + few[b] < network.g

    @cache
    def joined(a: int, b: int) -> bool:
        return len(closed[a] | relays[a] | closed[b]) < network.g

    for packet in np.flatnonzero(~paths & ends).tolist():
        paths[packet] = joined(int(a[packet]), int(b[packet]))
    return paths & ends


def _dead_relays(network: Network, works: Bools) -> defaultdict[int, set[int]]:
    """Return for each group the groups in which all of its relays are dead."""
    d, g = network.d, network.g
    wide = -(-g // d)  # groups that share a relay, 1 for d >= g
    left: dict[tuple[int, int], int] = {}  # live relays, by T and the number of the set in T
    for processor in np.flatnonzero(~works).tolist():
        group, index = divmod(processor, d)
        relay_class = (group, index % g)
        left[relay_class] = left.get(relay_class, -(-(d - index % g) // g)) - 1
    dead: defaultdict[int, set[int]] = defaultdict(set)
    for (group, index), live in left.items():
        for other in range(index * wide, min((index + 1) * wide, g)) if not live else ():
            dead[other].add(group)
    return dead
