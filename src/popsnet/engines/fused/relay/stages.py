"""Sequences of stages: whole runs on one thread, and one large run on all threads.

In a large run threads execute each stage, for some blocks at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple, Protocol

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.base.splitmix import step_key, word
from popsnet.engines.fused.arrays import I64, U32, U64, Records, Table, allocate, record_type
from popsnet.engines.fused.kernel import LargeRun, RunSequence, StepReport, begin_run
from popsnet.engines.fused.relay.bijections import WORDS, make_rows, make_turn, tabulate
from popsnet.engines.fused.relay.elect import elect
from popsnet.engines.fused.relay.grid import grid
from popsnet.engines.fused.relay.layout import (
    TALLY,
    Bijections,
    BlockRange,
    RelayLayout,
    RelayPackets,
    RelayPlaces,
    RelayTally,
    RelayWorkspace,
    workspace_table,
)
from popsnet.engines.fused.relay.marked import RelayEcho, marked
from popsnet.engines.fused.relay.park import Windows, park
from popsnet.engines.fused.relay.pending import begin
from popsnet.engines.fused.relay.program import (
    FOLD,
    GRID,
    MARKED,
    PARK,
    SHOWER,
    SWEEP,
    TEAM,
    ProgramStage,
    Stages,
    row_of,
)
from popsnet.engines.fused.relay.shower import GROUP, Deliveries, global_or, mark, resolve
from popsnet.engines.fused.team import GAP, Team
from popsnet.experiment.experiment import Instance
from popsnet.programs.routers.relay.bijection import FRESH

_SEED_BITS = 64
"""Of the broadcast that a run begins with."""

_LARGEST_TABLE = 2**20
"""Up to this many packets the places of a stage may be tabulated: the table fits in a cache."""
_TABULATED = 4
"""The table saves time if at least one packet in this many is pending."""

_PACKETS_AT_A_TIME = 2**24
"""The most packets of a piece of work of a large run."""

_32 = np.uint64(32)


class RelayLogRow(Protocol):
    """A row of the log: a run up to a step."""

    undelivered: int
    pending: int
    slots: int
    slots_delivered: int
    """The last slot in which a packet was delivered."""
    messages: int
    collisions: int
    destroyed: int
    bits: int


LOG = record_type(RelayLogRow)


class RunState(Protocol):
    """The progress of a run."""

    private_seed: np.uint64
    public_seed: np.uint64
    bijections: int
    """Drawn so far, and so"""
    windows: int
    fresh: int
    """The number of the last bijection that is not turned, or -1."""
    shift: int
    """Of a grid."""
    tabulated: int
    """Places of this stage in the table."""
    later: int
    """Bijections that were drawn for the next stage."""
    moving: int
    """Packets that do not start at their destinations."""
    pending: int
    slots: int
    slots_delivered: int


class PublicState(NamedTuple):
    """The state of a stage that all threads share: its coins, and the couplers that all use."""

    rows: U64  # multipliers of its bijections, one after another
    later: U64  # the same for the next stage
    turn: U32  # the shifts of the places of each group
    keys: U64  # of the private coins of its windows
    table: U32  # the places of all destinations; empty on large networks
    couplers: U64  # of deliveries, two bits each; d > g
    groups: Records  # for the global OR
    state: Records  # one record
    tally: Records  # one record, of the whole run


def public_table(layout: RelayLayout, program: Stages) -> Table:
    """Return the arrays of a public state."""
    g, n = layout.g, layout.d * layout.g
    return {
        "rows": (g * WORDS * max(program.copies, program.marks), np.uint64),
        "later": (g * WORDS * program.marks, np.uint64),
        "turn": (g, np.uint32),
        "keys": (max(len(program.windows), 1), np.uint64),
        "table": (n if n <= _LARGEST_TABLE else 0, np.uint32),
        "couplers": (-(-g * g // 32) if layout.d > g else 0, np.uint64),
        "groups": (g, GROUP),
        "state": (1, record_type(RunState)),
        "tally": (1, TALLY),
    }


class RelayMemory(NamedTuple):
    """The memory of a thread that executes whole runs."""

    packets: RelayPackets
    work: RelayWorkspace
    public: PublicState
    shuffled: U32  # draws of a shuffle


@compiled
def start(
    layout: RelayLayout, program: Stages, public: PublicState, seed: np.uint64, moving: int
) -> None:
    """Begin a run: processor 0 draws the public seed and broadcasts it in one slot."""
    state, tally = public.state[0], public.tally[0]
    state.private_seed = seed
    state.public_seed = word(step_key(seed, program.purposes.seed, 0), np.uint64(0))
    state.bijections, state.windows, state.fresh, state.later = 0, 0, -1, 0
    state.moving, state.pending = moving, moving
    state.slots = 1
    starts_delivered = moving < layout.d * layout.g  # some packets start at their destinations
    state.slots_delivered = int(starts_delivered)
    tally.messages, tally.bits, tally.collisions, tally.destroyed = 1, _SEED_BITS, 0, 0
    tally.delivered, tally.acked = 0, 0
    public.turn[:] = 0


@compiled
def prepare(
    layout: RelayLayout, program: Stages, stage: ProgramStage, following: ProgramStage,
    public: PublicState, table: U32,
) -> None:  # fmt: skip
    """Draw the coins of a stage, and tabulate its places if that saves time."""
    state, purposes = public.state[0], program.purposes
    kind, first, width = stage.kind, stage.first, layout.g * WORDS
    public.tally[0].last_slot, public.tally[0].ended = 0, 0
    if kind == GRID:
        key = step_key(state.public_seed, purposes.shift, state.bijections)
        bound = np.uint64(layout.superclasses)
        state.shift = int(np.int64((word(key, np.uint64(0)) >> _32) * bound >> _32))
        state.bijections += 1
    if kind == TEAM:
        public.keys[0] = step_key(state.public_seed, purposes.candidates, state.bijections)
        state.bijections += 1
        state.tabulated = 0
        return
    if state.later > 0:
        for i in range(first * width):  # for a slice Numba compiles a check, and what it would say
            public.rows[i] = public.later[i]
    else:
        number = first if kind in (FOLD, SHOWER, MARKED) else 1
        draw_bijections(layout, purposes.cells, public, public.rows, number)
    state.later = following.first if sends_ahead(kind, following) else 0
    draw_bijections(layout, purposes.cells, public, public.later, state.later)
    for i in range(first, stage.second if kind == PARK else first):
        public.keys[i - first] = step_key(state.private_seed, purposes.attempt, state.windows)
        state.windows += 1
    state.tabulated = 0
    if kind not in (FOLD, SHOWER, MARKED) and _TABULATED * state.pending >= len(table) > 0:
        tabulate(layout, public.rows, layout.width if kind == GRID else layout.d, table)
        state.tabulated = len(table)


@compiled(inline=True)
def sends_ahead(kind: int, following: ProgramStage) -> bool:
    """Return whether attempts of a stage send packets for the next one."""
    return following.kind == MARKED and kind in (PARK, SWEEP, MARKED)


@compiled
def draw_bijections(
    layout: RelayLayout, cells: np.uint64, public: PublicState, rows: U64, number: int
) -> None:
    """Draw the next public bijections, fresh, or for d = g the one before, turned."""
    state, width = public.state[0], layout.g * WORDS
    for u in range(number):
        key = step_key(state.public_seed, cells, state.bijections)
        some = rows[u * width : (u + 1) * width]
        if layout.d == layout.g and state.bijections >= FRESH and state.fresh >= 0:
            make_turn(key, public.turn, some)
            key = step_key(state.public_seed, cells, state.fresh)
        else:
            state.fresh = state.bijections
        make_rows(key, public.turn, some)
        state.bijections += 1


@compiled
def finish(stage: ProgramStage, state: RunState, tally: RelayTally) -> None:
    """End a stage: note how many packets are pending, and the slot of the last delivery."""
    state.pending = state.moving - tally.acked
    if stage.kind == SHOWER and tally.delivered == state.moving:
        state.pending = 0
    if tally.last_slot > 0:
        state.slots_delivered = state.slots + tally.last_slot
    state.slots += tally.ended if tally.ended > 0 else stage.slots


@compiled
def write_row(state: RunState, tally: RelayTally, row: RelayLogRow) -> None:
    """Log a step."""
    row.undelivered, row.pending = state.moving - tally.delivered, state.pending
    row.messages, row.collisions, row.destroyed = tally.messages, tally.collisions, tally.destroyed
    row.bits, row.slots_delivered, row.slots = tally.bits, state.slots_delivered, state.slots


@compiled
def route_runs(
    layout: RelayLayout, program: Stages, memory: RelayMemory, runs: RunSequence, log: Records,
    steps: I64, marks: bool | None, others: bool | None,
) -> int:  # fmt: skip
    """Execute runs, as :attr:`CompiledRuns.route` says."""
    filled, done, n, purposes = 0, 0, layout.d * layout.g, program.purposes
    packets, work, _, shuffled = memory  # once, because reference counting takes time
    for run in range(runs.first, runs.last):
        if len(log) - filled < program.max_steps or work.stop[0] != 0:
            break
        seed = begin_run(packets.destination, n, purposes, runs, run, shuffled)
        steps[done] = do_stages(layout, program, memory, seed, log[filled:], marks, others)
        filled += steps[done]
        done += 1
    return done


@compiled
def do_stages(
    layout: RelayLayout, program: Stages, memory: RelayMemory, seed: np.uint64, log: Records,
    marks: bool | None, others: bool | None,
) -> int:  # fmt: skip
    """Execute stages until no packet is pending, and return the number of steps."""
    packets, work, public, _ = memory
    state, tally, step, blocks = public.state[0], public.tally[0], 0, BlockRange(0, layout.blocks)
    start(layout, program, public, seed, begin(layout, packets, work, 0, layout.blocks))
    nothing = public.turn[:0]
    silence = RelayEcho(nothing, nothing, nothing, program.windows[:0])
    echo = silence
    while True:
        if state.pending > 0:
            stage = program.stages[row_of(step, len(program.stages), program.repeated)]
            following = program.stages[row_of(step + 1, len(program.stages), program.repeated)]
            prepare(layout, program, stage, following, public, public.table)
            kind, first, ahead = stage.kind, stage.first, Bijections(public.later, state.later)
            before, echo = echo, silence
            if kind in (PARK, SWEEP):
                lengths, places = program.windows[first : stage.second], places_of(public)
                windows = Windows(lengths, public.keys, kind == SWEEP)
                park(layout, packets, work, places, windows, ahead, blocks, tally)
            if marks is not None and kind == MARKED:
                several, pending = Bijections(public.rows, first), state.pending
                echo = marked(layout, packets, work, several, ahead, before, pending, tally)
            if others is not None:
                do_other(layout, packets, work, public, kind, first)
            finish(stage, state, tally)
        write_row(state, tally, log[step])
        step += 1
        if state.pending == 0 or step == program.max_steps or work.stop[0] != 0:
            return step


@compiled(inline=True)
def places_of(public: PublicState) -> RelayPlaces:
    """Return the places of a stage with one bijection."""
    return RelayPlaces(public.rows, public.table[: public.state[0].tabulated])


@compiled(inline=True)
def do_other(
    layout: RelayLayout, packets: RelayPackets, work: RelayWorkspace, public: PublicState,
    kind: int, first: int,
) -> None:  # fmt: skip
    """Execute a stage of the kinds that few programs have."""
    state, tally, blocks = public.state[0], public.tally[0], BlockRange(0, layout.blocks)
    if kind == GRID:
        grid(layout, packets, work, places_of(public), first, state.shift, blocks, tally)
    elif kind == TEAM:
        elect(layout, packets, work, state.pending, first, public.keys[0], tally)
    elif kind in (FOLD, SHOWER):
        copies = Bijections(public.rows, first)
        for turn in range(first):
            deliveries = Deliveries(turn, kind == FOLD, public.couplers)
            if layout.d > layout.g:
                mark(layout, packets, work, copies, deliveries, tally)
            resolve(layout, packets, work, copies, deliveries, blocks, tally)
    if kind == SHOWER:
        global_or(layout, packets, work, public.groups, tally)


@compiled
def summarize(
    layout: RelayLayout, program: Stages, log: Records, steps: I64, table: Records, survivors: I64
) -> None:
    """Sum up the log, whose last row of a run has the sums, as :meth:`CompiledRuns.summarize`."""
    start = 0
    for run in range(len(steps)):
        for step in range(start, start + steps[run]):
            survivors[step] = log[step].undelivered
        start += steps[run]
        counts, row = table[run], log[start - 1]
        counts.slots, counts.slots_delivered = row.slots, row.slots_delivered
        counts.delivered, counts.lost = layout.d * layout.g - row.undelivered, 0
        counts.collisions, counts.destroyed = row.collisions, row.destroyed
        counts.messages, counts.steps = row.messages, steps[run]
        counts.control_bits, counts.capped = row.bits, int(row.pending > 0)


class DividedRun(LargeRun):
    """Runs of relay on all threads, which take blocks of packets."""

    def __init__(self, layout: RelayLayout, program: Stages, team: Team) -> None:
        super().__init__(layout.d * layout.g, layout.d * layout.g, np.uint32, team)
        self.layout, self.program, threads = layout, program, range(team.size)
        self.public = allocate(PublicState, public_table(layout, program))
        table = workspace_table(layout, program)
        self.workspaces = [allocate(RelayWorkspace, table, stop=team.stop) for _ in threads]
        words = layout.blocks * layout.words
        self.bits = np.zeros((2, words), dtype=np.uint64)
        self.ahead = np.zeros(words * program.marks, dtype=np.uint64)
        nothing = np.empty(0, dtype=np.uint32)
        self.silence = RelayEcho(nothing, nothing, nothing, np.empty(0, dtype=np.int64))
        self.echo = self.silence
        self.tallies = np.zeros((team.size, GAP), dtype=TALLY)[:, 0]

    def steps(self, instance: Instance, report: StepReport) -> Iterator[np.void]:
        """Route one permutation, and yield the row of the log of each step."""
        layout, program, public = self.layout, self.program, self.public
        destination, keyed = self.targets(instance.destination)
        packets = RelayPackets(self.bits[0], self.bits[1], self.ahead, destination, keyed)
        state, step, moving = public.state[0], 0, []
        self.echo = self.silence

        def begin_some(t: int, first: int, last: int) -> None:
            moving.append(begin(layout, packets, self.workspaces[t], first, last))

        for _ in self._on_blocks(begin_some):
            report(0, 0, layout.d * layout.g)
        start(layout, program, public, np.uint64(instance.coins.seed), sum(moving))
        while step == 0 or (state["pending"] > 0 and step < program.max_steps):
            if state["pending"] > 0:
                count, again = len(program.stages), program.repeated
                rows = [row_of(at, count, again) for at in (step, step + 1)]
                for _ in self._stage(packets, *program.stages[rows]):
                    report(step, int(state["slots"]), int(state["pending"]))
            log = np.zeros(1, dtype=LOG)
            write_row(state, public.tally[0], log[0])
            yield log[0]
            step += 1

    def _stage(self, packets: RelayPackets, stage: Any, following: Any) -> Iterator[None]:
        """Execute a stage, and yield now and then."""
        layout, public, tallies, kind = self.layout, self.public, self.tallies, stage["kind"]
        state, first = public.state[0], stage["first"]
        prepare(layout, self.program, stage, following, public, public.table[:0])
        tallies[:] = 0
        places, several = RelayPlaces(public.rows, public.table[:0]), Bijections(public.rows, first)
        ahead = Bijections(public.later, state["later"])
        if kind in (PARK, SWEEP):
            lengths = self.program.windows[first : stage["second"]]
            windows = Windows(lengths, public.keys, kind == SWEEP)
            yield from self._work(park, packets, places, windows, ahead)
        elif kind == GRID:
            yield from self._work(grid, packets, places, first, state["shift"])
        elif kind == MARKED:
            marks = several, ahead, self.echo, state["pending"]
            yield from self._alone(self._mark, packets, *marks, tallies[0])
        elif kind == TEAM:
            sets = first, public.keys[0]
            yield from self._alone(elect, packets, state["pending"], *sets, tallies[0])
        else:
            for turn in range(first):
                copies = several, Deliveries(turn, kind == FOLD, public.couplers)
                if layout.d > layout.g:
                    yield from self._alone(mark, packets, *copies, tallies[0])
                yield from self._work(resolve, packets, *copies)
        _add(public.tally, tallies)
        if kind == SHOWER:
            yield from self._alone(global_or, packets, public.groups, public.tally[0])
        if kind != MARKED:
            self.echo = self.silence
        finish(stage, public.state[0], public.tally[0])

    def _mark(self, *everything: Any) -> None:
        """Execute a marked stage, and keep the acks to repeat."""
        self.echo = marked(*everything)

    def _work(
        self, stage: Callable[..., None], packets: RelayPackets, *rest: object
    ) -> Iterator[None]:
        """Execute a compiled stage on all threads."""

        def work(t: int, first: int, last: int) -> None:
            fixed, blocks = (self.layout, packets, self.workspaces[t]), BlockRange(first, last)
            stage(*fixed, *rest, blocks, self.tallies[t])

        return self._on_blocks(work)

    def _alone(
        self, work: Callable[..., None], packets: RelayPackets, *rest: object
    ) -> Iterator[None]:
        """Execute on one thread what cannot be divided."""
        fixed = self.layout, packets, self.workspaces[0]
        return self.team.do(lambda _: work(*fixed, *rest), threads=1)

    def _on_blocks(self, work: Callable[[int, int, int], None]) -> Iterator[None]:
        """Let threads take blocks, several at a time, until none are left."""
        blocks, most = self.layout.blocks, max(_PACKETS_AT_A_TIME // self.layout.size, 1)
        stride = min(-(-blocks // self.team.size), most)
        tickets, stop = count(0, stride), self.team.stop

        def work_on(t: int) -> None:
            while (first := next(tickets)) < blocks and not stop[0]:
                work(t, first, min(first + stride, blocks))

        return self.team.do(work_on)


def _add(total: Records, tallies: Records) -> None:
    """Add the counts of all threads to those of the run."""
    for name in ("messages", "collisions", "destroyed", "delivered", "acked"):
        total[name] += tallies[name].sum()
    for name in ("last_slot", "bits", "ended"):
        total[name] = max(int(total[name][0]), tallies[name].max())
