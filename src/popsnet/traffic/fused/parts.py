"""The arrays that all kernels work in: packets, queues of sources, and the log of a block.

A packet is a row of the pool: destination, source, slot of arrival (its low 32 bits) and the next
packet of its queue. A packet keeps its row until no processor holds it, or until it is moved to a
list (``lists``).
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

FREE, OWN, RELAYED, DELIVERED, REFUSED, MOST_OWN, MOST_RELAYED, PENDING = range(8)
"""Places in ``Parts.state``: the free rows, packets held, and rows of the log so far."""

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
    indices: I32
    residue: I32
    pool: I32
    fails: I32
    free: I32
    """Rows of the pool that are free, the first ``state[FREE]`` entries."""
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
    coming: I32
    """Packets that are about to join lists: the queue, destination, source, slot of arrival."""
    events: I32
    """Deliveries of a slot: who sent it, destination, source, slot of arrival."""
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
    state = np.zeros(8, dtype=np.int64)
    group, index = processors // np.int32(d), processors % np.int32(d)
    no_rows = np.empty(0, dtype=np.int32)
    return Parts(
        d=d, g=g, buffer=buffer, group=group, indices=index, residue=index % np.int32(min(d, g)),
        pool=no_rows.reshape(0, 4), fails=no_rows, free=no_rows,
        held=_zeros(n), kept=_zeros(n), head=_zeros(n) - 1, tail=_zeros(n) - 1, state=state,
        nodes=_zeros(n), stripes=_zeros(n), keys=_zeros(n), lengths=_zeros(n), sent=_zeros(n + 1),
        hops=_zeros(n), senders=_zeros(n), coming=_zeros(4 * n).reshape(n, 4),
        events=np.zeros((n + 1, 4), dtype=np.int32),
        words=np.zeros((n >> 6) + 1, dtype=np.uint64), places=_zeros(n),
    )  # fmt: skip


def _zeros(n: int) -> I32:
    return np.zeros(n, dtype=np.int32)


def new_paper(slots: int, deliveries: int, arrivals: int) -> Paper:
    """Return arrays for the log of a block with at most this many deliveries and arrivals."""
    source, destination, hops = (np.empty(deliveries, dtype=np.int32) for _ in range(3))
    return Paper(
        np.zeros((7, slots), dtype=np.int32), np.zeros(slots, dtype=np.int64),
        np.empty(deliveries, dtype=np.int64), source, destination, hops,
        np.empty(arrivals, dtype=np.int64),
    )  # fmt: skip


def with_room(parts: Parts, arrivals: int, most: int) -> Parts:
    """Return parts with free rows for the arrivals of a block, at most ``most`` in a slot."""
    if len(parts.nodes) < most:
        nodes, stripes, keys, lengths = (_zeros(most) for _ in range(4))
        coming = _zeros(4 * most).reshape(most, 4)
        parts = parts._replace(
            nodes=nodes, stripes=stripes, keys=keys, lengths=lengths, coming=coming
        )
    size, top = len(parts.pool), int(parts.state[FREE])
    if top >= arrivals:
        return parts
    more = max(arrivals - top, size // 2, 64)
    pool = np.empty((size + more, 4), dtype=np.int32)
    pool[:size] = parts.pool
    fails, free = np.zeros(size + more, dtype=np.int32), np.empty(size + more, dtype=np.int32)
    fails[:size] = parts.fails
    free[:more] = np.arange(size + more - 1, size - 1, -1)
    free[more : more + top] = parts.free[:top]
    parts.state[FREE] = more + top
    return parts._replace(pool=pool, fails=fails, free=free)


@compiled
def accept(
    t: int, low: int, high: int, sources: I32, destinations: I32, buffer: int, pool: I32,
    free: I32, held: I32, state: I64, nodes: I32, refused_rows: I64,
) -> int:  # fmt: skip
    """Put the arrivals of a slot into rows, unless refused, and return how many have one."""
    m, top, refused = 0, state[FREE], state[REFUSED]
    for k in range(low, high):
        source = sources[k]
        if buffer > 0 and held[source] >= buffer:
            refused_rows[refused] = k
            refused += 1
            continue
        top -= 1
        row = free[top]
        nodes[m] = row
        pool[row, DESTINATION], pool[row, SOURCE] = destinations[k], source
        pool[row, ARRIVAL], pool[row, NEXT] = np.int32(t), np.int32(-1)
        held[source] += 1
        m += 1
    state[FREE], state[REFUSED] = top, refused
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
def gather(nodes: I32, low: int, high: int, pool: I32, events: I32) -> None:
    """Write packets of the pool that are delivered to ``events``."""
    for k in range(low, high):
        row = nodes[k]
        events[k, 1], events[k, 2] = pool[row, DESTINATION], pool[row, SOURCE]
        events[k, 3] = pool[row, ARRIVAL]


@compiled
def deliver(
    t: int, events: I32, hops: I32, m: int, state: I64, words: U64, places: I32, arrival: I64,
    source: I32, destination: I32, hops_made: I32,
) -> None:  # fmt: skip
    """Log deliveries of a slot in order of destination."""
    if m == 0:
        return
    for k in range(m):
        to = int(events[k, 1])
        places[to] = k
        words[to >> 6] |= _1 << np.uint64(to & 63)
    at = state[DELIVERED]
    for w in range(len(words)):
        bits = words[w]
        words[w] = _0
        while bits != _0:
            to = 64 * w + lowest_bit(bits)
            bits &= bits - _1
            k = places[to]
            arrival[at] = t - ((t - int(events[k, 3])) & _LOW)
            source[at], destination[at], hops_made[at] = events[k, 2], to, hops[k]
            at += 1
    state[DELIVERED] = at


@compiled
def release(nodes: I32, low: int, high: int, free: I32, state: I64) -> None:
    """Free the rows of packets that no processor holds any more."""
    top = state[FREE]
    for k in range(low, high):
        free[top] = nodes[k]
        top += 1
    state[FREE] = top


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
        most = max(most, int(held[sources[row]]))
    state[MOST_OWN] = most
