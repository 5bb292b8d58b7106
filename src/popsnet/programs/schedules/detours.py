"""Schedules for networks with dead parts that are known beforehand.

What still works of the schedule of the intact network is kept, and other packets take detours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.errors import SizeError
from popsnet.base.splitmix import word
from popsnet.base.system import available_memory
from popsnet.model.coins import Coins
from popsnet.model.faults import WorkingParts
from popsnet.model.loops import plain, plain_each
from popsnet.model.network import I32, I64, U16, U64, Bools, Network
from popsnet.programs.schedules.demand import Demand
from popsnet.programs.schedules.fixed import best_fixed
from popsnet.programs.schedules.linear_program import Capacities
from popsnet.programs.schedules.schedule import NO_HOPS, STRAIGHT, Hops, Schedule
from popsnet.programs.schedules.slots_needed import lower_bound, matrix_bound

_RELAYS = 64
"""Relays that are tried for a packet, unless none of them will do."""
_BITS = 64
_HALF, _ONE, _FULL = np.uint64(32), np.uint64(1), ~np.uint64(0)


class Detours(NamedTuple):
    """A schedule around dead parts."""

    schedule: Schedule
    unreachable: I32
    """The packets that no path leads to their destinations, in order."""
    bound: int
    """A number of slots below which no schedule of the other packets exists, by any path."""


def make_detours(
    demand: Demand,
    intact: Schedule,
    parts: WorkingParts,
    *,
    hops: str = "auto",
    seed: int = 0,
    free: bool = False,
) -> Detours:
    """Build a collision-free schedule that uses no dead part.

    Parameters
    ----------
    demand : Demand
        The packets to send.
    intact : Schedule
        A schedule of these packets for the network without dead parts.
    parts : WorkingParts
        What works.
    hops : {"auto", "1", "2", "mixed"}
        As for :func:`~popsnet.programs.schedules.make_schedule`. With "auto" and "mixed" a packet
        without a path of two hops takes as many hops as it needs.
    seed : int
        The random seed; a seed always gives the same schedule.
    free : bool
        Whether the processors of the packets were free to choose in their groups, as those of a
        matrix are. The bound then holds for every choice.

    Returns
    -------
    Detours
        The schedule, and the packets that have no path.

    Raises
    ------
    SizeError
        If there is not enough memory.

    Notes
    -----
    Two schedules are made by first fit, packet by packet: each packet takes the straight way, or
    that of 64 relays by which it arrives first. One schedule keeps the packets of ``intact`` whose
    hops all work, and the other begins empty. With one wavelength a search
    (:func:`~popsnet.programs.schedules.fixed.best_fixed`) then tries to shorten the shorter one,
    down to the bound. A packet with three hops or more takes a shortest path between groups.

    The bound is the largest of that of the intact network, the most hops that a packet needs, and,
    for every group and for all groups together, the hops that must be made divided by what the
    live transmitters, receivers and couplers carry in a slot.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet import Faults, Network
    >>> from popsnet.model.faults import WorkingParts
    >>> from popsnet.programs.schedules import Demand, make_schedule
    >>> from popsnet.programs.schedules.detours import make_detours
    >>> network = Network(2, 3)
    >>> demand = Demand(network, np.array([0, 2, 4]), np.array([2, 4, 0]))
    >>> parts = WorkingParts(network, Faults.parse("coupler:0-1"))
    >>> schedule, unreachable, bound = make_detours(demand, make_schedule(demand), parts)
    >>> schedule.slots, schedule.relayed, unreachable.tolist(), bound
    (2, 1, [], 2)
    """
    network = demand.network
    key = np.uint64(Coins(seed).key("relays of detours", 0))
    ways = _Ways(
        parts.couplers, parts.sends & parts.hears, hops != "2", hops != "1", network.d, network.g,
        network.wavelengths, key,
    )  # fmt: skip
    needed = _hops_needed(demand, parts, ways)
    stays = demand.source == demand.destination
    unreachable = np.flatnonzero((needed == 0) & ~stays).astype(np.int32)
    sent = np.flatnonzero(needed).astype(np.int32)
    bound = _bound(demand, sent, needed[sent], parts, free)
    kept = (_kept(intact, parts, needed), NO_HOPS)
    best = min((_first_fit(demand, ways, needed, hops) for hops in kept), key=_length)
    made = Schedule.of_hops(demand, best, plain(np.flatnonzero(stays)), _length(best))
    if network.wavelengths > 1 or hops in ("1", "2") or needed.max(initial=0) > 2:
        return Detours(made, unreachable, bound)
    moved = demand.at(sent)
    paths = best_fixed(moved, bound, made.slots, seed=seed, parts=parts)
    if paths is not None:
        made = replace(Schedule.of_paths(moved, paths).renumbered(sent), home=made.home)
    return Detours(made, unreachable, bound)


def with_live_ends(demand: Demand, parts: WorkingParts) -> Demand:
    """Return the demand with live processors of the same groups in place of dead ends.

    For packets whose processors are free to choose. Each takes the live processors of its groups
    that have the fewest packets so far. A packet from a group to itself takes two different ones,
    and keeps its ends if there are none.
    """
    network, source = demand.network, demand.source.copy()
    destination = demand.destination.copy()
    by, to = network.group(source), network.group(destination)
    works = parts.sends[source], parts.hears[destination]
    sent = np.bincount(source[works[0]], minlength=network.n)
    heard = np.bincount(destination[works[1]], minlength=network.n)

    def rested(works: Bools, packets: I64, group: int, after: int) -> Any:
        """Return the live processors, the fewest packets first, then in turn."""
        first = group * network.d
        live = np.flatnonzero(works[first : first + network.d]) + first
        return live[np.lexsort(((live - after) % network.n, packets[live]))].tolist()

    rows = np.flatnonzero(~(works[0] & works[1]))
    for row in rows[np.argsort(by[rows] != to[rows], kind="stable")]:  # fewer choices first
        own = int(source[row]), int(destination[row])
        sent[own[0]] -= works[0][row]
        heard[own[1]] -= works[1][row]
        senders = rested(parts.sends, sent, by[row], 0)
        pairs = ((p, q) for p in senders for q in rested(parts.hears, heard, to[row], p) if p != q)
        source[row], destination[row] = ends = next(pairs, own)
        sent[ends[0]] += 1
        heard[ends[1]] += 1
    return Demand(network, source, destination, demand.where)


def live_capacities(network: Network, parts: WorkingParts, longest: int) -> Capacities:
    """Return what the live parts of a network carry, for the linear program of the bound.

    ``longest`` is the number of slots of a schedule that is known.
    """
    couplers = network.wavelengths * parts.couplers.T.astype(np.int64)
    ends = (works.reshape(network.g, network.d).sum(axis=1) for works in (parts.sends, parts.hears))
    sends, hears = (
        np.minimum(live, couplers.sum(axis=axis)) for live, axis in zip(ends, (1, 0), strict=True)
    )
    return Capacities(couplers, sends, hears, longest)


def _bound(demand: Demand, sent: I32, needed: I64, parts: WorkingParts, free: bool) -> int:
    """Return a bound for the packets that are sent; see :func:`make_detours`."""
    if not len(sent):
        return 0
    network, moved = demand.network, demand.at(sent)
    by, to = network.group(moved.source), network.group(moved.destination)
    hops = np.where(parts.couplers[to, by], 1, needed)
    couplers, sends, hears, _ = live_capacities(network, parts, 0)
    everything = min(int(couplers.sum()), int(sends.sum()), int(hears.sum()))
    shares = [
        np.bincount(ends, minlength=network.g) / np.maximum(room, 1)
        for ends, room in ((by, sends), (to, hears))
    ]
    counted = max(int(hops.sum()) / everything, *(share.max() for share in shares))
    if free:
        intact = matrix_bound(moved.moving_counts(), network.d, network.wavelengths)
    else:
        intact = lower_bound(moved)
    return max(intact, int(hops.max()), int(np.ceil(counted - 1e-9)))


# Which packets have a path


class _Ways(NamedTuple):
    """What works, and which paths are allowed."""

    couplers: Bools
    relays: Bools
    straight: bool
    relayed: bool
    d: int
    g: int
    wavelengths: int
    key: np.uint64


def _hops_needed(demand: Demand, parts: WorkingParts, ways: _Ways) -> I64:
    """Return the least number of hops of each packet that moves, 0 if it has no path."""
    source, destination = plain(demand.source), plain(demand.destination)
    moves = (source != destination) & parts.sends[source] & parts.hears[destination]
    needed = _few_hops(source, destination, moves, ways)
    if ways.straight and ways.relayed:
        for packet in np.flatnonzero(moves & (needed == 0)):
            ends = demand.network.group(source[packet]), demand.network.group(destination[packet])
            needed[packet] = len(_long_way(ways, *map(int, ends)))
    return needed


@compiled
def _few_hops(source: I32, destination: I32, moves: Bools, ways: _Ways) -> I64:
    """Return 1 or 2 for every packet that has a path of this many hops, else 0."""
    needed = np.zeros(len(source), dtype=np.int64)
    for p in range(len(source)):
        a, b = source[p] // ways.d, destination[p] // ways.d
        if not moves[p]:
            continue
        if ways.straight and ways.couplers[b, a]:
            needed[p] = 1
        elif ways.relayed:
            for t in range(ways.g):
                if not (ways.couplers[t, a] and ways.couplers[b, t]):
                    continue
                for q in range(t * ways.d, (t + 1) * ways.d):
                    if ways.relays[q] and q != source[p] and q != destination[p]:
                        needed[p] = 2
                        break
                if needed[p]:
                    break
    return needed


def _long_way(ways: _Ways, a: int, b: int) -> list[int]:
    """Return the groups of a shortest path from group a, without a, to group b; empty if none.

    The groups between have a processor that can relay.
    """
    relaying: Bools = np.any(ways.relays.reshape(ways.g, ways.d), axis=1)
    before: dict[int, int] = {}
    layer = [a]
    while layer:
        reached: dict[int, int] = {}
        for group in layer:
            for to in np.flatnonzero(ways.couplers[:, group]).tolist():
                reached.setdefault(to, group)
        new = {to: group for to, group in reached.items() if to not in before}
        before |= new
        if b in new:
            path = [b]
            while (group := before[path[-1]]) != a:
                path.append(group)
            return path[::-1]
        layer = [group for group in new if relaying[group] and group != a]
    return []


# First fit


class _Room(NamedTuple):
    """In which slots what is in use: a bit per slot, 64 of them in a word."""

    sends: U64
    hears: U64
    couplers: U64
    """Whether all wavelengths of a coupler are in use."""
    load: U16
    """The wavelengths in use, if there are several."""


def _empty_room(network: Network, slots: int) -> _Room:
    words = -(-max(slots, 1) // _BITS)
    loads = network.couplers * words * _BITS if network.wavelengths > 1 else 0
    needed = 8 * words * (2 * network.n + network.couplers) + 2 * loads
    if needed > available_memory():
        raise SizeError(
            f"{network} with {slots:,} slots needs about {needed / 1e9:,.1f} GB to schedule around "
            f"dead parts; {available_memory() / 1e9:,.1f} GB are available here."
        )
    rows = network.n, network.n, network.couplers
    load = np.zeros((network.couplers if loads else 1, words * _BITS), dtype=np.uint16)
    sends, hears, couplers = (np.zeros((count, words), dtype=np.uint64) for count in rows)
    return _Room(sends, hears, couplers, load)


def _larger(room: _Room) -> _Room:
    """Return the same room with twice the slots."""
    return _Room._make(np.pad(array, ((0, 0), (0, array.shape[1]))) for array in room)


def _length(hops: Hops) -> int:
    return int(hops.slots.max(initial=-1)) + 1


def _kept(intact: Schedule, parts: WorkingParts, needed: I64) -> Hops:
    """Return the hops of the packets that are sent, and whose hops all work."""
    network, hops = intact.network, intact.hops()
    couplers = parts.couplers[network.group(hops.listeners), network.group(hops.senders)]
    works = parts.sends[hops.senders] & parts.hears[hops.listeners] & couplers
    whole: Bools = np.asarray(needed > 0)
    whole[hops.packets[~works]] = False
    return hops.at(whole[hops.packets])


def _first_fit(demand: Demand, ways: _Ways, needed: I64, intact_hops: Hops) -> Hops:
    """Give hops to all packets that are sent and not kept, those with the longest ways first."""
    waits = needed > 0
    waits[intact_hops.packets] = False
    room, columns = _empty_room(demand.network, _length(intact_hops)), [intact_hops]
    _occupy_all(intact_hops.slots, intact_hops.senders, intact_hops.listeners, ways, room)
    for packet in np.flatnonzero(waits & (needed > 2)):
        room, hops = _take_long_way(int(packet), demand, ways, room)
        columns.append(hops)
    packets = np.flatnonzero(waits & (needed <= 2))
    packets = packets[np.argsort(-needed[packets], kind="stable")]
    places = np.full((3, len(packets)), STRAIGHT, dtype=np.int32)
    source, destination = plain_each(demand.source[packets], demand.destination[packets])
    done = 0
    while (done := _fit(source, destination, ways, room, done, places)) < len(packets):
        room = _larger(room)
    return Hops.joined([*columns, Hops.of_paths(demand, plain(packets), *places)])


def _take_long_way(packet: int, demand: Demand, ways: _Ways, room: _Room) -> tuple[_Room, Hops]:
    """Give a packet three hops or more, each in the first slot that a relay of the group allows."""
    network = demand.network
    at, last = int(demand.source[packet]), int(demand.destination[packet])
    slot = -1
    rows = list[tuple[int, int, int, int, bool, bool]]()
    groups = _long_way(ways, int(network.group(at)), int(network.group(last)))
    for group in groups:
        end = group == groups[-1]
        first = group * network.d
        live = np.flatnonzero(ways.relays[first : first + network.d])[:_RELAYS] + first
        choices = [last] if end else live.tolist()
        while not (hop := _earliest(at, choices, slot + 1, ways, room)):
            room = _larger(room)
        slot, to = hop
        _occupy(slot, at, to, ways, room)
        rows.append((slot, at, to, packet, len(rows) > 0, not end))
        at = to
    columns = np.array(rows, dtype=np.int32).T
    return room, Hops(*columns[:4], *columns[4:].astype(np.bool_))


def _earliest(
    sender: int, listeners: list[int], begin: int, ways: _Ways, room: _Room
) -> tuple[int, int] | None:
    """Return the first slot in which one of the listeners can hear the sender, and the listener."""
    slots = [(_free(sender, to, begin, ways, room), to) for to in listeners]
    return min((choice for choice in slots if choice[0] >= 0), default=None)


@compiled
def _free(sender: Any, listener: Any, begin: int, ways: _Ways, room: _Room) -> int:
    """Return the first slot from ``begin`` on in which a message can be sent, -1 if none is."""
    coupler = listener // ways.d * ways.g + sender // ways.d
    for k in range(begin // _BITS, room.sends.shape[1]):
        free = ~(room.sends[sender, k] | room.hears[listener, k] | room.couplers[coupler, k])
        if k == begin // _BITS:
            free &= _FULL << np.uint64(begin % _BITS)
        if free:
            slot = k * _BITS
            while not free & _ONE:
                free >>= _ONE
                slot += 1
            return slot
    return -1


@compiled
def _occupy(slot: int, sender: Any, listener: Any, ways: _Ways, room: _Room) -> None:
    """Take a slot of a sender, a listener and a wavelength of the coupler between them."""
    k, bit = slot // _BITS, _ONE << np.uint64(slot % _BITS)
    coupler = listener // ways.d * ways.g + sender // ways.d
    room.sends[sender, k] |= bit
    room.hears[listener, k] |= bit
    if ways.wavelengths > 1:
        room.load[coupler, slot] += 1
        if room.load[coupler, slot] < ways.wavelengths:
            return
    room.couplers[coupler, k] |= bit


@compiled
def _occupy_all(slots: I32, senders: I32, listeners: I32, ways: _Ways, room: _Room) -> None:
    for k in range(len(slots)):
        _occupy(slots[k], senders[k], listeners[k], ways, room)


@compiled
def _fit(source: I32, destination: I32, ways: _Ways, room: _Room, done: int, places: I32) -> int:
    """Give relay, first and final slot to packet after packet, and return how many have them.

    Relays are tried from a random group and processor on, one of each group in turn.
    """
    for p in range(done, len(source)):
        best, relay, first = -1, np.int64(STRAIGHT), -1
        by, to = source[p], destination[p]
        a, b = by // ways.d, to // ways.d
        if ways.straight and ways.couplers[b, a]:
            best = first = _free(by, to, 0, ways, room)
        draw = word(ways.key, np.uint64(p))
        from_group = np.int64(((draw >> _HALF) * np.uint64(ways.g)) >> _HALF)
        from_index = np.int64(((draw & (_FULL >> _HALF)) * np.uint64(ways.d)) >> _HALF)
        tries = _RELAYS if ways.relayed and best != 0 else 0
        for k in range(ways.d * ways.g if tries else 0):
            if tries <= 0 and best >= 0:
                break
            t = (from_group + k) % ways.g
            q = t * ways.d + (from_index + k // ways.g) % ways.d
            if not (ways.couplers[t, a] and ways.couplers[b, t] and ways.relays[q]):
                continue
            if q in (by, to):
                continue
            tries -= 1
            slot1 = _free(by, q, 0, ways, room)
            if slot1 < 0 or (best >= 0 and slot1 + 1 >= best):
                continue
            slot2 = _free(q, to, slot1 + 1, ways, room)
            if slot2 >= 0 and (best < 0 or slot2 < best):
                best, relay, first = slot2, q, slot1
        if best < 0:
            return p
        if relay < 0:
            _occupy(best, by, to, ways, room)
        else:
            _occupy(first, by, relay, ways, room)
            _occupy(best, relay, to, ways, room)
        places[0, p], places[1, p], places[2, p] = relay, first, best
    return len(source)
