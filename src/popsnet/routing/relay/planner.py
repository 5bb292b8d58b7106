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

from popsnet.network import Network
from popsnet.routing.relay.grid import Grid, superclasses
from popsnet.routing.relay.park import Park
from popsnet.routing.relay.schedule import RelaySchedule
from popsnet.routing.relay.single_attempt import Fold, Shower
from popsnet.routing.relay.state import WIDEST, RelayStage
from popsnet.theory.stages import Numbers, after_windows, first_at_a_set, left_at_a_set

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


@lru_cache(maxsize=64)
def plan(network: Network) -> RelayPlan:
    """The shortest schedule by the fluid limit; O(1) evaluations of it for each size of stage."""
    shortest = _Shortest(network)
    best = RelayPlan(_schedule(network, shortest.stages(1.0)), 1 + float(shortest.value[-1]))
    for windows, slots, rho in _first_windows(network):
        total = 1 + slots + shortest.slots(rho)
        if total < best.slots:
            stages = (Park(windows), *shortest.stages(rho))
            best = RelayPlan(_schedule(network, stages), total)
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


def _options(network: Network) -> Iterator[RelayStage]:
    """The stages to choose from."""
    if network.d < network.g:
        classes = superclasses(network.d, network.g)
        yield from (Grid(x, -(-classes // x)) for x in _grid_sizes(classes))
        return
    yield from (Park((window,)) for window in _window_sizes(network.blocks))
    if network.d > network.g:
        yield Fold()
    yield from map(Shower, range(1, 5))


def fractions(schedule: RelaySchedule, network: Network) -> Iterator[float]:
    """Which fraction of all packets is undelivered after each stage in the limit, without end.

    A shower delivers without acks: what was pending before it is sent again in the next stage.
    """
    pending = undelivered = 1.0
    for stage in schedule:
        fails = float(stage.after(network, np.array([pending]))[0]) / pending if pending else 0.0
        undelivered *= fails
        if not isinstance(stage, Shower):
            pending *= fails
        yield undelivered


def _retries(network: Network, grid: Numbers, undelivered: Numbers) -> Numbers:
    """Expected slots of retries after a shower that leaves these fractions undelivered.

    All sources that were pending take part again, for none of them has an ack.
    """
    fails = _RETRY.after(network, grid) / grid
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


class _Shortest:
    """V on a grid of fractions, and the stage that attains it."""

    def __init__(self, network: Network) -> None:
        self._network, self._options = network, list(_options(network))
        self._grid = grid = np.geomspace(_NOTHING / network.n, 1.0, _GRID)
        self._logs = np.log(grid)
        self._left = np.array([stage.after(network, grid) for stage in self._options])
        self.value, self._choice = np.zeros(_GRID), np.zeros(_GRID, dtype=np.intp)
        together = 2 if network.d > 1 else 1  # two that met fail, unless a group has one packet
        pending = -np.expm1(-network.n * grid / together)
        pending[-1] = 1.0  # at first
        slots = np.array([stage.slots(network) for stage in self._options])
        ending = np.array([isinstance(stage, Shower) for stage in self._options])
        ends = np.full_like(self._left, np.inf)
        for row in np.flatnonzero(ending):
            ends[row] = _retries(network, grid, self._left[row])
        for at in range(_GRID):
            after, rest = self._left[:, at], ends[:, at]  # infinite if it gets nowhere
            rest[~ending & (after < grid[0])] = 0.0
            if at:
                nearer = ~ending & (after >= grid[0]) & (after < grid[at - 1])
                rest[nearer] = np.interp(np.log(after[nearer]), self._logs[:at], self.value[:at])
            costs = slots * pending[at] + rest
            self._choice[at] = np.argmin(costs)
            self.value[at] = costs[self._choice[at]]

    def slots(self, rho: float) -> float:
        """V(ρ)."""
        return float(np.interp(np.log(rho), self._logs, self.value))

    def stages(self, rho: float) -> tuple[RelayStage, ...]:
        """The best stages from a fraction on, until most likely nothing is left."""
        stages: list[RelayStage] = []
        while not stages or (self._network.n * rho > 0.01 and len(stages) < _MOST_STAGES):
            at = min(int(np.searchsorted(self._grid, rho)), _GRID - 1)
            stages.append(self._options[self._choice[at]])
            if isinstance(stages[-1], Shower):
                break
            rho = float(np.interp(rho, self._grid, self._left[self._choice[at]]))
        return tuple(stages)


def _first_windows(network: Network) -> Iterator[tuple[tuple[int, ...], int, float]]:
    """First stages of several windows: windows, slots, and the fraction they leave."""
    k = network.blocks
    if network.d < 3 * network.g:
        return
    modelled = min(k, _MANY)
    best: dict[int, tuple[float, tuple[int, ...], Numbers]] = {}
    best[0] = 1.0, (), first_at_a_set(modelled)
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
