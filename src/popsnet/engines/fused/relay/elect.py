"""Team, T, for all pending packets at once, on one thread: it comes when few packets are left."""

from __future__ import annotations

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import word
from popsnet.engines.fused.arrays import U8, U32
from popsnet.engines.fused.relay.layout import RelayLayout, RelayPackets, RelayTally, RelayWorkspace
from popsnet.engines.fused.relay.pending import clear, gather, is_in, is_set, put_in
from popsnet.engines.fused.relay.shower import alone, put

_32 = np.uint64(32)


@compiled
def elect(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, pending: int,
    candidates: int, key: np.uint64, tally: RelayTally,
) -> None:  # fmt: skip
    """Execute a team stage: its counts follow from the sets W of all packets."""
    d, g, k = layout.d, layout.g, layout.k
    sources = np.empty(pending, dtype=np.uint32)
    targets = np.empty(pending, dtype=np.uint32)
    gather(layout, packets, work, sources, targets)
    sets = np.empty((pending, candidates), dtype=np.uint32)
    sizes = np.empty(pending, dtype=np.int64)
    draw_sets(targets, key, g, sets, sizes)
    free = np.zeros((pending, candidates), dtype=np.uint8)
    find_free(layout, sources, targets, sets, sizes, free, tally)
    campaign(layout, sources, sets, sizes, free, tally)
    got = np.zeros((d * g >> 6) + 1, dtype=np.uint64)
    chosen, latest = 0, 0
    for q in range(pending):
        if free[q].any():
            chosen += 1
            put_in(got, targets[q])
            latest = max(latest, int(targets[q]) % d // g + 1)
    for q in range(pending):
        tell(layout, packets, sources[q], sets[q], sizes[q], free[q], tally)
    for q in range(pending):
        if not free[q].any():
            tally.messages += int(not is_in(got, sources[q]))  # else with the packet for it
        else:
            clear(layout, packets.pending, sources[q])
            clear(layout, packets.undelivered, sources[q])
    tally.messages += 3 * chosen
    tally.delivered += chosen
    tally.acked += chosen
    tally.last_slot = max(tally.last_slot, 5 + k + 2 * latest if latest > 0 else 0)


@compiled
def draw_sets(targets: U32, key: np.uint64, g: int, sets: U32, sizes: np.ndarray) -> None:
    """Write the candidate groups of each destination, sorted, each once, and their number."""
    candidates, bound = np.uint64(sets.shape[1]), np.uint64(g)
    for q in range(len(targets)):
        size = 0
        for u in range(sets.shape[1]):
            drawn = word(key, np.uint64(targets[q]) * candidates + np.uint64(u)) >> _32
            group = np.uint32((drawn * bound) >> _32)
            at = size
            while at > 0 and sets[q, at - 1] > group:
                at -= 1
            if at > 0 and sets[q, at - 1] == group:
                continue
            for later in range(size, at, -1):
                sets[q, later] = sets[q, later - 1]
            sets[q, at] = group
            size += 1
        sizes[q] = size


@compiled
def find_free(
    layout: RelayLayout, sources: U32, targets: U32, sets: U32,
    sizes: np.ndarray, free: U8, tally: RelayTally,
) -> None:  # fmt: skip
    """Execute the attempt and the marks, and note which candidates are free on both sides."""
    d, g = np.uint64(layout.d), np.uint64(layout.g)
    by_source = np.zeros(layout.g * layout.g // 32 + 1, dtype=np.uint64)
    by_target = np.zeros(layout.g * layout.g // 32 + 1, dtype=np.uint64)
    heard = 0
    for q in range(len(sources)):
        for u in range(sizes[q]):
            y = np.uint64(sets[q, u])
            tally.collisions += put(by_source, y * g + np.uint64(sources[q]) // d)
            tally.collisions += put(by_target, y * g + np.uint64(targets[q]) // d)
            heard -= 2
    for q in range(len(sources)):
        for u in range(sizes[q]):
            y = np.uint64(sets[q, u])
            arrives = alone(by_source, y * g + np.uint64(sources[q]) // d)
            marked = alone(by_target, y * g + np.uint64(targets[q]) // d)
            heard += int(arrives) + int(marked)
            free[q, u] = np.uint8(arrives and marked)
    tally.messages += 2 * len(sources)
    tally.destroyed -= heard


@compiled
def campaign(
    layout: RelayLayout, sources: U32, sets: U32,
    sizes: np.ndarray, free: U8, tally: RelayTally,
) -> None:  # fmt: skip
    """Execute the slot of the fronts and the election."""
    d, g = np.uint64(layout.d), np.uint64(layout.g)
    couplers = np.zeros(layout.g * layout.g // 32 + 1, dtype=np.uint64)
    for q in range(len(sources)):
        beeps = 0
        for u in range(sizes[q]):
            beeps += int(free[q, u])
            for _ in range(beeps):
                at = np.uint64(sets[q, u]) * g + np.uint64(sources[q]) // d
                tally.collisions += put(couplers, at)
        tally.messages += 2 * beeps
    for q in range(len(sources)):
        beeps = 0
        for u in range(sizes[q]):
            beeps += int(free[q, u])
            at = np.uint64(sets[q, u]) * g + np.uint64(sources[q]) // d
            tally.destroyed += beeps - int(beeps == 1 and alone(couplers, at))


@compiled
def tell(
    layout: RelayLayout, packets: RelayPackets, source: np.uint32, groups: U32, size: int,
    free: U8, tally: RelayTally,
) -> None:  # fmt: skip
    """Execute the slot in which fronts of a packet, and its source, tell whether it is pending."""
    first = int(source) // layout.d * layout.d
    index, fronts, silent = int(source) - first, 0, False
    for u in range(size):
        if free[u] == 0:
            continue
        if int(groups[u]) == index:
            silent = True
            continue
        fronts += 1
        own = np.uint32(first + int(groups[u]))
        both = index < layout.g and is_set(layout, packets.pending, own)
        tally.messages += int(not both)
    if not silent:
        tally.messages += 1
        fronts += 1
    if fronts > 1:
        tally.collisions += 1
        tally.destroyed += fronts
