"""Build the schedule of a demand: rounds, relay groups, and the processors that relay."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.errors import InputError
from popsnet.model.loops import plain
from popsnet.model.network import I32, I64, Ints, Network
from popsnet.programs.schedules.colouring.colouring import colour_edges
from popsnet.programs.schedules.colouring.multigraph import count, filled, join
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.schedule import Schedule, grouped, ranks
from popsnet.programs.schedules.slots_needed import frequencies

MOST_ROUNDS = 2**16
"""Each round is coloured on its own."""


def make_two_hops(demand: Demand, *, seed: int = 0) -> Schedule:
    """Build a schedule of rounds of two slots, or of one for d = 1.

    Parameters
    ----------
    demand : Demand
        The packets to send.
    seed : int
        The random seed of the colouring; a seed always gives the same schedule.

    Returns
    -------
    Schedule
        A schedule of h slots for d = 1 and 2·max(h, ⌈Δ/gW⌉) slots for d > 1, where h is the largest
        number of packets of a processor, Δ that of a group, sent or received, and W the number of
        wavelengths.

    Raises
    ------
    InputError
        If a processor sends or receives more than 65,536 packets.

    Notes
    -----
    For a permutation and W = 1 that is one slot for d = 1 and otherwise 2⌈d/g⌉ (Mei and Rizzi,
    2003), and a processor holds at most one packet for d ≤ g and two for d > g. A partial
    permutation has h = 1 and Δ ≤ d, and needs one buffer for Δ ≤ g and otherwise two. Most of the
    time goes into the colouring: O(m log Δ) for a partial permutation of m packets; see
    :func:`assign_rounds` for h > 1.

    With W wavelengths gW takes the place of g everywhere: a colour is a relay group with a
    wavelength. Every colour is a matching of groups, so a coupler carries at most W packets of a
    slot, each on its own wavelength; see :func:`deal_colours` for the listeners.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Network
    >>> from popsnet.programs.schedules import Demand
    >>> from popsnet.programs.schedules.construction import make_two_hops
    >>> demand = Demand(Network(4, 3), np.array([0, 0, 5]), np.array([3, 7, 3]))
    >>> make_two_hops(demand).slots
    4
    """
    network = demand.network
    if demand.h > MOST_ROUNDS:
        raise InputError(
            f"A processor sends or receives {demand.h:,} packets; at most {MOST_ROUNDS:,} can be "
            "scheduled. Split the demand."
        )
    if network.d == 1:  # every coupler has one sender and one listener: a matching is a slot
        rounds = colour_edges(demand.source, demand.destination, seed=seed)
        return Schedule.of_rounds(demand, rounds, None, demand.h)
    if demand.h > 1:
        return _of_relation(demand, seed)
    if demand.degree <= network.channels:
        between = _between(network, demand.source, demand.destination, seed)
        relays = network.processor(between, ranks(between, network.g))
        return Schedule.of_rounds(demand, np.zeros_like(between), relays, demand.rounds)
    return _of_long_rounds(demand, seed)


def one_slot(demand: Demand) -> Schedule | None:
    """Return the schedule of one slot, or None if packets share a processor or crowd a coupler."""
    network = demand.network
    if (network.d > 1 and is_crowded(demand, network.wavelengths)) or demand.h > 1:
        return None
    none = np.zeros(demand.packets, dtype=np.int32)
    slots = min(demand.packets, 1)
    return replace(Schedule.of_rounds(demand, none, None, slots), in_rounds=False)


def is_crowded(demand: Demand, most: int) -> bool:
    """Return whether more than some packets have the same coupler in one hop."""
    network = demand.network
    for part in (slice(0, 4 * network.g), slice(None)):  # a few packets often show it
        packets = frequencies(demand.at(part).couplers, network.couplers)[1]
        if packets.max(initial=0) > most:
            return True
    return False


def _between(network: Network, source: Ints, destination: Ints, seed: int) -> I32:
    """Return the relay group of each packet of one round."""
    ends = network.group(source), network.group(destination)
    colours = colour_edges(*ends, network.channels, seed=seed)
    return colours if network.wavelengths == 1 else deal_colours(colours, network)


def deal_colours(colours: I32, network: Network) -> I32:
    """Return a relay group for each of gW colours, W to a group, so that groups share the packets.

    The packets of a round have degree at most min(d, gW) between groups, so there are at most gd of
    them. Their colours are balanced: a class has q or q + 1 packets. The larger classes are dealt
    to the g groups in turn, and so the groups relay numbers of packets that differ by at most one:
    at most d each, a processor for each. A class is a matching, so at most W packets of a group a
    go to relay group t, and at most W from t to b: one per wavelength of the coupler.
    """
    sizes = np.bincount(colours, minlength=network.channels)
    group = np.empty(network.channels, dtype=np.int32)
    order = np.argsort(-sizes, kind="stable")
    group[order] = np.arange(network.channels, dtype=np.int32) % network.g
    return group[colours]


def _of_long_rounds(demand: Demand, seed: int) -> Schedule:
    """Schedule one packet per processor and more than g per group.

    The colour of a packet gives its round, its wavelength and its relay group. In groups that send
    fewer packets than Δ, idle processors send blanks, so that the processors of every group have
    the colours 0 to Δ - 1. In round r the processor with colour rgW + wg + a relays the packet from
    group a on wavelength w, since it has just sent its own. If the last round has fewer than gW
    colours, processors that sent in the round before relay the rest. So a relay holds at most two
    packets: the one it relays and one that was delivered to it.
    """
    network, degree = demand.network, demand.degree
    source = np.concatenate((demand.source, _blanks(demand, degree)))
    to = filled(plain(network.group(demand.destination)), network.g, degree)
    colours = colour_edges(network.group(source), to, degree, seed=seed)
    shape = network.d, network.g, network.channels
    rounds, relays = _relays(plain(source), colours, *shape, degree)
    m = demand.packets
    return Schedule.of_rounds(demand, rounds[:m], relays[:m], demand.rounds)


def _blanks(demand: Demand, degree: int) -> I32:
    """Return idle processors, as many of each group as it lacks packets."""
    network = demand.network
    idle = np.ones(network.n, dtype=np.bool_)
    idle[demand.source] = False
    rows = idle.reshape(network.g, network.d)
    lacking = degree - np.count_nonzero(~rows, axis=1)
    chosen = rows & (np.cumsum(rows, axis=1) <= lacking[:, None])
    return np.flatnonzero(chosen).astype(np.int32)


def _of_relation(demand: Demand, seed: int) -> Schedule:
    """Schedule several packets per processor; those that hold the fewest packets relay."""
    network = demand.network
    rounds = assign_rounds(demand, seed=seed)
    order, bounds = grouped(rounds, demand.rounds)
    relays = np.empty(demand.packets, dtype=np.int32)
    held = np.bincount(demand.source, minlength=network.n)
    for begin, end in pairwise(bounds.tolist()):
        rows = order[begin:end]
        source, destination = demand.source[rows], demand.destination[rows]
        between = _between(network, source, destination, seed)
        held[source] -= 1  # each once in a round
        relays[rows] = _least_laden(held, between, network)
        held[destination] += 1
    return Schedule.of_rounds(demand, rounds, relays, demand.rounds)


def assign_rounds(demand: Demand, *, seed: int = 0) -> I32:
    """Assign every packet to one of R = max(h, ⌈Δ/g⌉) rounds, with gW in place of g.

    In a round a processor sends at most one packet and receives at most one, and a group at most g
    of each. Two slots can carry that: the packets of a round, as edges between groups, have degree
    at most min(d, g), and there are at most g·min(d, g) of them, so they have a colouring with g
    colours of at most d edges each (see ``colour_edges``), and the colour is the relay group.

    Such rounds exist for every demand: the constraints are two laminar families (de Werra, 1971).
    To find them, give every processor R edges: its packets, and blanks. For d ≤ g colour them with
    R colours. For d > g each group also gets d - g vertices of degree R on the other side, joined
    only to blanks of this group, of which there are dR - Δ ≥ (d - g)R. All other blanks are joined
    across. Now every degree is R, and there are R perfect matchings. In each of them d - g of a
    group's processors are joined to its extra vertices, so at most g of them send packets.

    Neighbours that have at most R packets together count as one processor, so a group has at most
    2g + 1: the time is that of colouring O(gΔ) edges, and the packets, with R colours.
    """
    network, rounds, both = demand.network, demand.rounds, (demand.source, demand.destination)
    if rounds <= 1:
        return np.zeros(demand.packets, dtype=np.int32)
    if network.d <= network.channels:
        return colour_edges(*both, rounds, seed=seed)
    seats = [join(count(plain(ends), network.n), network.d, rounds)[ends] for ends in both]
    width = max(network.channels, *(int(seat.max()) + 1 for seat in seats))
    sending, receiving = (
        _side(network.group(ends), seat, network, width, rounds)
        for ends, seat in zip(both, seats, strict=True)
    )
    left = np.concatenate((sending.packets, sending.blanks, receiving.extras, sending.spare))
    right = np.concatenate((receiving.packets, sending.extras, receiving.blanks, receiving.spare))
    return colour_edges(left, right, rounds, seed=seed)[: demand.packets].copy()


class _Side(NamedTuple):
    """One end of every edge, as vertices."""

    packets: I32
    blanks: I32
    """Of the blanks that are joined to extra vertices."""
    extras: I32
    """The extra vertices, on the other side."""
    spare: I32
    """Of all other blanks."""


def _side(groups: Ints, seats: I32, network: Network, width: int, degree: int) -> _Side:
    """Build one side of the graph: ``width`` vertices per group, width - gW on the other side."""
    g, extra = network.g, width - network.channels
    packets = plain(groups * width + seats)
    blanks = filled(packets, g * width, degree)[len(packets) :]
    of_group = ranks(blanks // width, g)
    joined = of_group < extra * degree
    extras = g * width + (blanks // width * extra + of_group // degree)[joined]
    return _Side(packets, blanks[joined], extras, blanks[~joined])


def _least_laden(held: I64, between: I32, network: Network) -> I32:
    """Choose a processor of the relay group for each packet, those with fewest packets first."""
    first = np.argsort(held.reshape(network.g, network.d), axis=1, kind="stable")
    return network.processor(between, plain(first[between, ranks(between, network.g)]))


@compiled
def _relays(
    source: I32, colours: I32, d: int, g: int, channels: int, degree: int
) -> tuple[I32, I32]:
    """Return round and relay of every packet, from its colour and those of the relays' packets."""
    of_colour = np.empty((g, degree), dtype=np.int32)
    for k in range(len(source)):
        of_colour[source[k] // d, colours[k]] = source[k]
    rounds, relays = np.empty_like(colours), np.empty_like(colours)
    for k in range(len(source)):
        r, channel = divmod(colours[k], channels)
        wavelength, between = divmod(channel, g)
        own = r * channels + wavelength * g + source[k] // d
        rounds[k] = r
        relays[k] = of_colour[between, own if own < degree else own - channels]
    return rounds, relays
