"""Marked stages, Q and X, for all pending packets at once, on one thread: few are left then.

Marks, acks and deliveries of all groups meet, so there are no blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.arrays import I64, U8, U16, U32, U64
from popsnet.engines.fused.bits import ones
from popsnet.engines.fused.relay.bijections import group_of, keep_ahead, place_of, relay_of
from popsnet.engines.fused.relay.layout import (
    Bijections,
    RelayLayout,
    RelayPackets,
    RelayTally,
    RelayWorkspace,
)
from popsnet.engines.fused.relay.pending import (
    clear,
    gather,
    is_in,
    is_set,
    load,
    put_in,
    remove_from,
)
from popsnet.engines.fused.relay.shower import alone, put

_0 = np.uint64(0)
_NONE = np.uint32(2**32 - 1)


class RelayEcho(NamedTuple):
    """Acks that relays repeat in the first slot of the next stage, if it is marked, too."""

    relays: U32  # the groups of the relays
    packets: U32
    sources: U32  # those that missed their ack
    answers: I64  # the row of the ack that each of them listens to, or -1


class WaitingSets(NamedTuple):
    """Sets of processors: sources that are pending, and destinations that wait."""

    pending: U64
    waiting: U64


class RelayTries(NamedTuple):
    """The pending packets, and their places and marks: a row each, a column per bijection."""

    sources: U32
    targets: U32
    relays: U32  # their relay groups
    turns: U32  # the delivery slots at their places
    marks: U32  # the relay groups of their sources as destinations, if those wait, or none
    own_turns: U32


class RelayHoldings(NamedTuple):
    """Packets that relays deliver in a marked stage: accepted ones, then those of look-ahead."""

    relays: U32
    sources: U32
    targets: U32
    turns: I64  # the delivery slot of each, or -1 if it is not sent


@compiled
def marked(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, bijections: Bijections,
    following: Bijections, echo: RelayEcho, pending: int, tally: RelayTally,
) -> RelayEcho:  # fmt: skip
    """Execute a marked stage, and return the acks to repeat."""
    rows, copies = bijections
    sources, targets = np.empty(pending, dtype=np.uint32), np.empty(pending, dtype=np.uint32)
    gather(layout, packets, work, sources, targets)
    trying, waiting, undelivered = processors(layout), processors(layout), packets.undelivered
    for q in range(pending):
        put_in(trying, sources[q])
        if is_set(layout, undelivered, sources[q]):
            put_in(waiting, targets[q])
    relays = np.empty((pending, copies), dtype=np.uint32)
    turns, own_turns = np.empty_like(relays), np.empty_like(relays)
    marks = np.full((pending, copies), _NONE, dtype=np.uint32)
    for q in range(pending):
        waits = is_in(waiting, sources[q])
        for u in range(copies):
            place = place_of(layout, rows, u, targets[q])
            relay = relay_of(layout, place)
            relays[q, u], turns[q, u] = relay, turn_of(layout, u, place, relay)
            if waits:
                place = place_of(layout, rows, u, sources[q])
                relay = relay_of(layout, place)
                marks[q, u], own_turns[q, u] = relay, turn_of(layout, u, place, relay)
    sets = WaitingSets(trying, waiting)
    tries = RelayTries(sources, targets, relays, turns, marks, own_turns)
    ahead, acked = take_ahead(layout, packets, work, rows, copies), tally.acked
    accepted = attempt(layout, packets, tries, sets, following, echo, tally)
    held = hold(layout, tries, accepted, ahead)
    missed = deliver(layout, packets, rows, tries, sets, held, acked, tally)
    return acks_to_repeat(tries, sets, accepted, missed)


@compiled(inline=True)
def turn_of(layout: RelayLayout, u: int, place: np.uint32, relay: int) -> int:
    """Return the delivery slot at a place: by bijection, then by class."""
    return u if layout.k == 1 else u * layout.k + (int(place) - relay) // layout.g


@compiled
def processors(layout: RelayLayout) -> U64:
    """Return an empty set of processors, or of pairs of groups."""
    return np.zeros((layout.d * layout.g >> 6) + 1, dtype=np.uint64)


@compiled
def take_ahead(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, rows: U64, copies: int
) -> RelayHoldings:
    """Return what relays keep from the attempts before this stage, and forget it."""
    words, size = layout.blocks * layout.words, layout.rows * layout.d
    count = int(np.int64(0))  # no constant: one type
    for w in range(copies * words):
        count += int(np.int64(ones(packets.ahead[w])))
    held, filled = room_for(count), 0
    for u in range(copies if count > 0 else 0):
        plane = packets.ahead[u * words : (u + 1) * words]
        for block in range(layout.blocks):
            for q in range(load(layout, packets, plane, work, block)):
                place = place_of(layout, rows, u, work.targets[q])
                relay = relay_of(layout, place)
                held.sources[filled] = np.uint32(block * size) + work.numbers[q]
                held.targets[filled], held.relays[filled] = work.targets[q], relay
                held.turns[filled] = turn_of(layout, u, place, relay)
                filled += 1
        plane[:] = _0
    return held


@compiled
def room_for(count: int) -> RelayHoldings:
    """Return room for this many packets."""
    relays, turns = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.int64)
    return RelayHoldings(relays, np.empty_like(relays), np.empty_like(relays), turns)


@compiled
def attempt(
    layout: RelayLayout, packets: RelayPackets, tries: RelayTries, sets: WaitingSets,
    following: Bijections, echo: RelayEcho, tally: RelayTally,
) -> U16:  # fmt: skip
    """Execute the first slot, and return at which of its places each packet is accepted."""
    sources, targets, relays, _, own_marks, _ = tries  # once: reference counting takes time
    pending, waiting = sets
    d, g, count, copies = layout.d, layout.g, len(sources), relays.shape[1]
    couplers = np.zeros(g * g // 32 + 1, dtype=np.uint64)
    senders, deaf = processors(layout), processors(layout)
    for i in range(len(echo.sources)):
        put_in(deaf, echo.sources[i])
    groups = np.empty(count * 2 * copies + own_packets(layout, tries, following), dtype=np.uint32)
    ends = np.empty(count, dtype=np.int64)
    filled = 0
    for q in range(count):
        start, a = filled, group_of(layout, sources[q])
        put_in(senders, sources[q])
        for u in range(copies):
            filled = add_new(groups, start, filled, relays[q, u])
        for u in range(copies if own_marks[q, 0] != _NONE else 0):
            filled = add_new(groups, start, filled, own_marks[q, u])
        for u in range(following.copies if group_of(layout, targets[q]) == a else 0):
            relay = relay_of(layout, place_of(layout, following.rows, u, targets[q]))
            filled = add_new(groups, start, filled, np.uint32(relay))
        ends[q] = filled
        for i in range(start, filled):
            tally.collisions += put(couplers, np.uint64(int(groups[i]) * g + a))
    tally.messages += count
    tally.destroyed += filled
    own, marks = np.empty(copies, dtype=np.uint32), np.empty(count, dtype=np.bool_)
    for q in range(count):  # destinations that wait and are not pending
        j = targets[q]
        marks[q] = is_in(waiting, j) and not is_in(pending, j)
        if marks[q]:
            put_in(senders, j)
            tally.messages += 1
            for i in range(collect(relays, q, own)):
                at = np.uint64(int(own[i]) * g + group_of(layout, j))
                tally.collisions += put(couplers, at)
                tally.destroyed += 1
    sent = repeat_acks(layout, echo, senders, couplers, tally)
    accepted, start = np.zeros(count, dtype=np.uint16), 0
    for q in range(count):
        a, j = group_of(layout, sources[q]), targets[q]
        for i in range(start, ends[q]):
            if not alone(couplers, np.uint64(int(groups[i]) * g + a)):
                continue
            tally.destroyed -= 1
            if len(echo.sources) > 0 and is_in(deaf, np.uint32(int(groups[i]) * d + a)):
                continue
            u = first_at(relays, q, groups[i])
            if u < copies and first_at(own_marks, q, groups[i]) == copies:
                accepted[q] |= np.uint16(1) << np.uint16(u)
            elif following.copies > 0 and group_of(layout, j) == a:
                keep_ahead(layout, packets, following, sources[q], j, int(np.int64(groups[i])))
        start = ends[q]
        if marks[q]:
            for i in range(collect(relays, q, own)):
                at = np.uint64(int(own[i]) * g + group_of(layout, j))
                tally.destroyed -= int(alone(couplers, at))
    hear_acks(layout, packets, sets, echo, sent, couplers, tally)
    return accepted


@compiled
def own_packets(layout: RelayLayout, tries: RelayTries, following: Bijections) -> int:
    """Return the copies for the next stage, at most: of packets for their own group."""
    count = 0
    for q in range(len(tries.sources) if following.copies > 0 else 0):
        own = group_of(layout, tries.sources[q]) == group_of(layout, tries.targets[q])
        count += following.copies if own else 0
    return count


@compiled(inline=True)
def collect(relays: U32, q: int, groups: U32) -> int:
    """Write the relay groups of a destination, each once, and return how many."""
    count = 0
    for u in range(len(groups)):
        count = add_new(groups, 0, count, relays[q, u])
    return count


@compiled(inline=True)
def add_new(groups: U32, start: int, end: int, group: np.uint32) -> int:
    """Add a group to those from ``start`` on, if it is new, and return where they end."""
    new = True
    for i in range(start, end):
        new &= bool(groups[i] != group)
    if new:
        groups[end] = group
    return end + int(new)


@compiled(inline=True)
def first_at(relays: U32, q: int, group: np.uint32) -> int:
    """Return the first place of a packet that is in a relay group, or their number if none is."""
    places: int = relays.shape[1]
    at = places
    for u in range(places - 1, -1, -1):
        at = u if relays[q, u] == group else at
    return at


@compiled
def repeat_acks(
    layout: RelayLayout, echo: RelayEcho, senders: U64, couplers: U64, tally: RelayTally
) -> U8:
    """Let relays that send nothing else repeat their acks, and return which do."""
    sent = np.zeros(len(echo.relays), dtype=np.uint8)
    for e in range(len(echo.relays)):
        relay, group = int(echo.relays[e]), group_of(layout, echo.packets[e])
        if not is_in(senders, np.uint32(relay * layout.d + group)):
            sent[e] = 1
            tally.messages += 1
            tally.destroyed += 1
            tally.collisions += put(couplers, np.uint64(group * layout.g + relay))
    return sent


@compiled
def hear_acks(
    layout: RelayLayout, packets: RelayPackets, sets: WaitingSets, echo: RelayEcho, sent: U8,
    couplers: U64, tally: RelayTally,
) -> None:  # fmt: skip
    """Let sources hear acks that are repeated."""
    for e in range(len(sent)):
        relay, group = int(echo.relays[e]), group_of(layout, echo.packets[e])
        heard = alone(couplers, np.uint64(group * layout.g + relay))
        sent[e] &= np.uint8(heard)
        tally.destroyed -= int(sent[e])
    for i in range(len(echo.sources)):
        if echo.answers[i] >= 0 and sent[echo.answers[i]] != 0:
            acknowledge(layout, packets, sets.pending, echo.sources[i], tally)


@compiled(inline=True)
def acknowledge(
    layout: RelayLayout, packets: RelayPackets, pending: U64, source: np.uint32, tally: RelayTally
) -> None:
    """Let a source know that its packet is delivered."""
    if is_in(pending, source):
        remove_from(pending, source)
        clear(layout, packets.pending, source)
        tally.acked += 1


@compiled
def hold(
    layout: RelayLayout, tries: RelayTries, accepted: U16, ahead: RelayHoldings
) -> RelayHoldings:
    """Return what relays deliver, accepted packets first."""
    count, copies = len(ahead.relays), tries.relays.shape[1]
    for q in range(len(accepted)):
        for u in range(copies):
            count += int((accepted[q] >> np.uint16(u)) & np.uint16(1))
    held, filled = room_for(count), 0
    for q in range(len(accepted)):
        for u in range(copies if accepted[q] > 0 else 0):
            if (accepted[q] >> np.uint16(u)) & np.uint16(1):
                held.relays[filled], held.turns[filled] = tries.relays[q, u], tries.turns[q, u]
                held.sources[filled], held.targets[filled] = tries.sources[q], tries.targets[q]
                filled += 1
    busy = processors(layout)
    for turn in range(copies * layout.k if len(ahead.relays) > 0 else 0):
        for e in range(filled):
            if held.turns[e] == turn:
                put_in(busy, relay_number(layout, held, e))
        for i in range(len(ahead.relays)):
            if ahead.turns[i] == turn and is_in(busy, relay_number(layout, ahead, i)):
                ahead.turns[i] = -1  # its relay sends an accepted packet
        busy[:] = _0
    for i in range(len(ahead.relays)):
        held.relays[filled + i], held.turns[filled + i] = ahead.relays[i], ahead.turns[i]
        held.sources[filled + i], held.targets[filled + i] = ahead.sources[i], ahead.targets[i]
    return held


@compiled(inline=True)
def relay_number(layout: RelayLayout, held: RelayHoldings, e: int) -> np.uint32:
    """Return the number of the relay (T, a) among g²."""
    return np.uint32(int(held.relays[e]) * layout.g + group_of(layout, held.sources[e]))


@compiled
def deliver(
    layout: RelayLayout, packets: RelayPackets, rows: U64, tries: RelayTries, sets: WaitingSets,
    held: RelayHoldings, acked: int, tally: RelayTally,
) -> U32:  # fmt: skip
    """Execute the delivery slots until no source is pending, and return where acks are missed."""
    g, k, copies, count, ended = layout.g, layout.k, tries.relays.shape[1], len(tries.sources), 0
    pending, waiting = sets  # once, because reference counting takes time
    relays, sources, targets, turns = held
    missed = np.full(count, _NONE, dtype=np.uint32)
    couplers = np.zeros(g * g // 32 + 1, dtype=np.uint64)
    arrives = np.zeros(len(relays), dtype=np.bool_)
    returns = np.zeros(len(relays), dtype=np.bool_)
    for turn in range(copies * k):
        if tally.acked - acked >= count:
            break
        if turn > 0:
            couplers[:] = _0
        for e in range(len(relays)):
            if turns[e] == turn:  # to the groups of the destination and of the source
                relay = np.uint64(relays[e])
                b, a = group_of(layout, targets[e]), group_of(layout, sources[e])
                tally.messages += 1
                tally.destroyed += 1 + int(a != b)
                tally.collisions += put(couplers, np.uint64(b * g) + relay)
                if a != b:
                    tally.collisions += put(couplers, np.uint64(a * g) + relay)
        for e in range(len(relays)):
            if turns[e] == turn:
                relay, source = np.uint64(relays[e]), sources[e]
                b, a = group_of(layout, targets[e]), group_of(layout, source)
                at_target = alone(couplers, np.uint64(b * g) + relay)
                at_source = alone(couplers, np.uint64(a * g) + relay)
                tally.destroyed -= int(at_target) + int(at_source and a != b)
                arrives[e] = at_target and is_in(waiting, targets[e])
                returns[e] = at_source and is_in(pending, source)
                if returns[e] and is_in(waiting, source):
                    returns[e] = listens_to(layout, rows, turn, source, relays[e])
        note_missed(tries, sets, turn // k, turn, missed)
        ended = turn + 1
        for e in range(len(relays)):
            if turns[e] == turn and arrives[e]:
                remove_from(waiting, targets[e])
                clear(layout, packets.undelivered, sources[e])
                tally.delivered += 1
                tally.last_slot = ended + 1
            if turns[e] == turn and returns[e]:
                acknowledge(layout, packets, pending, sources[e], tally)
    tally.ended = ended + 1
    return missed


@compiled
def listens_to(
    layout: RelayLayout, rows: U64, turn: int, source: np.uint32, relay: np.uint32
) -> bool:
    """Return whether a source that waits, as a destination, listens to the relay of its packet."""
    u = turn // layout.k
    place = place_of(layout, rows, u, source)
    own = relay_of(layout, place)
    return turn_of(layout, u, place, own) != turn or own == int(relay)


@compiled
def note_missed(tries: RelayTries, sets: WaitingSets, u: int, turn: int, missed: U32) -> None:
    """Note which sources listen as destinations in a slot of their packet, for the first time."""
    pending, waiting = sets
    sources, _, relays, turns, marks, own_turns = tries
    for q in range(len(sources)):
        if missed[q] != _NONE or marks[q, u] == _NONE:
            continue
        both = turns[q, u] == turn and own_turns[q, u] == turn
        if both and is_in(waiting, sources[q]) and is_in(pending, sources[q]):
            missed[q] = relays[q, u]


@compiled
def acks_to_repeat(tries: RelayTries, sets: WaitingSets, accepted: U16, missed: U32) -> RelayEcho:
    """Return the acks of sources that waited, and the sources that missed theirs."""
    copies, count, listeners = tries.relays.shape[1], 0, 0
    for q in range(len(accepted)):
        if tries.marks[q, 0] != _NONE:
            for u in range(copies):
                count += int((accepted[q] >> np.uint16(u)) & np.uint16(1))
            listeners += int(missed[q] != _NONE and is_in(sets.pending, tries.sources[q]))
    echo = RelayEcho(
        np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.uint32),
        np.empty(listeners, dtype=np.uint32), np.full(listeners, -1, dtype=np.int64),
    )  # fmt: skip
    count, listeners = 0, 0
    for q in range(len(accepted)):
        if tries.marks[q, 0] == _NONE:
            continue
        answer = -1
        for u in range(copies):
            if (accepted[q] >> np.uint16(u)) & np.uint16(1):
                echo.relays[count], echo.packets[count] = tries.relays[q, u], tries.sources[q]
                answer = count if tries.relays[q, u] == missed[q] else answer
                count += 1
        if missed[q] != _NONE and is_in(sets.pending, tries.sources[q]):
            echo.sources[listeners], echo.answers[listeners] = tries.sources[q], answer
            listeners += 1
    return echo
