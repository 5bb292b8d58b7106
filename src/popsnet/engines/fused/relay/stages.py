"""The stages one after another: a whole run on one thread, and what large runs share with it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from popsnet.coins import number_of
from popsnet.compiled import compiled
from popsnet.engines.fused.arena import cut
from popsnet.engines.fused.passes import I64, U32, U64
from popsnet.engines.fused.relay.alarm import alarm
from popsnet.engines.fused.relay.bijections import WORDS, make_rows, make_turn, tabulate
from popsnet.engines.fused.relay.grid import grid
from popsnet.engines.fused.relay.ground import (
    ACKED,
    BITS,
    COLLISIONS,
    DESTROYED,
    HOME,
    LAST,
    MESSAGES,
    TALLIED,
    Ground,
    Hands,
    Packets,
)
from popsnet.engines.fused.relay.park import park
from popsnet.engines.fused.relay.program import FOLD, GRID, PARK, SHOWER, SWEEP, Program, row_of
from popsnet.engines.fused.relay.shower import judge, mark
from popsnet.engines.fused.relay.ways import begin
from popsnet.permutations.uniform import RANDOM, fill, shuffle
from popsnet.routing.relay.bijection import CELLS, FRESH
from popsnet.routing.relay.router import SEED
from popsnet.routing.relay.state import ATTEMPT, SHIFT
from popsnet.splitmix import run_key, step_key, word

LOGGED = 8
"""Of a run up to each step: hungry, pending, slots, the last slot that delivered; messages,
collisions, destroyed, bits."""

SEED_BITS = 64
"""Of the broadcast that a run begins with."""

_LARGEST_TABLE = 2**20
"""Up to so many packets all places of a stage may be tabulated: the table is in a cache."""
_TABULATED = 4
"""It pays if one packet in so many is pending."""

_32 = np.uint64(32)
_RUN, _RANDOM, _SEED, _CELLS, _SHIFT, _ATTEMPT = range(6)


class Public(NamedTuple):
    """What all threads know of a stage: its coins, and the couplers that all use."""

    rows: U64  # multipliers of its bijections, one after another
    turn: U32  # by how much the places of each group are moved on
    keys: U64  # of the private coins of its windows
    table: U32  # the places of all destinations; empty on large networks
    couplers: U64  # of deliveries, two bits each; d > g
    groups: I64  # for the global OR
    seeds: U64  # private, public
    drawn: I64  # bijections and windows so far
    purposes: U64

    @classmethod
    def of(cls, ground: Ground, program: Program) -> Public:
        """For runs on a network."""
        pieces = _pieces(ground, program)
        rows, turn, keys, table, couplers, groups, seeds, drawn = cut(*pieces)
        names = ("run", RANDOM, SEED, CELLS, SHIFT, ATTEMPT)
        purposes = np.array([number_of(name) for name in names], dtype=np.uint64)
        return cls(rows, turn, keys, table, couplers, groups.reshape(-1, 2), seeds, drawn, purposes)


def _pieces(ground: Ground, program: Program) -> list[tuple[int, type]]:
    g, contends = ground.g, ground.d > ground.g
    return [
        (g * WORDS * program.copies, np.uint64),
        (g, np.uint32),
        (max(len(program.windows), 1), np.uint64),
        (ground.d * g if ground.d * g <= _LARGEST_TABLE else 0, np.uint32),
        (-(-g * g // 32) if contends else 0, np.uint64),
        (2 * g, np.int64),
        (2, np.uint64),
        (2, np.int64),
    ]


def public_bytes(ground: Ground, program: Program) -> int:
    """Memory of it."""
    return sum(length * np.dtype(kind).itemsize for length, kind in _pieces(ground, program))


@compiled
def start(public: Public, seed: np.uint64) -> None:
    """The coins of a run: processor 0 draws the public seed and tells all."""
    public.seeds[0] = seed
    public.seeds[1] = word(step_key(seed, public.purposes[_SEED], 0), np.uint64(0))
    public.drawn[:] = 0
    public.turn[:] = 0


@compiled
def turn_to(ground: Ground, program: Program, row: int, public: Public) -> int:
    """Draw what the stage of a row needs; returns the shift of a grid."""
    kind, first, second = program.stages[row, 0], program.stages[row, 1], program.stages[row, 2]
    width, shift, coins = ground.g * WORDS, 0, public.seeds[1]
    if kind == GRID:
        key = step_key(coins, public.purposes[_SHIFT], public.drawn[0])
        bound = np.uint64(ground.superclasses)
        shift = int(np.int64((word(key, np.uint64(0)) >> _32) * bound >> _32))
        public.drawn[0] += 1
    for u in range(first if kind in (FOLD, SHOWER) else 1):
        draw_bijection(ground, public, public.rows[u * width : (u + 1) * width])
    for i in range(first, second if kind == PARK else first):
        key = step_key(public.seeds[0], public.purposes[_ATTEMPT], public.drawn[1])
        public.keys[i - first] = key
        public.drawn[1] += 1
    return shift


@compiled
def draw_bijection(ground: Ground, public: Public, rows: U64) -> None:
    """The next public bijection: a fresh one, or for d = g the one before it, turned."""
    number, cells = public.drawn[0], public.purposes[_CELLS]
    key = step_key(public.seeds[1], cells, number)
    if ground.d == ground.g and number >= FRESH:
        make_turn(key, public.turn, rows)
        key = step_key(public.seeds[1], cells, FRESH - 1)
    make_rows(key, public.turn, rows)
    public.drawn[0] += 1


@compiled
def write_down(log: I64, away: int, pending: int, slots: int, last: int, tally: I64) -> None:
    """Log a step."""
    log[0], log[1], log[2], log[3] = away - tally[HOME], pending, slots, last
    log[4], log[5], log[6] = tally[MESSAGES], tally[COLLISIONS], tally[DESTROYED]
    log[7] = tally[BITS]


@compiled
def route(
    ground: Ground, program: Program, max_steps: int, packets: Packets, hands: Hands,
    public: Public, seed: np.uint64, log: I64,
) -> int:  # fmt: skip
    """Route one permutation; returns the steps."""
    start(public, seed)
    tally = np.zeros(TALLIED, dtype=np.int64)
    tally[MESSAGES], tally[BITS] = 1, SEED_BITS
    n, blocks = ground.d * ground.g, ground.blocks
    away = begin(ground, packets, hands, 0, blocks)
    pending, step, slots = away, 0, 1
    last = int(away < n)  # what starts at home is delivered in the first slot
    while True:
        if pending > 0:
            row = row_of(step, len(program.stages), program.repeated)
            kind, one = program.stages[row, 0], program.stages[row, 1]
            shift = turn_to(ground, program, row, public)
            table = look_ahead(ground, kind, pending, public)
            tally[LAST] = 0
            if kind in (PARK, SWEEP):
                windows = program.windows[one : program.stages[row, 2]]
                park(
                    ground, packets, hands, public.rows, table, windows, public.keys,
                    kind == SWEEP, 0, blocks, tally,
                )  # fmt: skip
            elif kind == GRID:
                grid(ground, packets, hands, public.rows, table, one, shift, 0, blocks, tally)
            else:
                for turn in range(one):
                    deliveries = public.rows, one, turn, public.couplers
                    if ground.d > ground.g:
                        mark(ground, packets, hands, *deliveries, tally)
                    judge(ground, packets, hands, *deliveries, kind == FOLD, 0, blocks, tally)
            pending = away - tally[ACKED]
            if kind == SHOWER:
                alarm(ground, packets, hands, public.groups, tally)
                pending = pending if tally[HOME] < away else 0
            last = slots + tally[LAST] if tally[LAST] > 0 else last
            slots += program.stages[row, 3]
        write_down(log[step], away, pending, slots, last, tally)
        step += 1
        if pending == 0 or step == max_steps or hands.stop[0] != 0:
            return step


@compiled
def look_ahead(ground: Ground, kind: int, pending: int, public: Public) -> U32:
    """A table of all places, where it pays; else an empty one."""
    few = _TABULATED * pending < len(public.table)
    if len(public.table) == 0 or few or kind in (FOLD, SHOWER):
        return public.table[:0]
    tabulate(ground, public.rows, ground.width if kind == GRID else ground.d, public.table)
    return public.table


@compiled
def route_many(
    ground: Ground, program: Program, max_steps: int, packets: Packets, hands: Hands,
    public: Public, seeds: U64, first: int, last: int, drawn: U32, log: I64, steps: I64,
) -> int:  # fmt: skip
    """Runs first, first + 1, … on uniform permutations, those the same seeds give elsewhere.

    Returns how many: up to last, or as many as the log has room for.
    """
    filled, done, n = 0, 0, ground.d * ground.g
    for run in range(first, last):
        if len(log) - filled < max_steps or hands.stop[0] != 0:
            break
        instance = run_key(seeds[1], public.purposes[_RUN], run)
        fill(packets.destination, n)
        key = step_key(instance, public.purposes[_RANDOM], 1)
        shuffle(packets.destination, 0, n, key, drawn)
        coins = run_key(seeds[0], public.purposes[_RUN], run)
        steps[done] = route(ground, program, max_steps, packets, hands, public, coins, log[filled:])
        filled += steps[done]
        done += 1
    return done
