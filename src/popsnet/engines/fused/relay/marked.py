"""Marked stages, Q and X, for all pending packets at once, on one thread: few are left then.

Marks, acks and deliveries of all groups meet, so there are no blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.arrays import I64, U8, U16, U32, U64
from popsnet.engines.fused.relay.bijections import group_of, keep_ahead, place_of, relay_of
from popsnet.engines.fused.relay.layout import (
    Later,
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


class Echo(NamedTuple):
    """Acks that relays repeat in the first slot of the next stage, if it is marked, too."""

    relays: U32  # the groups of the relays
    packets: U32
    sources: U32  # those that missed their ack
    answers: I64  # the row of the ack that each of them listens to, or -1


class Now(NamedTuple):
    """Sets of processors: sources that are pending, and destinations that wait."""

    pending: U64
    waiting: U64


class Held(NamedTuple):
    """Packets that relays deliver in a marked stage: accepted ones, then those of look-ahead."""

    relays: U32
    sources: U32
    targets: U32
    turns: I64  # the delivery slot of each, or -1 if it is not sent


@compiled
def marked(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, rows: U64, copies: int,
    later: Later, echo: Echo, pending: int, tally: RelayTally,
) -> Echo:  # fmt: skip
    """Execute a marked stage, and return the acks to repeat."""
    sources, targets = np.empty(pending, dtype=np.uint32), np.empty(pending, dtype=np.uint32)
    gather(layout, packets, work, sources, targets)
    now = Now(processors(layout), processors(layout))
    for q in range(pending):
        put_in(now.pending, sources[q])
        if is_set(layout, packets.undelivered, sources[q]):
            put_in(now.waiting, targets[q])
    places = np.empty((pending, copies), dtype=np.uint32)
    marks = np.full((pending, copies), _NONE, dtype=np.uint32)
    for q in range(pending):
        for u in range(copies):
            places[q, u] = place_of(layout, rows, u, targets[q])
            if is_in(now.waiting, sources[q]):
                marks[q, u] = place_of(layout, rows, u, sources[q])
    ahead, acked = take_ahead(layout, packets, work, rows, copies), tally.acked
    accepted = attempt(layout, packets, sources, targets, now, places, marks, later, echo, tally)
    held = hold(layout, sources, targets, places, accepted, ahead)
    missed = deliver(layout, packets, rows, sources, places, marks, now, held, acked, tally)
    return acks_to_repeat(layout, now, sources, places, marks, accepted, missed)


@compiled
def processors(layout: RelayLayout) -> U64:
    """Return an empty set of processors, or of pairs of groups."""
    return np.zeros((layout.d * layout.g >> 6) + 1, dtype=np.uint64)


@compiled
def take_ahead(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, rows: U64, copies: int
) -> Held:
    """Return what relays keep from the attempts before this stage, and forget it."""
    count, words, size = 0, layout.blocks * layout.words, layout.rows * layout.d
    for u in range(copies):
        plane = packets.ahead[u * words : (u + 1) * words]
        for block in range(layout.blocks):
            count += load(layout, packets, plane, work, block)
    relays, turns = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.int64)
    sources, targets = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.uint32)
    filled = 0
    for u in range(copies):
        plane = packets.ahead[u * words : (u + 1) * words]
        for block in range(layout.blocks if count > 0 else 0):
            m = load(layout, packets, plane, work, block)
            for q in range(m):
                place = int(place_of(layout, rows, u, work.targets[q]))
                sources[filled] = np.uint32(block * size) + work.numbers[q]
                targets[filled], relays[filled] = work.targets[q], place % layout.g
                turns[filled] = u * layout.k + place // layout.g
                filled += 1
        plane[:] = _0
    return Held(relays, sources, targets, turns)


@compiled
def attempt(
    layout: RelayLayout, packets: RelayPackets, sources: U32, targets: U32, now: Now,
    places: U32, marks: U32, later: Later, echo: Echo, tally: RelayTally,
) -> U16:  # fmt: skip
    """Execute the first slot, and return at which of its places each packet is accepted."""
    d, g, copies = layout.d, layout.g, places.shape[1]
    couplers = np.zeros(g * g // 32 + 1, dtype=np.uint64)
    senders, deaf = processors(layout), processors(layout)
    for i in range(len(echo.sources)):
        put_in(deaf, echo.sources[i])
    groups = np.empty(2 * copies + later.copies, dtype=np.int64)
    for q in range(len(sources)):
        put_in(senders, sources[q])
        a = group_of(layout, sources[q])
        for i in range(spread(layout, sources[q], targets[q], places[q], marks[q], later, groups)):
            tally.collisions += put(couplers, np.uint64(groups[i] * g + a))
            tally.destroyed += 1
    for q in range(len(sources)):
        j = targets[q]
        if is_in(now.waiting, j) and not is_in(now.pending, j):
            put_in(senders, j)
            tally.messages += 1
            for i in range(collect(layout, places[q], groups, 0)):
                tally.collisions += put(couplers, np.uint64(groups[i] * g + group_of(layout, j)))
                tally.destroyed += 1
    sent = repeat_acks(layout, echo, senders, couplers, tally)
    accepted = np.zeros(len(sources), dtype=np.uint16)
    for q in range(len(sources)):
        a = group_of(layout, sources[q])
        for i in range(spread(layout, sources[q], targets[q], places[q], marks[q], later, groups)):
            group = groups[i]
            if not alone(couplers, np.uint64(group * g + a)):
                continue
            tally.destroyed -= 1
            if is_in(deaf, np.uint32(group * d + a)):
                continue
            u = first_at(layout, places[q], group)
            if u < copies and first_at(layout, marks[q], group) == copies:
                accepted[q] |= np.uint16(1) << np.uint16(u)
            elif later.copies > 0 and group_of(layout, targets[q]) == a:
                keep_ahead(layout, packets, later, sources[q], targets[q], group)
        j = targets[q]
        if is_in(now.waiting, j) and not is_in(now.pending, j):
            for i in range(collect(layout, places[q], groups, 0)):
                tally.destroyed -= int(
                    alone(couplers, np.uint64(groups[i] * g + group_of(layout, j)))
                )
    tally.messages += len(sources)
    hear_acks(layout, packets, now, echo, sent, couplers, tally)
    return accepted


@compiled
def spread(
    layout: RelayLayout, source: np.uint32, target: np.uint32, places: U32, marks: U32,
    later: Later, groups: I64,
) -> int:  # fmt: skip
    """Write the groups to which a source sends, each once, and return how many."""
    count = collect(layout, places, groups, 0)
    if len(marks) > 0 and marks[0] != _NONE:
        count = collect(layout, marks, groups, count)
    if group_of(layout, target) == group_of(layout, source):
        for u in range(later.copies):
            relay = relay_of(layout, place_of(layout, later.rows, u, target))
            count = add_new(groups, count, relay)
    return count


@compiled
def collect(layout: RelayLayout, places: U32, groups: I64, count: int) -> int:
    """Add the relay groups of some places, each once."""
    for u in range(len(places)):
        count = add_new(groups, count, relay_of(layout, places[u]))
    return count


@compiled(inline=True)
def add_new(groups: I64, count: int, group: int) -> int:
    """Add a group, if it is new, and return how many there are."""
    new = True
    for i in range(count):
        new &= bool(groups[i] != group)
    groups[count if new else 0] = group if new else groups[0]
    return count + int(new)


@compiled(inline=True)
def first_at(layout: RelayLayout, places: U32, group: int) -> int:
    """Return the first of some places that is in a relay group, or their number if none is."""
    at = len(places)
    for u in range(len(places) - 1, -1, -1):
        if places[u] != _NONE and relay_of(layout, places[u]) == group:
            at = u
    return at


@compiled
def repeat_acks(
    layout: RelayLayout, echo: Echo, senders: U64, couplers: U64, tally: RelayTally
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
    layout: RelayLayout, packets: RelayPackets, now: Now, echo: Echo, sent: U8, couplers: U64,
    tally: RelayTally,
) -> None:  # fmt: skip
    """Let sources hear acks that are repeated."""
    for e in range(len(sent)):
        relay, group = int(echo.relays[e]), group_of(layout, echo.packets[e])
        heard = alone(couplers, np.uint64(group * layout.g + relay))
        sent[e] &= np.uint8(heard)
        tally.destroyed -= int(sent[e])
    for i in range(len(echo.sources)):
        if echo.answers[i] >= 0 and sent[echo.answers[i]] != 0:
            acknowledge(layout, packets, now, echo.sources[i], tally)


@compiled(inline=True)
def acknowledge(
    layout: RelayLayout, packets: RelayPackets, now: Now, source: np.uint32, tally: RelayTally
) -> None:
    """Let a source know that its packet is delivered."""
    if is_in(now.pending, source):
        remove_from(now.pending, source)
        clear(layout, packets.pending, source)
        tally.acked += 1


@compiled
def hold(
    layout: RelayLayout, sources: U32, targets: U32, places: U32, accepted: U16, ahead: Held
) -> Held:
    """Return what relays deliver, accepted packets first."""
    count = len(ahead.relays)
    for q in range(len(sources)):
        for u in range(places.shape[1]):
            count += int((accepted[q] >> np.uint16(u)) & np.uint16(1))
    relays, turns = np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.int64)
    held = Held(relays, np.empty_like(relays), np.empty_like(relays), turns)
    filled = 0
    for q in range(len(sources)):
        for u in range(places.shape[1]):
            if (accepted[q] >> np.uint16(u)) & np.uint16(1):
                place = int(places[q, u])
                held.relays[filled] = relay_of(layout, places[q, u])
                held.sources[filled], held.targets[filled] = sources[q], targets[q]
                held.turns[filled] = u * layout.k + place // layout.g
                filled += 1
    busy = processors(layout)
    for turn in range(places.shape[1] * layout.k if len(ahead.relays) > 0 else 0):
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
def relay_number(layout: RelayLayout, held: Held, e: int) -> np.uint32:
    """Return the number of the relay (T, a) among g²."""
    return np.uint32(int(held.relays[e]) * layout.g + group_of(layout, held.sources[e]))


@compiled
def deliver(
    layout: RelayLayout, packets: RelayPackets, rows: U64, sources: U32, places: U32, marks: U32,
    now: Now, held: Held, acked: int, tally: RelayTally,
) -> U32:  # fmt: skip
    """Execute the delivery slots until no source is pending, and return where acks are missed."""
    g, k, copies, turn = layout.g, layout.k, places.shape[1], 0
    missed = np.full(len(sources), _NONE, dtype=np.uint32)
    couplers = np.zeros(g * g // 32 + 1, dtype=np.uint64)
    arrives = np.zeros(len(held.relays), dtype=np.bool_)
    returns = np.zeros(len(held.relays), dtype=np.bool_)
    while turn < copies * k and tally.acked - acked < len(sources):
        u, which = turn // k, turn % k
        couplers[:] = _0
        for e in range(len(held.relays)):
            if held.turns[e] == turn:
                send(layout, held, e, couplers, tally)
        for e in range(len(held.relays)):
            if held.turns[e] == turn:
                hears = hears_relay(layout, rows, u, which, now, held, e)
                arrives[e], returns[e] = hear(layout, now, held, e, hears, couplers, tally)
        for q in range(len(sources)):
            own, place = marks[q, u], int(places[q, u])
            misses = missed[q] == _NONE and own != _NONE
            if k > 1:
                misses &= place // g == which == int(own) // g
            misses = misses and is_in(now.waiting, sources[q])
            if misses and is_in(now.pending, sources[q]):
                missed[q] = relay_of(layout, places[q, u])
        turn += 1
        for e in range(len(held.relays)):
            if held.turns[e] == turn - 1 and arrives[e]:
                take(layout, packets, now, held, e, turn, tally)
            if held.turns[e] == turn - 1 and returns[e]:
                acknowledge(layout, packets, now, held.sources[e], tally)
    tally.ended = turn + 1
    return missed


@compiled(inline=True)
def send(layout: RelayLayout, held: Held, e: int, couplers: U64, tally: RelayTally) -> None:
    """Let a relay send to the groups of the destination and of the source, which may be one."""
    relay, g = int(held.relays[e]), layout.g
    b, a = group_of(layout, held.targets[e]), group_of(layout, held.sources[e])
    tally.messages += 1
    tally.collisions += put(couplers, np.uint64(b * g + relay))
    tally.destroyed += 1
    if a != b:
        tally.collisions += put(couplers, np.uint64(a * g + relay))
        tally.destroyed += 1


@compiled
def hears_relay(
    layout: RelayLayout, rows: U64, u: int, which: int, now: Now, held: Held, e: int
) -> bool:
    """Return whether a source is pending and listens to the relay of its packet."""
    source = held.sources[e]
    if not is_in(now.pending, source):
        return False
    if not is_in(now.waiting, source):
        return True
    own = int(place_of(layout, rows, u, source))  # it listens as a destination in its class
    return own // layout.g != which or own % layout.g == int(held.relays[e])


@compiled(inline=True)
def hear(
    layout: RelayLayout, now: Now, held: Held, e: int, hears: bool, couplers: U64,
    tally: RelayTally,
) -> tuple[bool, bool]:  # fmt: skip
    """Return whether a packet arrives, and whether its source hears it."""
    relay, g = int(held.relays[e]), layout.g
    b, a = group_of(layout, held.targets[e]), group_of(layout, held.sources[e])
    there = alone(couplers, np.uint64(b * g + relay))
    here = alone(couplers, np.uint64(a * g + relay))
    tally.destroyed -= int(there) + (int(here) if a != b else 0)
    return there and is_in(now.waiting, held.targets[e]), here and hears


@compiled(inline=True)
def take(
    layout: RelayLayout, packets: RelayPackets, now: Now, held: Held, e: int, slots: int,
    tally: RelayTally,
) -> None:  # fmt: skip
    """Let a destination that waits take its packet, after this many delivery slots."""
    remove_from(now.waiting, held.targets[e])
    clear(layout, packets.undelivered, held.sources[e])
    tally.delivered += 1
    tally.last_slot = slots + 1


@compiled
def acks_to_repeat(
    layout: RelayLayout, now: Now, sources: U32, places: U32, marks: U32,
    accepted: U16, missed: U32,
) -> Echo:  # fmt: skip
    """Return the acks of sources that waited, and the sources that missed theirs."""
    copies, count, listeners = places.shape[1], 0, 0
    for q in range(len(sources)):
        if marks[q, 0] != _NONE:
            for u in range(copies):
                count += int((accepted[q] >> np.uint16(u)) & np.uint16(1))
        listeners += int(missed[q] != _NONE and is_in(now.pending, sources[q]))
    echo = Echo(
        np.empty(count, dtype=np.uint32), np.empty(count, dtype=np.uint32),
        np.empty(listeners, dtype=np.uint32), np.full(listeners, -1, dtype=np.int64),
    )  # fmt: skip
    count, listeners = 0, 0
    for q in range(len(sources)):
        answer = -1
        for u in range(copies if marks[q, 0] != _NONE else 0):
            if (accepted[q] >> np.uint16(u)) & np.uint16(1):
                echo.relays[count] = relay_of(layout, places[q, u])
                echo.packets[count] = sources[q]
                answer = count if echo.relays[count] == missed[q] else answer
                count += 1
        if missed[q] != _NONE and is_in(now.pending, sources[q]):
            echo.sources[listeners], echo.answers[listeners] = sources[q], answer
            listeners += 1
    return echo
