"""A schedule of relay as numbers, for compiled code."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.arrays import I64, Records, record_type
from popsnet.engines.fused.kernel import as_purposes
from popsnet.network import Network
from popsnet.permutations.uniform import RANDOM
from popsnet.routing.relay.bijection import CELLS
from popsnet.routing.relay.grid import Grid
from popsnet.routing.relay.marked import Mark, MarkSeveral
from popsnet.routing.relay.park import Park, SweepStage
from popsnet.routing.relay.router import SEED
from popsnet.routing.relay.schedule import RelaySchedule
from popsnet.routing.relay.single_attempt import Fold, Shower
from popsnet.routing.relay.state import ATTEMPT, CANDIDATES, SHIFT, RelayStage
from popsnet.routing.relay.team import TeamStage

PARK, SWEEP, FOLD, SHOWER, GRID, TEAM, MARKED = range(7)

_KINDS: dict[type[RelayStage], int] = {
    Park: PARK,
    SweepStage: SWEEP,
    Fold: FOLD,
    Shower: SHOWER,
    Grid: GRID,
    TeamStage: TEAM,
    Mark: MARKED,
    MarkSeveral: MARKED,
}


class ProgramStage(Protocol):
    """A stage of a program.

    Its numbers are where windows begin and end, copies (one of F and Q), candidates, or the x and y
    of a grid.
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
        first, second = _numbers(stage, network, windows)
        rows.append((_KINDS[type(stage)], first, second, stage.slots(network)))
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


def _numbers(stage: RelayStage, network: Network, windows: list[int]) -> tuple[int, int]:
    """Return the two numbers of a stage, and append its windows to the list."""
    start = len(windows)
    if isinstance(stage, Park):
        windows.extend(stage.windows)
    elif isinstance(stage, SweepStage):
        windows.append(-(-network.d // network.g))
    elif isinstance(stage, Fold):
        return 1, 0
    elif isinstance(stage, Shower):
        return stage.copies, 0
    elif isinstance(stage, Grid):
        return stage.x, stage.y
    elif isinstance(stage, TeamStage):
        return stage.candidates, 0
    elif isinstance(stage, Mark | MarkSeveral):
        return stage.bijections, 0
    return start, len(windows)


@compiled(inline=True)
def row_of(step: int, rows: int, repeated: int) -> int:
    """Return the row of a step's stage, where stages to repeat follow each other."""
    return step if step < rows else repeated + (step - repeated) % (rows - repeated)
