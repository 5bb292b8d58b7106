"""A schedule of relay as numbers, for compiled code."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from popsnet.compiled import compiled
from popsnet.engines.fused.passes import I64
from popsnet.network import Network
from popsnet.routing.relay.grid import Grid
from popsnet.routing.relay.park import Park, SweepStage
from popsnet.routing.relay.schedule import RelaySchedule
from popsnet.routing.relay.single_attempt import Fold, Shower
from popsnet.routing.relay.state import RelayStage

PARK, SWEEP, FOLD, SHOWER, GRID = range(5)

_KINDS: dict[type[RelayStage], int] = {
    Park: PARK,
    SweepStage: SWEEP,
    Fold: FOLD,
    Shower: SHOWER,
    Grid: GRID,
}


class Program(NamedTuple):
    """Stages in rows: kind, two numbers, slots.

    The numbers are where windows begin and end, copies (a fold has one), or the x and y of a grid.
    """

    stages: I64
    repeated: int
    """The row that follows the last one."""
    windows: I64
    """Of all stages of park, and one of k slots for every sweep."""
    widest: int
    """The longest window of any stage; 1 if there is none."""
    copies: int
    """The most copies of any shower."""
    turns: int
    """The most attempt slots of any grid."""

    @classmethod
    def of(cls, network: Network, schedule: RelaySchedule) -> Program:
        """The program of a schedule."""
        return _program(network, schedule)


@lru_cache(maxsize=64)
def _program(network: Network, schedule: RelaySchedule) -> Program:
    rows: list[tuple[int, int, int, int]] = []
    windows: list[int] = []
    stages = (*schedule.stages, *schedule.repeated)
    for stage in stages:
        first, second = _numbers(stage, network, windows)
        rows.append((_KINDS[type(stage)], first, second, stage.slots(network)))
    return Program(
        stages=np.array(rows, dtype=np.int64),
        repeated=len(schedule.stages),
        windows=np.array(windows, dtype=np.int64),
        widest=max(windows, default=1),
        copies=max((stage.copies for stage in stages if isinstance(stage, Shower)), default=1),
        turns=max((stage.x for stage in stages if isinstance(stage, Grid)), default=1),
    )


def _numbers(stage: RelayStage, network: Network, windows: list[int]) -> tuple[int, int]:
    """The two numbers of a stage; its windows are put at the end of the list."""
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
    return start, len(windows)


@compiled(inline=True)
def row_of(step: int, rows: int, repeated: int) -> int:
    """The row of a step's stage: the repeated ones follow each other for ever."""
    return step if step < rows else repeated + (step - repeated) % (rows - repeated)
