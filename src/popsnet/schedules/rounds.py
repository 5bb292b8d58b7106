"""Divides an h-relation into rounds, each of which two slots can carry."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.network import Network
from popsnet.schedules.colouring.colouring import colour_edges
from popsnet.schedules.demand import Demand
from popsnet.slot import Ints

I32 = npt.NDArray[np.int32]


def count_rounds(demand: Demand) -> int:
    """R = max(h, ⌈Δ/g⌉): h packets of a processor need as many rounds, Δ of a group ⌈Δ/g⌉."""
    return max(demand.h, -(-demand.degree // demand.network.g))


def assign_rounds(demand: Demand, *, seed: int = 0) -> I32:
    """The round of every packet, with no more than R = max(h, ⌈Δ/g⌉) rounds.

    In a round a processor sends one packet at most and receives one at most, and a group g of
    each. That is what two slots carry: the packets of a round, as edges between groups, have
    degree min(d, g) at most and are g·min(d, g) at most, so they have g colours, each of d or
    fewer (see ``colour_edges``), and the colour is the group in between.

    Such rounds exist for every demand: the constraints are two laminar families (de Werra, 1971).
    To find them, give every processor R edges: its packets, and blanks. For d ≤ g colour them with
    R colours. For d > g each group also gets d - g vertices of degree R on the other side, joined
    to blanks of its own only; there are dR - Δ ≥ (d - g)R of these. All other blanks are joined
    across. Now every degree is R, and there are R perfect matchings. In each of them d - g of a
    group's processors are joined to its extra vertices, and so at most g of them send packets.

    Neighbours that have no more than R packets together count as one processor, so a group has
    2g + 1 at most: the time is that of colouring O(gΔ) edges, and the packets, with R colours.
    """
    network, rounds = demand.network, count_rounds(demand)
    if rounds <= 1:
        return np.zeros(demand.packets, dtype=np.int32)
    if network.d <= network.g:
        return colour_edges(demand.source, demand.destination, rounds, seed=seed)
    seats = [_seats(ends, network, rounds) for ends in (demand.source, demand.destination)]
    width = max(network.g, *(int(one.max()) + 1 for one in seats))
    sides = [
        _side(network.group(ends), seat, network.g, width, rounds)
        for ends, seat in zip((demand.source, demand.destination), seats, strict=True)
    ]
    one, other = sides
    left = np.concatenate((one.packets, one.blanks, other.extras, one.spare))
    right = np.concatenate((other.packets, one.extras, other.blanks, other.spare))
    return colour_edges(left, right, rounds, seed=seed)[: demand.packets].copy()


class _Side(NamedTuple):
    """The vertices of the packets' ends, of the blanks joined to extras, these, and the rest."""

    packets: I32
    blanks: I32
    extras: I32
    spare: I32


def _side(groups: Ints, seats: I32, g: int, width: int, degree: int) -> _Side:
    """One side of the graph: each group has ``width`` vertices, and width - g on the other side."""
    extra = width - g
    packets = (groups * width + seats).astype(np.int32)
    missing = degree - np.bincount(packets, minlength=g * width)
    blanks = np.repeat(np.arange(g * width, dtype=np.int32), missing)
    counts = missing.reshape(g, width).sum(axis=1)
    of_group = np.arange(len(blanks)) - np.repeat(np.cumsum(counts) - counts, counts)
    joined = of_group < extra * degree
    at = np.repeat(np.arange(g) * extra, counts)[joined] + of_group[joined] // degree
    return _Side(packets, blanks[joined], (g * width + at).astype(np.int32), blanks[~joined])


def _seats(ends: Ints, network: Network, most: int) -> I32:
    """Which of its group's vertices each packet's processor is a part of."""
    loads = np.bincount(ends, minlength=network.n).astype(np.int32)
    return _joined(loads, network.d, most)[ends]


@compiled
def _joined(loads: I32, d: int, most: int) -> I32:
    """Number the processors of each group, those alike that have few packets together."""
    places = np.empty_like(loads)
    place, load = 0, 0
    for j in range(len(loads)):
        if j % d == 0:
            place, load = 0, 0
        elif load + loads[j] > most:
            place, load = place + 1, 0
        load += loads[j]
        places[j] = place
    return places
