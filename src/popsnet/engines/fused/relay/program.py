"""A schedule of relay as numbers, for compiled code."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from popsnet.base.compiled import compiled
from popsnet.engines.fused.arrays import I64, Records, record_type
from popsnet.engines.fused.kernel import as_purposes
from popsnet.model.network import Network
from popsnet.programs.routers.relay.bijection import CELLS
from popsnet.programs.routers.relay.grid import Grid
from popsnet.programs.routers.relay.marked import Mark, MarkSeveral
from popsnet.programs.routers.relay.park import Park, SweepStage
from popsnet.programs.routers.relay.router import SEED
from popsnet.programs.routers.relay.schedule import RelaySchedule
from popsnet.programs.routers.relay.single_attempt import Fold, Shower
from popsnet.programs.routers.relay.state import ATTEMPT, CANDIDATES, SHIFT, RelayStage
from popsnet.programs.routers.relay.team import TeamStage
from popsnet.workloads.permutations.uniform import RANDOM

PARK, SWEEP, FOLD, SHOWER, GRID, TEAM, MARKED = range(7)

_KINDS: dict[type[RelayStage], tuple[int, str]] = {
    Park: (PARK, "windows"),
    SweepStage: (SWEEP, ""),
    Fold: (FOLD, ""),
    Shower: (SHOWER, "copies"),
    Grid: (GRID, "x"),
    TeamStage: (TEAM, "candidates"),
    Mark: (MARKED, "bijections"),
    MarkSeveral: (MARKED, "bijections"),
}
"""What each stage is in a program, and the attribute that its number is."""


class ProgramStage(Protocol):
    """A stage of a program.

    Its numbers are where windows begin and end, or its copies (one of F and Q), candidates, or the
    x of a grid.
    """

    kind: int
    first: int
    second: int
    slots: int


class RelayPurposes(NamedTuple):
    """The numbers of the purposes of coins."""

    run: np.uint64
    permutation: np.uint64
    seed: np.uint64
    cells: np.uint64
    shift: np.uint64
    attempt: np.uint64
    candidates: np.uint64


class Stages(NamedTuple):
    """A schedule, and the most steps for which it is followed."""

    stages: Records
    repeated: int
    """The stage that follows the last one."""
    windows: I64
    """Of all stages of park, and one of k slots for every sweep."""
    widest: int
    """The longest window of any stage, 1 if there is none."""
    copies: int
    """The most copies of any shower."""
    marks: int
    """The most bijections of a marked stage, 0 if there is none."""
    turns: int
    """The most attempt slots of any grid."""
    max_steps: int
    purposes: RelayPurposes


@lru_cache(maxsize=64)
def program_of(network: Network, schedule: RelaySchedule, max_steps: int) -> Stages:
    """Return the program of a schedule."""
    rows: list[tuple[int, int, int, int]] = []
    windows: list[int] = []
    stages = (*schedule.stages, *schedule.repeated)
    for stage in stages:
        kind, name = _KINDS[type(stage)]
        number: Any = getattr(stage, name, 1)
        if kind in (PARK, SWEEP):
            begin = len(windows)
            windows += number if kind == PARK else [-(-network.d // network.g)]
            number = begin
        rows.append((kind, number, len(windows), stage.slots(network)))
    return Stages(
        stages=np.array(rows, dtype=record_type(ProgramStage)),
        repeated=len(schedule.stages),
        windows=np.array(windows, dtype=np.int64),
        widest=max(windows, default=1),
        copies=max((stage.copies for stage in stages if isinstance(stage, Shower)), default=1),
        marks=max((stage.bijections for stage in stages if stage.looks_ahead), default=0),
        turns=max((stage.x for stage in stages if isinstance(stage, Grid)), default=1),
        max_steps=max_steps,
        purposes=as_purposes(RelayPurposes, "run", RANDOM, SEED, CELLS, SHIFT, ATTEMPT, CANDIDATES),
    )


@compiled(inline=True)
def row_of(step: int, rows: int, repeated: int) -> int:
    """Return the row of a step's stage, where stages to repeat follow each other."""
    return step if step < rows else repeated + (step - repeated) % (rows - repeated)
