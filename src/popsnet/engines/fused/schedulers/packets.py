"""The arrays that all kernels work in: packets, queues of sources, and the log of a block.

A packet is a row of the pool: destination, source, slot of arrival (its low 32 bits) and the next
packet of its queue. A packet keeps its row until no processor holds it, or until it is moved to a
list (``lists``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.arrays import with_more
from popsnet.engines.fused.bits import lowest_bit
from popsnet.model.frame import Frame
from popsnet.model.network import I32, I64, U64, Network
from popsnet.workloads.block import Block

DESTINATION, SOURCE, ARRIVAL, NEXT = 0, 1, 2, 3
"""Columns of the pool."""

FREE, OWN, RELAYED, DELIVERED, REFUSED, MOST_OWN, MOST_RELAYED, PENDING = range(8)
LOST_ROWS, UNHEARD = 8, 9
"""Places in ``KernelState.counters``: the free rows, packets held, and rows of the log so far."""

REFUSALS, LOST, MESSAGES, COLLISIONS, DESTROYED, OWN_AFTER, RELAYED_AFTER = range(7)
"""Rows of ``LogBuffers.counts``."""

_1, _0 = np.uint64(1), np.uint64(0)
_LOW = 0xFFFFFFFF


class KernelState(NamedTuple):
    """The network and the arrays of a session, for every kernel."""

    d: int
    g: int
    channels: int
    """The groups, times the wavelengths of a coupler."""
    buffer: int
    group: I32
    indices: I32
    residue: I32
    class_of: I32
    """Of each processor: its group, its index, its residue and its class in the frame."""
    pool: I32
    fails: I32
    free: I32
    """Rows of the pool that are free, the first ``counters[FREE]`` entries."""
    held: I32
    """Packets of its own that each processor holds."""
    transit: I32
    """Packets of others that each processor holds."""
    head: I32
    tail: I32
    """The queue of each source, for kernels with one queue per source."""
    last: I64
    """The last slot in which each processor sent, or got, a packet, for kernels that ask."""
    counters: I64
    nodes: I32
    stripes: I32
    keys: I32
    joining: I32
    """Packets that are about to join queues: which, where, and those whose queues have others."""
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


class LogBuffers(NamedTuple):
    """The log of a block while it is written."""

    counts: I32
    ends: I64
    arrival: I64
    source: I32
    destination: I32
    hops: I32
    refused_rows: I64
    lost: I64
    """Of each packet that was lost: the slot of its arrival, its source and its destination."""


def new_state(network: Network, buffer: int) -> KernelState:
    """Return the arrays of a session without packets."""
    n, d, g = network.n, network.d, network.g
    frame, processors = Frame(network), np.arange(n, dtype=np.int32)
    group, index = np.divmod(processors, np.int32(d))
    no_rows = np.empty(0, dtype=np.int32)
    return KernelState(
        d=d, g=g, channels=network.channels, buffer=buffer, group=group, indices=index,
        residue=index % np.int32(frame.residues),
        class_of=frame.classes(processors).astype(np.int32),
        pool=no_rows.reshape(0, 4), fails=no_rows, free=no_rows,
        held=_zeros(n), transit=_zeros(n), head=_zeros(n) - 1, tail=_zeros(n) - 1,
        last=np.full(n, -1, dtype=np.int64), counters=np.zeros(10, dtype=np.int64),
        nodes=_zeros(n), stripes=_zeros(n), keys=_zeros(n), joining=_zeros(n), sent=_zeros(n + 1),
        hops=_zeros(n), senders=_zeros(n), coming=np.zeros((n, 4), np.int32),
        events=np.zeros((n + 1, 4), dtype=np.int32),
        words=np.zeros((n >> 6) + 1, dtype=np.uint64), places=_zeros(n),
    )  # fmt: skip


def _zeros(n: int) -> I32:
    return np.zeros(n, dtype=np.int32)


def new_buffers(slots: int, deliveries: int, arrivals: int, lost: int) -> LogBuffers:
    """Return arrays for the log of a block with at most this many of everything."""
    source, destination, hops = (np.empty(deliveries, dtype=np.int32) for _ in range(3))
    counts, ends = np.zeros((7, slots), dtype=np.int32), np.zeros(slots, dtype=np.int64)
    arrival, refused = np.empty(deliveries, dtype=np.int64), np.empty(arrivals, dtype=np.int64)
    lost_rows = np.empty((lost, 3), dtype=np.int64)
    return LogBuffers(counts, ends, arrival, source, destination, hops, refused, lost_rows)


def with_room(state: KernelState, arrivals: int, most: int) -> KernelState:
    """Return a state with free rows for the arrivals of a block, at most ``most`` in a slot."""
    if len(state.nodes) < most:
        nodes, stripes, keys, joining = np.zeros((4, most), dtype=np.int32)
        state = state._replace(nodes=nodes, stripes=stripes, keys=keys, joining=joining)
        state = state._replace(coming=np.zeros((most, 4), dtype=np.int32))
    size, top = len(state.pool), int(state.counters[FREE])
    if top >= arrivals:
        return state
    more = max(arrivals - top, size // 2, 64)
    pool, fails = with_more(state.pool, more), np.append(state.fails, _zeros(more))
    free = np.append(np.arange(size + more - 1, size - 1, -1, dtype=np.int32), state.free)
    state.counters[FREE] = more + top
    return state._replace(pool=pool, fails=fails, free=free)


@compiled(inline=True)
def accept(k: int, block: Block, state: KernelState, log: LogBuffers) -> int:
    """Put the arrivals of slot k of a block into rows, unless refused; return how many have one."""
    buffer, pool, free, held = state.buffer, state.pool, state.free, state.held
    counters, nodes, refused_rows = state.counters, state.nodes, log.refused_rows
    now = np.int32(block.begin + k)
    m, top, refused = 0, counters[FREE], counters[REFUSED]
    for row in range(block.starts[k], block.starts[k + 1]):
        source = block.sources[row]
        if buffer > 0 and held[source] >= buffer:
            refused_rows[refused] = row
            refused += 1
            continue
        top -= 1
        node = free[top]
        nodes[m] = node
        pool[node, DESTINATION], pool[node, SOURCE] = block.destinations[row], source
        pool[node, ARRIVAL], pool[node, NEXT] = now, np.int32(-1)
        held[source] += 1
        m += 1
    counters[FREE], counters[REFUSED] = top, refused
    counters[OWN] += m
    return m


@compiled(inline=True)
def join(m: int, state: KernelState) -> None:
    """Append packets to the queues of their sources."""
    nodes, pool, head, tail = state.nodes, state.pool, state.head, state.tail
    for k in range(m):
        row = nodes[k]
        source = pool[row, SOURCE]
        if head[source] < 0:
            head[source] = row
        else:
            pool[tail[source], NEXT] = row
        tail[source] = row


@compiled(inline=True)
def gather(m: int, state: KernelState) -> None:
    """Write packets of the pool that are sent, and their senders, to ``events``."""
    sent, senders, pool, events = state.sent, state.senders, state.pool, state.events
    for k in range(m):
        row = sent[k]
        events[k, 0] = senders[k]
        events[k, 1], events[k, 2] = pool[row, DESTINATION], pool[row, SOURCE]
        events[k, 3] = pool[row, ARRIVAL]


@compiled(inline=True)
def deliver(t: int, m: int, state: KernelState, log: LogBuffers) -> None:
    """Log deliveries of a slot in order of destination."""
    if m == 0:
        return
    events, hops, words, places = state.events, state.hops, state.words, state.places
    for k in range(m):
        to = int(events[k, 1])
        places[to] = k
        words[to >> 6] |= _1 << np.uint64(to & 63)
    at = state.counters[DELIVERED]
    for w in range(len(words)):
        bits = words[w]
        words[w] = _0
        while bits != _0:
            to = 64 * w + lowest_bit(bits)
            bits &= bits - _1
            k = places[to]
            log.arrival[at] = t - ((t - int(events[k, 3])) & _LOW)
            log.source[at], log.destination[at], log.hops[at] = events[k, 2], to, hops[k]
            at += 1
    state.counters[DELIVERED] = at


@compiled(inline=True)
def release(m: int, state: KernelState) -> None:
    """Free the rows of packets that are sent, and that no processor holds any more."""
    top = state.counters[FREE]
    for k in range(m):
        state.free[top] = state.sent[k]
        top += 1
    state.counters[FREE] = top


@compiled(inline=True)
def note_slot(k: int, accepted: int, block: Block, state: KernelState, log: LogBuffers) -> None:
    """Write what is left of the log of a slot: packets held, and the sums so far.

    Only processors at which packets arrived can hold more of their own than before.
    """
    low, high, counts, counters = block.starts[k], block.starts[k + 1], log.counts, state.counters
    counts[REFUSALS, k] = high - low - accepted
    counts[OWN_AFTER, k], counts[RELAYED_AFTER, k] = counters[OWN], counters[RELAYED]
    log.ends[k] = counters[DELIVERED]
    most = counters[MOST_OWN]
    for row in range(low, high):
        most = max(most, int(state.held[block.sources[row]]))
    counters[MOST_OWN] = most


@compiled(inline=True)
def note_lost(t: int, source: int, to: int, since: int, lost: I64, at: int) -> None:
    """Write a packet that is lost in slot t. Its source may be complemented."""
    lost[at, 0] = t - ((t - int(since)) & _LOW)
    lost[at, 1], lost[at, 2] = source if source >= 0 else ~source, to
