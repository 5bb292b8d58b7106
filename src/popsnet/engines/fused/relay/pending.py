"""The pending packets of a block, their destinations, and their removal."""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.arrays import U32, U64
from popsnet.engines.fused.bits import divide, ones, unpack
from popsnet.engines.fused.relay.layout import RelayLayout, RelayPackets, RelayWorkspace
from popsnet.workloads.permutations.keyed import permute
from popsnet.workloads.permutations.keyed import place as place_keyed

_1, _6, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


@compiled
def begin(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, first: int, last: int
) -> int:
    """Mark packets of some blocks that are not at their destinations, and return how many."""
    moving, size, n = 0, layout.rows * layout.d, layout.d * layout.g
    for block in range(first, last):
        m, start = min(size, n - block * size), np.uint32(block * size)
        bits = packets.pending[block * layout.words : (block + 1) * layout.words]
        for k in range(m):
            work.numbers[k] = k
        look_up(packets, work.numbers, m, block * size, work.targets)
        bits[:] = np.uint64(0)
        for at in range(block * layout.words, len(packets.ahead), layout.blocks * layout.words):
            packets.ahead[at : at + layout.words] = np.uint64(0)
        for k in range(m):
            waits = np.uint64(work.targets[k] != start + np.uint32(k))
            bits[np.uint64(k) >> _6] |= waits << (np.uint64(k) & _63)
        for w in range(layout.words):
            packets.undelivered[block * layout.words + w] = bits[w]
            moving += int(np.int64(ones(bits[w])))
    return moving


@compiled
def load(
    layout: RelayLayout, packets: RelayPackets, bits: U64, work: RelayWorkspace, block: int
) -> int:
    """Write the packets of a block whose bit is set, their destinations, and return how many."""
    part = bits[block * layout.words : (block + 1) * layout.words]
    m = unpack(part, layout.words, work.numbers)
    look_up(packets, work.numbers, m, block * layout.rows * layout.d, work.targets)
    return m


@compiled
def look_up(packets: RelayPackets, numbers: U32, m: int, first: int, targets: U32) -> None:
    """Write the destinations of m packets of the block that begins with packet ``first``."""
    if len(packets.destination) > 0:
        some = packets.destination[first:]
        for k in range(m):
            targets[k] = some[numbers[k]]
        return
    (n, half, keys), start = packets.keyed, np.uint64(first)
    k0, k1, k2, k3 = keys[0], keys[1], keys[2], keys[3]
    outside = 0
    for k in range(m):
        where = permute(start + np.uint64(numbers[k]), half, k0, k1, k2, k3)
        outside += int(where >= n)
        targets[k] = where
    if outside > 0:
        for k in range(m):
            if np.uint64(targets[k]) >= n:  # the walk goes on from there
                targets[k] = place_keyed(np.uint64(targets[k]), n, half, keys)


@compiled
def split(layout: RelayLayout, numbers: U32, places: U32, m: int, sets: U32, classes: U32) -> None:
    """Write the set (T, a) and the class of each packet, for d ≥ g."""
    g = np.uint64(layout.g)
    for k in range(m):
        row = divide(np.uint64(numbers[k]), layout.by_d)
        which = divide(np.uint64(places[k]), layout.by_g)
        classes[k] = which
        sets[k] = row * g + np.uint64(places[k]) - which * g


@compiled(inline=True)
def is_undelivered(packets: RelayPackets, first_word: int, number: np.uint64) -> np.uint64:
    """Return 1 if the packet is not delivered yet, else 0."""
    word: np.uint64 = packets.undelivered[np.uint64(first_word) + (number >> _6)]
    return (word >> (number & _63)) & _1


@compiled(inline=True)
def put_bit(bits: U64, number: np.uint64, bit: np.uint64) -> None:
    """Set the bit of a packet of the block if ``bit`` is 1."""
    bits[number >> _6] |= bit << (number & _63)


@compiled
def remove(layout: RelayLayout, bits: U64, removed: U64, block: int) -> int:
    """Clear the bits of a block that are removed, and return how many were set."""
    count = np.uint64(0)
    for w in range(layout.words):
        at = block * layout.words + w
        count += ones(bits[at] & removed[w])
        bits[at] &= ~removed[w]
    return int(np.int64(count))


@compiled
def gather(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, sources: U32, targets: U32
) -> None:
    """Write all pending packets and their destinations."""
    filled, size = 0, layout.rows * layout.d
    for block in range(layout.blocks):
        m = load(layout, packets, packets.pending, work, block)
        for q in range(m):
            sources[filled + q] = np.uint32(block * size) + work.numbers[q]
            targets[filled + q] = work.targets[q]
        filled += m


@compiled(inline=True)
def put_in(bits: U64, number: np.uint32) -> None:
    """Add a processor to a set."""
    at = np.uint64(number)
    bits[at >> _6] |= _1 << (at & _63)


@compiled(inline=True)
def remove_from(bits: U64, number: np.uint32) -> None:
    """Remove a processor from a set."""
    at = np.uint64(number)
    bits[at >> _6] &= ~(_1 << (at & _63))


@compiled(inline=True)
def is_in(bits: U64, number: np.uint32) -> bool:
    """Return whether a processor is in a set."""
    at = np.uint64(number)
    return bool((bits[at >> _6] >> (at & _63)) & _1)


@compiled(inline=True)
def bit_of(layout: RelayLayout, packet: np.uint32) -> np.uint64:
    """Return the bit of a packet, where blocks begin with new words."""
    size, at = np.uint64(layout.rows * layout.d), np.uint64(packet)
    padding = np.uint64(layout.words * 64) - size
    return at if padding == 0 else at + at // size * padding


@compiled(inline=True)
def is_set(layout: RelayLayout, bits: U64, packet: np.uint32) -> bool:
    """Return whether the bit of a packet is set."""
    at = bit_of(layout, packet)
    return bool((bits[at >> _6] >> (at & _63)) & _1)


@compiled(inline=True)
def clear(layout: RelayLayout, bits: U64, packet: np.uint32) -> None:
    """Clear the bit of a packet."""
    at = bit_of(layout, packet)
    bits[at >> _6] &= ~(_1 << (at & _63))


@compiled(inline=True)
def set_bit(layout: RelayLayout, bits: U64, packet: np.uint32) -> None:
    """Set the bit of a packet."""
    at = bit_of(layout, packet)
    bits[at >> _6] |= _1 << (at & _63)
