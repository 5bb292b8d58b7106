"""The data of compiled runs of the paper's router: blocks of packets, thresholds, memory."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from popsnet.engines.fused.arrays import I64, U8, U16, U32, U64, record_type
from popsnet.engines.fused.kernel import as_purposes
from popsnet.model.network import Network
from popsnet.programs.routers.mei_rizzi import INTERMEDIATE_GROUP, participation
from popsnet.workloads.permutations.uniform import RANDOM

_BLOCK, _LARGE_BLOCK = 2**14, 2**15
_MANY = 2**20
"""The most packets of a run on one thread. Up to sixteen times as many, names are short, so that 32
bits hold a coupler of a bucket and a name."""


class MeiRizziLogRow(Protocol):
    """A step in the log."""

    undelivered: int
    sent: int
    survivors: int
    """Of slot 1."""
    collisions: int
    slots: int


LOG = record_type(MeiRizziLogRow)


class MeiRizziLayout(NamedTuple):
    """The division of a network's packets into blocks, and of words into fields."""

    d: int
    g: int
    rows: int
    """Groups in a block."""
    magic: int
    """Packet p of a block is in row (p · magic) >> 32 of it: exact up to 2^16 packets."""
    number_bits: int
    """Bits of a packet's number in its block."""
    group_bits: int
    batch: int
    """Blocks in a batch, whose packets have different names."""
    name_bits: int
    """Bits of a name in a batch."""

    @classmethod
    def of(cls, network: Network, rows: int = 0, batch: int = 0) -> MeiRizziLayout:
        """Divide into blocks of a suitable size, of one group if that is larger, or of these rows.

        Blocks of small networks are small enough for entries of 32 bits, if that is possible.
        A batch has about a hundred survivors for each bucket of 2^18 couplers.
        """
        block = _BLOCK if network.n <= 16 * _MANY else _LARGE_BLOCK
        if network.n <= _MANY:
            block = min(block, max(2**32 >> 2 * (network.g - 1).bit_length(), 64))
        rows = rows or min(max(block // network.d, 1), network.g)
        batch = batch or max((network.couplers >> 10) // (rows * network.d), 1)
        return cls(
            d=network.d,
            g=network.g,
            rows=rows,
            magic=0 if rows == 1 else -(-(2**32) // network.d),
            number_bits=(rows * network.d - 1).bit_length(),
            group_bits=(network.g - 1).bit_length(),
            batch=batch,
            name_bits=(batch * padded(rows * network.d) - 1).bit_length(),
        )

    @property
    def size(self) -> int:
        """Packets in a block."""
        return self.rows * self.d

    @property
    def blocks(self) -> int:
        """The blocks of the network. The last may have fewer rows."""
        return -(-self.g // self.rows)

    @property
    def entry_type(self) -> type[np.uint32] | type[np.uint64]:
        """The narrowest type that holds an entry."""
        return np.uint32 if 2 * self.group_bits + self.name_bits <= 32 else np.uint64

    @property
    def row_words(self) -> int:
        """Words with a byte for each coupler out of a block."""
        return -(-(self.rows << self.group_bits) // 8)


def padded(size: int) -> int:
    """Return the names in a block, a multiple of the bits of a word."""
    return -(-size // 64) * 64


class MeiRizziPurposes(NamedTuple):
    """The numbers of the purposes of coins."""

    run: np.uint64
    permutation: np.uint64
    intermediate: np.uint64


class MeiRizziProgram(NamedTuple):
    """The steps of a run."""

    thresholds: U64
    """A packet takes part in step i if its coin is below thresholds[i], and in all later steps."""
    max_steps: int
    executed: bool
    """Whether a packet is delivered in slot 5 and acknowledged by two more messages. If not, a
    packet that survives slot 2 counts as delivered there."""
    purposes: MeiRizziPurposes

    @classmethod
    def of(cls, network: Network, max_steps: int, executed: bool) -> MeiRizziProgram:
        """Return the program of a network."""
        steps = min(-(-4 * (network.d - network.g) // network.g), max_steps)
        thresholds = (participation(network, step) for step in range(steps))
        purposes = as_purposes(MeiRizziPurposes, "run", RANDOM, INTERMEDIATE_GROUP)
        return cls(np.fromiter(thresholds, np.uint64, steps), max_steps, executed, purposes)


class MeiRizziWorkspace(NamedTuple):
    """The memory of a thread that executes whole runs, kept because fresh memory is slow."""

    targets: U16 | U32  # temporary groups; for deferred, destinations
    shuffled: U32  # draws of a shuffle
    codes: U32  # pending packets, block after block
    sizes: I64  # how many of each block
    taking: U32  # positions of those that take part in a step, and
    taken: U32  # their codes
    couplers: U32
    drawn: U32 | U64  # entries of all packets of a block
    first: U64  # slot 1, the couplers out of one block, eight in a word
    entries: U32 | U64  # survivors of slot 1, block after block
    ends: I64
    second: U64  # slot 2, all couplers
    delivered: U32  # names
    flags: U8  # of a selection
    waiting: U32  # for deferred, by index and group: 0, or 1 + the block that a copy there is for
    stop: U8  # set by another thread to end the run early
