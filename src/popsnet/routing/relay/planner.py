"""The planner: the schedule that the fluid limit says is shortest on a network.

Let V(ρ) be the expected number of slots still needed when the fraction ρ of all packets is pending.
A stage of c slots that takes ρ to ρ' costs c if anything is pending; packets that fail do so in
pairs, so that V(ρ) is the least of c·(1 - e^(-nρ/2)) + V(ρ') over all stages: a shortest way, found
on a grid of values of ρ from the smallest up. Showers end the run unless a processor objects. For
d ≥ 3g the first stage may have several windows: for each number of slots the best sequence of
windows is kept, and extended.

Nothing is known of the permutation; the plan depends on d and g alone, and any processor
can make it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from popsnet.network import Network
from popsnet.routing.relay.grid import superclasses
from popsnet.routing.relay.schedule import (
    WIDEST,
    Fold,
    Grid,
    Park,
    RelaySchedule,
    RelayStage,
    Shower,
    SweepStage,
)
from popsnet.theory.stages import (
    after_fold,
    after_grid,
    after_park,
    after_shower,
    after_sweep,
    after_windows,
    first_at_a_set,
    left_at_a_set,
)

Numbers = npt.NDArray[np.float64]

_GRID = 400
_NOTHING = 1e-6
"""Expected packets that are not planned for any more."""
_RETRY = Shower(1)
_TRIES = 4
_MOST_RETRIES = 100
_MOST_STAGES = 100
"""Where no stage gets far, on huge groups, the last is repeated anyway."""
_MANY = 32
"""For larger k = d/g windows are those of k = 32, in proportion."""


class RelayPlan(NamedTuple):
    """A schedule and the slots it is expected to take until every processor knows."""

    schedule: RelaySchedule
    slots: float


class _Option(NamedTuple):
    stage: RelayStage
    slots: int
    after: Numbers  # the fraction after it, for each on the grid
    ends: Numbers | None = None  # the slots of retries, if it is followed by nothing else


@lru_cache(maxsize=64)
def plan(network: Network) -> RelayPlan:
    """The shortest schedule by the fluid limit; O(1) evaluations of it for each size of stage."""
    grid = np.geomspace(_NOTHING / network.n, 1.0, _GRID)
    options = list(_options(network, grid))
    value, choice = _values(network, grid, options)
    stages = _stages(network, grid, options, choice, 1.0)
    best = RelayPlan(_schedule(network, stages), 1 + float(value[-1]))
    for windows, slots, rho in _first_windows(network):
        total = 1 + slots + float(np.interp(np.log(rho), np.log(grid), value))
        if total < best.slots:
            stages = _stages(network, grid, options, choice, rho)
            best = RelayPlan(_schedule(network, (Park(windows), *stages)), total)
    return best


def _schedule(network: Network, stages: tuple[RelayStage, ...]) -> RelaySchedule:
    """The stages, and what is repeated if chance leaves more than was planned for.

    For d > g a crowd stops the short stages: where many are left in a group, all of them meet. A
    park stage with a window of 2k slots always gets on, at a load of one half a slot or less. But
    it is long: it comes after some tries of the short one.
    """
    again: tuple[RelayStage, ...] = (_RETRY if isinstance(stages[-1], Shower) else stages[-1],)
    if network.blocks > 1:
        again = (*_TRIES * again, Park((min(2 * network.blocks, WIDEST),)))
    return RelaySchedule(stages, again)


def _options(network: Network, grid: Numbers) -> Iterator[_Option]:
    if network.d < network.g:
        classes = superclasses(network.d, network.g)
        for x in _grid_sizes(classes):
            stage: RelayStage = Grid(x, -(-classes // x))
            yield _Option(stage, stage.slots(network), _after(stage, network, grid))
        return
    for window in _window_sizes(network.blocks):
        stage = Park((window,))
        yield _Option(stage, stage.slots(network), _after(stage, network, grid))
    if network.d > network.g:
        yield _Option(Fold(), 4, _after(Fold(), network, grid))
    for copies in range(1, 5):
        stage = Shower(copies)
        after = _after(stage, network, grid)
        yield _Option(stage, stage.slots(network), after, _retries(network, grid, after))


def _after(stage: RelayStage, network: Network, rho: Numbers) -> Numbers:
    """The fraction that a stage leaves, for each it may begin with."""
    match stage:
        case Park((window,)):
            return after_park(network, rho, window)
        case Park(windows):
            return np.array([after_windows(network, float(one), windows) for one in rho])
        case SweepStage():
            return after_sweep(rho)
        case Fold():
            return after_fold(network, rho)
        case Shower(copies):
            return after_shower(network, rho, copies)
    assert isinstance(stage, Grid)  # these are all the stages there are
    return after_grid(network, rho, stage.x)


def fractions(schedule: RelaySchedule, network: Network) -> Iterator[float]:
    """Which fraction of all packets is undelivered after each stage in the limit, without end.

    A shower delivers without acks: what was pending before it is sent again in the next stage.
    """
    pending = undelivered = 1.0
    for stage in schedule:
        fails = float(_after(stage, network, np.array([pending]))[0]) / pending if pending else 0.0
        undelivered *= fails
        if not isinstance(stage, Shower):
            pending *= fails
        yield undelivered


def _together(network: Network) -> int:
    """How many packets fail together: two that met, unless a group has one packet only."""
    return 2 if network.d > 1 else 1


def _retries(network: Network, grid: Numbers, undelivered: Numbers) -> Numbers:
    """Expected slots of retries after a shower that leaves these fractions undelivered.

    All sources that were pending take part again, for none of them has an ack.
    """
    fails = _after(_RETRY, network, grid) / grid
    times = np.arange(_MOST_RETRIES)[:, None]
    unfinished = -np.expm1(-network.n * undelivered * fails**times)  # one copy is enough to object
    slots = _RETRY.slots(network) * unfinished.sum(axis=0)
    return np.where(unfinished[-1] < 1e-6, slots, np.inf)


def _grid_sizes(classes: int) -> list[int]:
    """Of x in XY(x, ⌈G/x⌉): all small ones, and some up to G."""
    sizes = {*range(1, min(classes, 64) + 1), *np.geomspace(1, classes, 100).astype(int).tolist()}
    return sorted(x for x in sizes if max(x, -(-classes // x)) <= WIDEST)


def _window_sizes(k: int) -> list[int]:
    """All small sizes, and some up to 3k + 4."""
    most = min(3 * k + 4, WIDEST)
    return sorted({*range(1, min(most, 16) + 1), *np.geomspace(1, most, 40).astype(int).tolist()})


def _values(
    network: Network, grid: Numbers, options: list[_Option]
) -> tuple[Numbers, npt.NDArray[np.intp]]:
    """V on the grid, and which option attains it."""
    logs, pending = np.log(grid), -np.expm1(-network.n * grid / _together(network))
    pending[-1] = 1.0  # at first
    value, choice = np.zeros(_GRID), np.zeros(_GRID, dtype=np.intp)
    slots = np.array([option.slots for option in options])
    left = np.array([option.after for option in options])
    ending = np.array([option.ends is not None for option in options])
    nowhere = np.full(_GRID, np.inf)
    ends = np.array([nowhere if option.ends is None else option.ends for option in options])
    for at in range(_GRID):
        after, rest = left[:, at], ends[:, at].copy()  # infinite if it gets nowhere
        rest[~ending & (after < grid[0])] = 0.0
        if at:
            nearer = ~ending & (after >= grid[0]) & (after < grid[at - 1])
            rest[nearer] = np.interp(np.log(after[nearer]), logs[:at], value[:at])
        costs = slots * pending[at] + rest
        choice[at] = int(np.argmin(costs))
        value[at] = costs[choice[at]]
    return value, choice


def _stages(
    network: Network,
    grid: Numbers,
    options: list[_Option],
    choice: npt.NDArray[np.intp],
    rho: float,
) -> tuple[RelayStage, ...]:
    """The best stages from a fraction on, until most likely nothing is left."""
    stages: list[RelayStage] = []
    while not stages or (network.n * rho > 0.01 and len(stages) < _MOST_STAGES):
        at = min(int(np.searchsorted(grid, rho)), _GRID - 1)
        option = options[choice[at]]
        stages.append(option.stage)
        if option.ends is not None:
            break
        rho = float(np.interp(rho, grid, option.after))
    return tuple(stages)


def _first_windows(network: Network) -> Iterator[tuple[tuple[int, ...], int, float]]:
    """First stages of several windows: windows, slots, and the fraction they leave."""
    k = network.blocks
    if network.d < 3 * network.g:
        return
    modelled = min(k, _MANY)
    best: dict[int, tuple[float, tuple[int, ...], Numbers]] = {
        0: (1.0, (), first_at_a_set(modelled))
    }
    sizes = [size for size in _window_sizes(modelled) if size <= 2 * modelled]
    for slots in range(6 * modelled):
        if slots not in best:
            continue
        _, windows, left = best.pop(slots)
        for size in sizes:
            if windows and size > windows[-1]:
                break
            after = left_at_a_set(left, size)
            rho = float(after @ np.arange(len(after))) / modelled
            total = slots + size + 1
            if total not in best or rho < best[total][0]:
                best[total] = (rho, (*windows, size), after)
        if len(windows) > 1:
            scaled = tuple(-(-size * k // modelled) for size in windows)
            if scaled[0] > WIDEST:
                continue
            rho = after_windows(Network(modelled, 1), 1.0, windows)
            yield scaled, sum(scaled) + len(scaled) + k, rho
