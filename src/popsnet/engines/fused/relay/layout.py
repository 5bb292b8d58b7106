"""The data of the stages of relay: blocks of packets, counters, and the memory of a thread.

A block is a few whole groups. For d < g it is the G = ⌈g/d⌉ groups that the same member of every
relay group hears, so that in all stages packets of different blocks never meet on their first hop.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from popsnet.engines.fused.arrays import I64, U8, U16, U32, U64, Records, Table, record_type
from popsnet.engines.fused.bits import divisor_of
from popsnet.engines.fused.kernel import KeyedRounds
from popsnet.engines.fused.relay.program import Stages
from popsnet.model.network import Network

_BLOCK = 2**14
_CELLS = 2**19
"""Cells of a window for all groups of a block, which has fewer groups if windows are long."""


class RelayTally(Protocol):
    """The counts of a thread in a run: sums, and two maxima."""

    messages: int
    collisions: int
    destroyed: int
    delivered: int
    acked: int
    last_slot: int
    """The last slot of a stage in which a packet was delivered."""
    bits: int
    """The most bits in a message so far."""
    ended: int
    """The slots of a stage that may end early, or 0."""


TALLY = record_type(RelayTally)


class RelayLayout(NamedTuple):
    """The division of a network's packets into blocks, and divisors."""

    d: int
    g: int
    k: int
    """Classes: ⌈d/g⌉."""
    rows: int
    """Groups in a block."""
    blocks: int
    words: int
    """The words of a block with a bit per packet."""
    by_d: tuple[int, int]
    by_g: tuple[int, int]
    superclasses: int
    width: int
    """Places of a grid: the groups, rounded up to whole superclasses."""

    @classmethod
    def of(cls, network: Network, program: Stages) -> RelayLayout:
        """Divide into blocks of a suitable size."""
        d, g = network.d, network.g
        superclasses = -(-g // d)
        most = min(_BLOCK // d, _CELLS // (g * program.widest), g)
        rows = superclasses if d < g else max(most, 1)
        return cls(
            d=d,
            g=g,
            k=-(-d // g),
            rows=rows,
            blocks=-(-g // rows),
            words=-(-rows * d // 64),
            by_d=divisor_of(d),
            by_g=divisor_of(g),
            superclasses=superclasses,
            width=superclasses * -(-g // superclasses),
        )

    @property
    def size(self) -> int:
        """Packets in a block."""
        return self.rows * self.d


class RelayPackets(NamedTuple):
    """The pending packets, a bit each, and their destinations. Every block begins a new word."""

    pending: U64
    """Sources that do not know that their packet is delivered."""
    undelivered: U64
    """Packets that are not delivered, all of which are pending."""
    ahead: U64
    """Packets that a relay keeps for the next stage, for each of its bijections in turn."""
    destination: U32
    """Empty if the permutation is computed."""
    keyed: KeyedRounds


class BlockRange(NamedTuple):
    """The blocks first, first + 1, … up to last, which a thread works on."""

    first: int
    last: int


class Bijections(NamedTuple):
    """The public bijections of a stage, or of the next one if attempts send packets for it."""

    rows: U64
    copies: int
    """The number of bijections, 0 if nothing is sent."""


class RelayPlaces(NamedTuple):
    """The places of all destinations under a public bijection."""

    rows: U64
    table: U32
    """By destination, or empty if places are computed."""


def packets_table(layout: RelayLayout, program: Stages, stored: int) -> Table:
    """Return the arrays of packets, of which this many destinations are stored: all or none."""
    words = layout.blocks * layout.words
    return {
        **dict.fromkeys(("pending", "undelivered"), (words, np.uint64)),
        "ahead": (words * program.marks, np.uint64),
        "destination": (stored, np.uint32),
    }


class RelayWorkspace(NamedTuple):
    """The memory of a thread."""

    numbers: U32  # of packets in their block
    targets: U32  # their destinations
    places: U32  # under a public bijection
    sets: U32  # (source group, relay group) in the block; of a shower copy after copy
    classes: U32
    turns: U32  # in which slot of a window
    cells: U32  # (set, turn)
    alone: U32  # positions of those alone in their cell
    order: U32  # the same by turn
    starts: I64  # of each turn, in that order
    table: U8  # how many are in a cell: 0, 1, 3, 7, …
    room: U32  # in a set, by class
    acked: U16  # by set: the last window with an ack
    early: U32  # copies for the next stage: their packets, by position
    early_cells: U32  # and cells
    earliest: U32  # by set: the attempt in which one was kept
    removed: U64  # bits of packets of a block
    used: U64  # places of a grid's relays, found by hashing
    unused: Records  # a tally of attempts that are made again
    stop: U8  # set by another thread to end the work early


def workspace_table(layout: RelayLayout, program: Stages) -> Table:
    """Return the arrays of a workspace."""
    spare = layout.words * 64 + 1  # bits are unpacked by the word, a selection writes past its end
    sets = layout.rows * layout.g if layout.d >= layout.g else layout.g
    names = "numbers", "targets", "places", "sets", "classes", "turns", "cells", "alone", "order"
    return {
        **dict.fromkeys(names, (spare, np.uint32)),
        "sets": (spare * program.copies, np.uint32),
        "starts": (max(program.widest, program.turns) + 1, np.int64),
        "table": (sets * program.widest, np.uint8),
        "room": (sets * layout.k, np.uint32),
        "acked": (sets, np.uint16),
        **dict.fromkeys(("early", "early_cells"), (spare * program.marks, np.uint32)),
        "earliest": (sets if program.marks > 0 else 0, np.uint32),
        "removed": (layout.words, np.uint64),
        "used": (2 << spare.bit_length() if layout.d < layout.g else 0, np.uint64),
        "unused": (1, TALLY),
    }
