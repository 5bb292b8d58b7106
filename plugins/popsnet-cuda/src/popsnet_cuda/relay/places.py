"""Public bijections on the device, and the stages of a schedule as numbers, for d = g."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from popsnet.base.splitmix import step_key, word
from popsnet.engines.fused.arrays import U32, U64
from popsnet.engines.fused.relay.bijections import WORDS, half_of, mask_of, one_round
from popsnet.engines.fused.relay.program import RelayPurposes, Stages
from popsnet.model.network import Network
from popsnet.programs.routers.relay.bijection import FRESH, ROUNDS

from popsnet_cuda.driver import as_u64
from popsnet_cuda.jit import device

KIND, FIRST, SECOND, SLOTS = range(4)
STAGE = 4
"""The numbers of a stage."""

_ONE = np.uint64(1)


class RelaySteps(NamedTuple):
    """A schedule besides its stages and windows."""

    purposes: RelayPurposes
    repeated: np.uint64
    """The stage that follows the last one."""
    mask: np.uint64
    half: np.uint64
    """Of public bijections: 2^m - 1 and ⌈m / 2⌉."""

    @classmethod
    def of(cls, network: Network, program: Stages) -> RelaySteps:
        """Return what kernels need of a program."""
        numbers = program.repeated, mask_of(network.d), half_of(network.d)
        return cls(program.purposes, *as_u64(*numbers))


def stage_numbers(program: Stages) -> tuple[U64, U64]:
    """Return the numbers of all stages, one after another, and their windows."""
    names = ("kind", "first", "second", "slots")
    stages = np.stack([program.stages[name] for name in names], axis=1).astype(np.uint64)
    return stages.reshape(-1), program.windows.astype(np.uint64)


@device
def apply_round(program: RelaySteps, row: np.uint64, x: np.uint32) -> np.uint32:
    """Apply one round to one value."""
    return np.uint32(one_round(x, row, np.uint32(program.mask), np.uint32(program.half)))


@device
def turn_by(program: RelaySteps, key: np.uint64, g: np.uint32, group: np.uint32) -> np.uint32:
    """Return the place of a group under one bijection of all groups."""
    x = group
    while True:
        for r in range(ROUNDS):
            x = apply_round(program, np.uint64(word(key, np.uint64(r))) | _ONE, x)
        if x < g:
            return x


@device
def place_of(
    program: RelaySteps, rows: U64, number: np.uint32, g: np.uint32, target: np.uint32
) -> np.uint32:
    """Return the place of a destination under one of several bijections: its relay group."""
    group = target // g
    x, start = target - group * g, number * np.uint32(WORDS) * g + group
    while True:
        for r in range(ROUNDS):
            x = apply_round(program, rows[start + np.uint32(r) * g], x)
        if x < g:
            break
    x += np.uint32(rows[start + np.uint32(ROUNDS) * g])
    return x if x < g else x - g


@device
def is_turned(bijections: np.uint64, fresh: np.uint64) -> bool:
    """Return whether the next bijection is the one before it, turned.

    ``fresh`` is one more than the number of the last bijection that was not turned, or 0.
    """
    return bool(bijections >= np.uint64(FRESH) and fresh > np.uint64(0))


@device
def draw_bijection(
    program: RelaySteps, public: np.uint64, bijections: np.uint64, fresh: np.uint64,
    g: np.uint32, turn: U32, rows: Any, number: np.uint32, thread: np.uint32, threads: np.uint32,
) -> np.uint64:  # fmt: skip
    """Write the rows of the next bijection with all these threads, and return ``fresh``."""
    key = np.uint64(step_key(public, program.purposes.cells, bijections))
    turned, start = is_turned(bijections, fresh), number * np.uint32(WORDS) * g
    if not turned:
        fresh = bijections + _ONE
    source = np.uint64(step_key(public, program.purposes.cells, fresh - _ONE))
    b = thread
    while b < g:
        if turned:
            moved = turn[b] + turn_by(program, key, g, b)
            turn[b] = moved if moved < g else moved - g
        for r in range(ROUNDS):
            at = np.uint64(b) * np.uint64(ROUNDS) + np.uint64(r)
            rows[start + np.uint32(r) * g + b] = np.uint64(word(source, at)) | _ONE
        rows[start + np.uint32(ROUNDS) * g + b] = turn[b]
        b += threads
    return fresh


@device
def row_of(step: np.uint64, rows: np.uint64, repeated: np.uint64) -> np.uint64:
    """Return the row of a step's stage, where stages to repeat follow each other."""
    return step if step < rows else repeated + (step - repeated) % (rows - repeated)


def most_slots(program: Stages, max_steps: int) -> int:
    """Return the slots of a run of this many steps, and of its first slot."""
    slots, count, again = program.stages["slots"], len(program.stages), program.repeated
    first = int(slots[: min(max_steps, count)].sum())
    rounds, rest = divmod(max(max_steps - count, 0), count - again)
    return 1 + first + rounds * int(slots[again:].sum()) + int(slots[again : again + rest].sum())
