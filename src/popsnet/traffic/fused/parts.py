"""The arrays that all kernels work in: packets, queues of sources, and the log of a block.

A packet is a row of the pool: destination, source, slot of arrival (its low 32 bits) and the next
packet of its queue. Rows that are free are a list, too. A packet keeps its row from its arrival
until no processor holds it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.compiled import compiled
from popsnet.engines.fused.bits import lowest_bit
from popsnet.network import I32, I64, Network

U64 = npt.NDArray[np.uint64]

DESTINATION, SOURCE, ARRIVAL, NEXT = 0, 1, 2, 3
"""Columns of the pool."""

FREE, OWN, RELAYED, DELIVERED, REFUSED, MOST_OWN, MOST_RELAYED, PENDING, HEARD = range(9)
"""Places in ``Parts.state``: the first free row, packets held, and rows of the log so far."""

REFUSALS, LOST, MESSAGES, COLLISIONS, DESTROYED, OWN_AFTER, RELAYED_AFTER = range(7)
"""Rows of ``Paper.counts``."""

_1, _0 = np.uint64(1), np.uint64(0)
_LOW = 0xFFFFFFFF


class Parts(NamedTuple):
    """What every kernel needs of a session."""

    d: int
    g: int
    buffer: int
    group: I32
    index: I32
    residue: I32
    pool: I32
    fails: I32
    held: I32
    """Packets of its own that each processor holds."""
    kept: I32
    """Packets of others that each processor holds."""
    head: I32
    tail: I32
    """The queue of each source, for kernels with one queue per source."""
    state: I64
    nodes: I32
    stripes: I32
    keys: I32
    lengths: I32
    """Packets that are about to join queues: which, where, and the length that each queue had."""
    sent: I32
    hops: I32
    """Packets that are delivered in a slot, and their hops."""
    senders: I32
    words: U64
    places: I32
    """A bit per processor, and the position of its delivery."""


class Paper(NamedTuple):
    """The log of a block while it is written."""

    counts: I32
    ends: I64
    arrival: I64
    source: I32
    destination: I32
    hops: I32
    refused_rows: I64


def new_parts(network: Network, buffer: int) -> Parts:
    """Return the arrays of a session without packets."""
    n, d, g = network.n, network.d, network.g
    processors = np.arange(n, dtype=np.int32)
    state = np.zeros(9, dtype=np.int64)
    state[FREE] = -1
    group, index = processors // np.int32(d), processors % np.int32(d)
    empty, none = np.zeros(n, dtype=np.int32), np.full(n, -1, dtype=np.int32)
    return Parts(
        d, g, buffer, group, index, index % np.int32(min(d, g)),
        np.empty((0, 4), dtype=np.int32), np.empty(0, dtype=np.int32),
        empty, empty.copy(), none, none.copy(), state,
        *(np.empty(n, dtype=np.int32) for _ in range(7)),
        np.zeros((n >> 6) + 1, dtype=np.uint64), np.empty(n, dtype=np.int32),
    )  # fmt: skip


def new_paper(slots: int, deliveries: int, arrivals: int) -> Paper:
    """Return arrays for the log of a block with at most this many deliveries and arrivals."""
    return Paper(
        np.zeros((7, slots), dtype=np.int32), np.zeros(slots, dtype=np.int64),
        np.empty(deliveries, dtype=np.int64),
        *(np.empty(deliveries, dtype=np.int32) for _ in range(3)),
        np.empty(arrivals, dtype=np.int64),
    )  # fmt: skip


def with_room(parts: Parts, arrivals: int, most: int) -> Parts:
    """Return parts with free rows for the arrivals of a block, at most ``most`` in a slot."""
    if len(parts.nodes) < most:
        names = "nodes", "stripes", "keys", "lengths"
        parts = parts._replace(**{name: np.empty(most, dtype=np.int32) for name in names})
    size, inside = len(parts.pool), int(parts.state[OWN] + parts.state[RELAYED])
    if size - inside >= arrivals:
        return parts
    larger = max(inside + arrivals, size + size // 2, 64)
    pool = np.empty((larger, 4), dtype=np.int32)
    pool[:size] = parts.pool
    fails = np.zeros(larger, dtype=np.int32)
    fails[:size] = parts.fails
    link_free(pool, size, parts.state)
    return parts._replace(pool=pool, fails=fails)


@compiled
def link_free(pool: I32, first: int, state: I64) -> None:
    """Add the rows from ``first`` on to the free ones."""
    for row in range(len(pool) - 1, first - 1, -1):
        pool[row, NEXT] = state[FREE]
        state[FREE] = row


@compiled
def accept(
    t: int, low: int, high: int, sources: I32, destinations: I32, buffer: int, pool: I32,
    held: I32, state: I64, nodes: I32, refused_rows: I64,
) -> int:  # fmt: skip
    """Give the arrivals of a slot a row each, unless refused, and return how many have one."""
    m, free, refused = 0, state[FREE], state[REFUSED]
    for k in range(low, high):
        source = sources[k]
        if buffer > 0 and held[source] >= buffer:
            refused_rows[refused] = k
            refused += 1
            continue
        nodes[m] = free
        row = free
        free = np.int64(pool[row, NEXT])
        pool[row, DESTINATION], pool[row, SOURCE] = destinations[k], source
        pool[row, ARRIVAL], pool[row, NEXT] = np.int32(t), np.int32(-1)
        held[source] += 1
        m += 1
    state[FREE], state[REFUSED] = free, refused
    state[OWN] += m
    return m


@compiled
def join(nodes: I32, m: int, pool: I32, head: I32, tail: I32) -> None:
    """Append packets to the queues of their sources."""
    for k in range(m):
        row = nodes[k]
        source = pool[row, SOURCE]
        if head[source] < 0:
            head[source] = row
        else:
            pool[tail[source], NEXT] = row
        tail[source] = row


@compiled
def deliver(
    t: int, nodes: I32, hops: I32, m: int, pool: I32, state: I64, words: U64, places: I32,
    arrival: I64, source: I32, destination: I32, hops_made: I32,
) -> None:  # fmt: skip
    """Log deliveries of a slot in order of destination."""
    for k in range(m):
        to = np.int64(pool[nodes[k], DESTINATION])
        places[to] = k
        words[to >> 6] |= _1 << np.uint64(to & 63)
    if m == 0:
        return
    at = state[DELIVERED]
    for w in range(len(words)):
        bits = words[w]
        words[w] = _0
        while bits != _0:
            to = 64 * w + lowest_bit(bits)
            bits &= bits - _1
            k = places[to]
            row = nodes[k]
            arrival[at] = t - ((t - np.int64(pool[row, ARRIVAL])) & _LOW)
            source[at], destination[at], hops_made[at] = pool[row, SOURCE], to, hops[k]
            at += 1
    state[DELIVERED] = at


@compiled
def release(nodes: I32, m: int, pool: I32, state: I64) -> None:
    """Free the rows of packets that no processor holds any more."""
    free = state[FREE]
    for k in range(m):
        pool[nodes[k], NEXT] = free
        free = np.int64(nodes[k])
    state[FREE] = free


@compiled
def note_slot(
    k: int, low: int, high: int, accepted: int, sources: I32, held: I32, state: I64, counts: I32,
    ends: I64,
) -> None:  # fmt: skip
    """Write what is left of the log of a slot: packets held, and the sums so far.

    Only processors at which packets arrived can hold more of their own than before.
    """
    counts[REFUSALS, k] = high - low - accepted
    counts[OWN_AFTER, k], counts[RELAYED_AFTER, k] = state[OWN], state[RELAYED]
    ends[k] = state[DELIVERED]
    most = state[MOST_OWN]
    for row in range(low, high):
        most = max(most, np.int64(held[sources[row]]))
    state[MOST_OWN] = most
