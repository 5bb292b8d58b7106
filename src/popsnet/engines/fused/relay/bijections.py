"""Public bijections for compiled stages: the places of ``bijection.place``, many at a time.

The rounds are done one after another for many values, in vectors. Values have 32 bits: bits that a
round loses above are masked anyway. Multipliers are kept by round, g words for each, and after
them the shifts of the places of each group.
"""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import word
from popsnet.engines.fused.arrays import U32, U64
from popsnet.engines.fused.bits import divide
from popsnet.engines.fused.relay.layout import (
    Bijections,
    RelayLayout,
    RelayPackets,
    RelayPlaces,
    RelayWorkspace,
)
from popsnet.engines.fused.relay.pending import set_bit
from popsnet.programs.routers.relay.bijection import FEWEST_BITS, ROUNDS

WORDS = ROUNDS + 1
"""Of a group in the rows of a bijection."""

_1, _32 = np.uint64(1), np.uint64(32)
_CHUNK = 1024
"""Values whose rounds are done together, so that they stay in the nearest cache."""


@compiled
def make_rows(key: np.uint64, turn: U32, rows: U64) -> None:
    """Write the multipliers of a public bijection, ``bijection.multipliers``, by round."""
    g = len(rows) // WORDS
    for b in range(g):
        for r in range(ROUNDS):
            rows[r * g + b] = word(key, np.uint64(b * ROUNDS + r)) | _1
        rows[ROUNDS * g + b] = turn[b]


@compiled
def make_turn(key: np.uint64, turn: U32, rows: U64) -> None:
    """Turn every group by its place under one bijection of all groups."""
    g, all_groups, group = len(turn), int(np.int64(1)), int(np.int64(0))  # no constants: one type
    for r in range(ROUNDS):
        rows[r] = word(key, np.uint64(r)) | _1
    for b in range(g):
        place = first_place(rows, all_groups, group, np.uint32(b), g)
        turn[b] = move_on(turn[b], np.uint64(walk_on(rows, all_groups, group, place, g)), g)


@compiled
def tabulate(layout: RelayLayout, rows: U64, size: int, table: U32) -> None:
    """Write the places of all destinations by group, so that multipliers are constants."""
    d, g, mask, half = layout.d, layout.g, np.uint32(mask_of(size)), np.uint32(half_of(size))
    for b in range(g):
        places = table[b * d : (b + 1) * d]
        for k in range(d):
            places[k] = k
        for r in range(ROUNDS):
            by, plus = np.uint32(rows[r * g + b]), np.uint32(rows[r * g + b] >> _32)
            for k in range(d):
                x = np.uint32(np.uint32(places[k] * by) + plus) & mask
                places[k] = x ^ (x >> half)
        if size <= mask:
            for k in range(d):
                places[k] = walk_on(rows, g, b, places[k], size)
        for k in range(d):
            places[k] = move_on(places[k], rows[ROUNDS * g + b], size)


@compiled
def find_places(
    layout: RelayLayout, places: RelayPlaces, size: int, m: int, work: RelayWorkspace
) -> None:
    """Find the places of destinations in the table, or compute them if it is empty."""
    rows, table = places
    if len(table) > 0:
        for k in range(m):
            work.places[k] = table[work.targets[k]]
        return
    for low in range(0, m, _CHUNK):
        high = min(low + _CHUNK, m)
        go_round(layout, rows, size, work.targets[low:high], work.cells, work.places[low:high])
    if size <= mask_of(size):
        for k in range(m):
            b = group_of(layout, work.targets[k])
            work.places[k] = walk_on(rows, layout.g, b, work.places[k], size)
    for k in range(m):
        by = rows[ROUNDS * layout.g + group_of(layout, work.targets[k])]
        work.places[k] = move_on(work.places[k], by, size)


