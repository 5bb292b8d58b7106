"""Which packets have a live path of two hops to their destination, and one back."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from popsnet.faults.faults import Faults
from popsnet.network import Network
from popsnet.slot import Ints

Bools = npt.NDArray[np.bool_]


def two_way_paths(
    network: Network, faults: Faults, sources: Ints, destinations: Ints
) -> npt.NDArray[np.bool_]:
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
    >>> from popsnet.faults import two_way_paths
    >>> faults = Faults.parse("coupler:0,0 coupler:1,1")
    >>> two_way_paths(Network(2, 2), faults, np.array([0, 0]), np.array([1, 3]))
    array([ True, False])
    """
    works = np.ones(network.n, dtype=np.bool_)
    for kind in ("transmitters", "receivers", "processors"):
        for processor, _ in getattr(faults, kind):
            works[processor] = False
    ends = works[sources] & works[destinations]
    if not faults.couplers and works.all():
        return np.ones(len(sources), dtype=np.bool_)
    a, b = network.group(sources), network.group(destinations)
    closed = _closed(network, faults)
    relays = _dead_relays(network, works)
    few = np.zeros(network.g, dtype=np.int64)
    few += [len(closed.get(one, ())) + len(relays.get(one, ())) for one in range(network.g)]
    paths = few[a] + few[b] < network.g
    known: dict[tuple[int, int], bool] = {}
    for packet in np.flatnonzero(~paths & ends).tolist():
        pair = int(a[packet]), int(b[packet])
        if pair not in known:
            shut = closed.get(pair[0], set()) | relays.get(pair[0], set())
            known[pair] = len(shut | closed.get(pair[1], set())) < network.g
        paths[packet] = known[pair]
    found: Bools = paths & ends
    return found


def _closed(network: Network, faults: Faults) -> dict[int, set[int]]:
    """Return for each group the groups with which it has a dead coupler, in either direction."""
    closed: dict[int, set[int]] = {}
    for to, by, _ in faults.couplers:
        closed.setdefault(to, set()).add(by)
        closed.setdefault(by, set()).add(to)
    return closed


def _dead_relays(network: Network, works: Bools) -> dict[int, set[int]]:
    """Return for each group the groups in which all of its relays are dead."""
    d, g = network.d, network.g
    wide = -(-g // d)  # groups that share a relay, 1 for d >= g
    left: dict[tuple[int, int], int] = {}  # live relays, by T and the number of the set in T
    for processor in np.flatnonzero(~works).tolist():
        group, index = divmod(processor, d)
        one = (group, index % g)
        left[one] = left.get(one, -(-(d - index % g) // g)) - 1
    dead: dict[int, set[int]] = {}
    for (group, index), live in left.items():
        for other in range(index * wide, min((index + 1) * wide, g)) if not live else ():
            dead.setdefault(other, set()).add(group)
    return dead
