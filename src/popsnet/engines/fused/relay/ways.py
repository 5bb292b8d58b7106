"""Which packets of a block are pending, where they go, and who is struck off."""

from __future__ import annotations

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.bits import ones
from popsnet.engines.fused.partitioned import unpack
from popsnet.engines.fused.passes import U32, U64
from popsnet.engines.fused.relay.ground import Ground, Hands, Packets, divide
from popsnet.permutations.keyed import permute
from popsnet.permutations.keyed import place as place_keyed

_1, _6, _63 = np.uint64(1), np.uint64(6), np.uint64(63)


@compiled
def begin(ground: Ground, packets: Packets, hands: Hands, first: int, last: int) -> int:
    """All packets of some blocks that are not at home from the start are pending; how many."""
    away, size, n = 0, ground.rows * ground.d, ground.d * ground.g
    for block in range(first, last):
        m, start = min(size, n - block * size), np.uint32(block * size)
        bits = packets.pending[block * ground.words : (block + 1) * ground.words]
        for k in range(m):
            hands.numbers[k] = k
        look_up(packets, hands.numbers, m, block * size, hands.targets)
        bits[:] = np.uint64(0)
        for k in range(m):
            waits = np.uint64(hands.targets[k] != start + np.uint32(k))
            bits[np.uint64(k) >> _6] |= waits << (np.uint64(k) & _63)
        for w in range(ground.words):
            packets.hungry[block * ground.words + w] = bits[w]
            away += int(np.int64(ones(bits[w])))
    return away


@compiled
def load(ground: Ground, packets: Packets, bits: U64, hands: Hands, block: int) -> int:
    """The packets of a block whose bit is set, and where they go; how many."""
    part = bits[block * ground.words : (block + 1) * ground.words]
    m = unpack(part, ground.words, hands.numbers)
    look_up(packets, hands.numbers, m, block * ground.rows * ground.d, hands.targets)
    return m


@compiled
def look_up(packets: Packets, numbers: U32, m: int, first: int, targets: U32) -> None:
    """The destinations of m packets of the block that begins with packet ``first``."""
    if len(packets.destination) > 0:
        some = packets.destination[first:]
        for k in range(m):
            targets[k] = some[numbers[k]]
        return
    start, n, half, keys = np.uint64(first), packets.n, packets.half, packets.keys
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
def split(ground: Ground, numbers: U32, places: U32, m: int, sets: U32, classes: U32) -> None:
    """The set (T, a) and the class of each packet; d ≥ g."""
    g = np.uint64(ground.g)
    for k in range(m):
        row = divide(np.uint64(numbers[k]), ground.by_d)
        which = divide(np.uint64(places[k]), ground.by_g)
        classes[k] = which
        sets[k] = row * g + np.uint64(places[k]) - which * g


@compiled(inline=True)
def is_hungry(packets: Packets, first_word: int, number: np.uint64) -> np.uint64:
    """1 if the packet has not arrived yet, else 0."""
    word: np.uint64 = packets.hungry[np.uint64(first_word) + (number >> _6)]
    return (word >> (number & _63)) & _1


@compiled(inline=True)
def put_bit(bits: U64, number: np.uint64, bit: np.uint64) -> None:
    """Set the bit of a packet of the block if ``bit`` is 1."""
    bits[number >> _6] |= bit << (number & _63)


@compiled
def strike(ground: Ground, bits: U64, struck: U64, block: int) -> int:
    """Clear the bits of a block that are struck; how many had been set."""
    count = np.uint64(0)
    for w in range(ground.words):
        at = block * ground.words + w
        count += ones(bits[at] & struck[w])
        bits[at] &= ~struck[w]
    return int(np.int64(count))