@compiled
def go_round(
    layout: RelayLayout, rows: U64, size: int, targets: U32, groups: U32, places: U32
) -> None:
    """Apply all rounds once."""
    d, g, mask, half = np.uint64(layout.d), layout.g, np.uint32(mask_of(size)), half_of(size)
    for k in range(len(targets)):
        group = divide(np.uint64(targets[k]), layout.by_d)
        groups[k] = group
        places[k] = np.uint64(targets[k]) - group * d
    for r in range(ROUNDS):
        some = rows[r * g : (r + 1) * g]
        for k in range(len(targets)):
            row = some[groups[k]]
            x = np.uint32(np.uint32(places[k] * np.uint32(row)) + np.uint32(row >> _32)) & mask
            places[k] = x ^ (x >> np.uint32(half))


@compiled
def place_of(layout: RelayLayout, rows: U64, number: int, destination: np.uint32) -> np.uint32:
    """Return the place of one destination under one of several bijections."""
    d, g = layout.d, layout.g
    some = rows[number * g * WORDS : (number + 1) * g * WORDS]
    group = group_of(layout, destination)
    index = np.uint32(np.int64(destination) - group * d)
    place = walk_on(some, g, group, first_place(some, g, group, index, d), d)
    return move_on(place, some[ROUNDS * g + group], d)


@compiled(inline=True)
def relay_of(layout: RelayLayout, place: np.uint32) -> int:
    """Return the relay group of a place."""
    g = np.uint64(layout.g)
    which = divide(np.uint64(place), layout.by_g) if np.uint64(place) >= g else np.uint64(0)
    return int(np.int64(np.uint64(place) - which * g))


@compiled(inline=True)
def group_of(layout: RelayLayout, processor: np.uint32) -> int:
    """Return the group of a processor."""
    return int(np.int64(divide(np.uint64(processor), layout.by_d)))


@compiled
def keep_ahead(
    layout: RelayLayout, packets: RelayPackets, following: Bijections, source: np.uint32,
    target: np.uint32, group: int,
) -> None:  # fmt: skip
    """Keep a packet for the next stage, if the group is one of its relay groups there."""
    words = layout.blocks * layout.words
    for u in range(following.copies):
        if relay_of(layout, place_of(layout, following.rows, u, target)) == group:
            set_bit(layout, packets.ahead[u * words : (u + 1) * words], source)
            return


@compiled(inline=True)
def move_on(place: np.uint32, by: np.uint64, size: int) -> np.uint32:
    """Return a place of [0, size), shifted."""
    moved = np.uint64(place) + by
    return np.uint32(moved if moved < np.uint64(size) else moved - np.uint64(size))


@compiled
def walk_on(rows: U64, g: int, group: int, place: np.uint32, size: int) -> np.uint32:
    """Apply all rounds again to places outside, until they are inside."""
    x = place
    while x >= size:
        x = first_place(rows, g, group, x, size)
    return x


@compiled
def first_place(rows: U64, g: int, group: int, place: np.uint32, size: int) -> np.uint32:
    """Apply all rounds once to one value."""
    x, mask, half = place, np.uint32(mask_of(size)), np.uint32(half_of(size))
    for r in range(ROUNDS):
        x = one_round(x, rows[r * g + group], mask, half)
    return x


@compiled(inline=True)
def one_round(x: np.uint32, row: np.uint64, mask: np.uint32, half: np.uint32) -> np.uint32:
    """Apply one round to one value."""
    x = np.uint32(np.uint32(x * np.uint32(row)) + np.uint32(row >> _32)) & mask
    return np.uint32(x ^ (x >> half))


@compiled(inline=True)
def mask_of(size: int) -> int:
    """Return 2^m - 1 for the smallest 2^m ≥ size that is used."""
    mask = (1 << FEWEST_BITS) - 1
    while mask < size - 1:
        mask = 2 * mask + 1
    return mask


@compiled(inline=True)
def half_of(size: int) -> int:
    """Return ⌈m / 2⌉."""
    bits = FEWEST_BITS
    while (size - 1) >> bits > 0:
        bits += 1
    return (bits + 1) // 2
