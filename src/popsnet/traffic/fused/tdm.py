"""tdm, compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from popsnet.compiled import compiled
from popsnet.network import I32, I64
from popsnet.traffic.arrivals import Block
from popsnet.traffic.fused.frame import frame_slot
from popsnet.traffic.fused.lists import (
    FROM,
    KEY,
    SINCE,
    TO,
    Lists,
    append_all,
    new_lists,
    take,
    with_chunks,
)  # fmt: skip
from popsnet.traffic.fused.parts import (
    MESSAGES,
    OWN,
    REFUSED,
    Paper,
    Parts,
    deliver,
    note_slot,
)  # fmt: skip


@dataclass
class Tdm:
    """The kernel of tdm: own packets by the slot of the frame in which their class is met."""

    own: Lists
    last: I64

    def advance(self, parts: Parts, block: Block, paper: Paper) -> None:
        """Execute the slots of a block."""
        self.own = with_chunks(self.own, len(block.sources))
        _advance(parts, block, paper, self.own, self.last)


def open_tdm(n: int) -> Tdm:
    """Return the kernel for n processors."""
    return Tdm(new_lists(n), np.full(n, -1, dtype=np.int64))


@compiled
def _advance(parts: Parts, block: Block, paper: Paper, own: Lists, last: I64) -> None:
    held, state, hops, events = parts.held, parts.state, parts.hops, parts.events
    sources, starts = block.sources, block.starts
    hops[:] = 1
    for k in range(len(starts) - 1):
        t, low, high = block.begin + k, starts[k], starts[k + 1]
        m = _accept(
            t, low, high, sources, block.destinations, parts.buffer, held, state,
            paper.refused_rows, parts.group, parts.indices, parts.residue, parts.d, parts.g,
            parts.stripes, parts.coming,
        )  # fmt: skip
        append_all(
            own.rows, own.after, own.first, own.end, own.free, own.top, parts.stripes,
            parts.coming, 0, m,
        )  # fmt: skip
        out = take(
            own.rows, own.after, own.first, own.end, own.free, own.top, t % len(held), last, t,
            events, 0,
        )  # fmt: skip
        for q in range(out):
            held[events[q, KEY]] -= 1
        state[OWN] -= out
        deliver(
            t, events, hops, out, state, parts.words, parts.places, paper.arrival, paper.source,
            paper.destination, paper.hops,
        )  # fmt: skip
        paper.counts[MESSAGES, k] = out
        note_slot(k, low, high, m, sources, held, state, paper.counts, paper.ends)


@compiled
def _accept(
    t: int, low: int, high: int, sources: I32, destinations: I32, buffer: int, held: I32,
    state: I64, refused_rows: I64, group: I32, index: I32, residue: I32, d: int, g: int,
    numbers: I32, coming: I32,
) -> int:  # fmt: skip
    """Write the arrivals of a slot that are not refused, and their lists; return how many."""
    m, refused = 0, state[REFUSED]
    for k in range(low, high):
        source, to = sources[k], destinations[k]
        if buffer > 0 and held[source] >= buffer:
            refused_rows[refused] = k
            refused += 1
            continue
        held[source] += 1
        a, i = int(group[source]), int(index[source])
        numbers[m] = frame_slot(a, i, int(group[to]), int(residue[to]), d, g)
        coming[m, KEY], coming[m, TO], coming[m, FROM] = source, to, source
        coming[m, SINCE] = np.int32(t)
        m += 1
    state[REFUSED] = refused
    state[OWN] += m
    return m
