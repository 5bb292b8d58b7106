"""The planner: it finds the schedule that is shortest on a network in the fluid limit.

Let V(ρ) be the expected number of slots still needed when the fraction ρ of all packets is pending.
A stage of c slots that takes ρ to ρ' costs c if any packet is pending. Packets fail in pairs, so
V(ρ) is the least of c·(1 - e^(-nρ/2)) + V(ρ') over all stages: a shortest path, found on a grid of
values of ρ from the smallest up. Showers end the run unless a processor objects. For d ≥ 3g the
first stage may have several windows: for each number of slots the best sequence of windows is kept
and extended.

After a marked stage most packets that are left are alone, so there is a second V, with
1 - e^(-5nρ/6): a third of them has met another packet, a third a mark, and of a third the source
has missed the ack. Marked stages are considered for d ≤ 2g, as for larger d none was found that
helps, and for g ≥ 32: on smaller networks sources would know earlier, but the last packet would
arrive later.

With several wavelengths stages P and F are considered, in the fluid limit of a network with as many
relay groups as there are channels.

The plan depends on the network alone, not on the permutation, so any processor can make it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from popsnet.base.errors import InputError
from popsnet.model.network import F64, Network
from popsnet.programs.routers.relay.channels import spread
from popsnet.programs.routers.relay.grid import Grid, superclasses
from popsnet.programs.routers.relay.marked import Mark, MarkSeveral
from popsnet.programs.routers.relay.park import Park, WindowedStage
from popsnet.programs.routers.relay.schedule import RelaySchedule
from popsnet.programs.routers.relay.single_attempt import Fold, Shower
from popsnet.programs.routers.relay.state import WIDEST, RelayStage
from popsnet.programs.routers.relay.verified import VerifiedFold, VerifiedPark
from popsnet.programs.routers.relay.verified_grid import VerifiedGrid
from popsnet.theory.stages import first_at_a_set, left_at_a_set

_GRID = 400
_NOTHING = 1e-6
"""The expected number of packets below which planning ends."""
_RETRY = Shower(1)
_TRIES = 4
_MOST_RETRIES = 100
_MOST_STAGES = 100
"""On huge groups, where no stage makes much progress, the last stage is repeated anyway."""
_ALONE = 5 / 6
"""The events per packet that a marked stage leaves."""
_MARKED = 32
"""The fewest groups for which marked stages are considered."""
_FEW = 0.05
"""The packets that are left on average by the last stage, most likely."""
_LIMIT = 2**31
"""A network so large that no two packets meet again."""
_MANY = 32
"""For larger k = d/g the windows are those of k = 32, in proportion."""


class RelayPlan(NamedTuple):
    """A schedule and the slots that it is expected to take until every source knows.

    Parameters
    ----------
    schedule : RelaySchedule
        The schedule.
    slots : float
        The expected slots, in the fluid limit.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.routers.relay import plan
    >>> print(plan(Network(64, 64)).schedule)
    P2 P1 P1 Q Q X2 | Q Q Q Q P1
    """

    schedule: RelaySchedule
    slots: float


@lru_cache(maxsize=64)
def plan(network: Network) -> RelayPlan:
    """Return the schedule that is shortest in the fluid limit.

    Parameters
    ----------
    network : Network
        The network.

    Returns
    -------
    RelayPlan
        The schedule and its expected slots.

    Notes
    -----
    Takes O(1) evaluations of the fluid limit for each size of stage. Plans are cached.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.routers.relay import plan
    >>> round(plan(Network(64, 64)).slots, 1)
    15.2
    """
    stages, slots = _best(network, _options(network), Park, seed=1)
    return RelayPlan(_schedule(network, stages), slots)


@lru_cache(maxsize=64)
def plan_survival(network: Network) -> RelayPlan:
    """Return the schedule of verified stages that is shortest without faults, in the fluid limit.

    Parameters
    ----------
    network : Network
        The network.

    Returns
    -------
    RelayPlan
        The schedule, which has to be wrapped in a
        :class:`~popsnet.programs.routers.relay.survival.SurvivalSchedule`, and its expected slots
        if the seed is configured. A flooded seed takes one slot more per stage.

    Examples
    --------
    >>> from popsnet import Network
    >>> from popsnet.programs.routers.relay import plan_survival
    >>> print(plan_survival(Network(64, 64)).schedule)
    V2 V1
    """
    options = _basic(network, VerifiedGrid, VerifiedPark, VerifiedFold)
    stages, slots = _best(network, options, VerifiedPark, seed=0)
    return RelayPlan(_verified_schedule(network, stages), slots)


def _best(
    network: Network, options: Iterable[RelayStage], park: type[WindowedStage], seed: int
) -> tuple[tuple[RelayStage, ...], float]:
    """Return the best stages, and their slots with those of the seed.

    The first may be a park stage of several windows.
    """
    shortest = _Shortest(network, list(options))
    stages, slots = shortest.stages(1.0), seed + shortest.slots(1.0)
    for windows, modelled, shape in _first_windows(network):
        first, rho = park(windows), float(park(modelled).after(shape, np.ones(1))[0])
        total = seed + first.slots(network) + shortest.slots(rho)
        if total < slots:
            stages, slots = (first, *shortest.stages(rho)), total
    return stages, slots


def _verified_schedule(network: Network, stages: tuple[RelayStage, ...]) -> RelaySchedule:
    """Return the stages and those to repeat: for d > g some short ones, and one with room for all.

    With faults many more packets may be left than was planned for, for longer.
    """
    if network.blocks == 1:
        return RelaySchedule(stages, stages[-1:])
    wide = VerifiedPark((min(2 * network.blocks, WIDEST),))
    return RelaySchedule(stages, (*_TRIES * stages[-1:], wide))


def _schedule(network: Network, stages: tuple[RelayStage, ...]) -> RelaySchedule:
    """Return the stages, and those to repeat if more packets are left than was planned for.

    For d > g congestion stops the short stages: if many packets are left in a group, all of them
    meet. A park stage with a window of 2k slots always makes progress, at a load of at most one
    half per slot. But it is long, so it comes after some tries of the short one. Marked stages
    alone might never end, so for d = g a park stage comes after them, too.
    """
    blocks = spread(network).blocks
    last, window = stages[-1], 2 * blocks if blocks > 1 else 1
    again = _RETRY if isinstance(last, Shower) else Mark() if last.looks_ahead else last
    if blocks == 1 and not last.looks_ahead:
        return RelaySchedule(stages, (again,))
    return RelaySchedule(stages, (*_TRIES * (again,), Park((min(window, WIDEST),))))


def _options(network: Network) -> Iterator[RelayStage]:
    """Yield the stages to choose from."""
    yield from _basic(spread(network), Grid, Park, Fold)
    if network.d >= network.g and network.wavelengths == 1:
        yield from map(Shower, range(1, 5))
        if network.d <= 2 * network.g and network.g >= _MARKED:
            yield from (Mark(), MarkSeveral(2), MarkSeveral(3))


def _basic(
    shape: Network, grid: type[Grid], park: type[WindowedStage], fold: type[RelayStage]
) -> Iterator[RelayStage]:
    """Yield grid stages for d < g, otherwise park stages, with a fold if d is larger."""
    if shape.d < shape.g:
        classes = superclasses(shape.d, shape.g)
        yield from (grid(x, -(-classes // x)) for x in _grid_sizes(classes))
        return
    yield from (park((window,)) for window in _window_sizes(shape.blocks))
    if shape.d > shape.g:
        yield fold()


def fractions(schedule: RelaySchedule, network: Network) -> Iterator[float]:
    """Yield the fraction of packets that is undelivered after each stage, in the fluid limit.

    Parameters
    ----------
    schedule : RelaySchedule
        The schedule.
    network : Network
        The network.

    Yields
    ------
    float
        The fraction after the first stage, the second, and so on, without end.

    Notes
    -----
    A shower delivers without acks: what was pending before it is sent again in the next stage.

    Examples
    --------
    >>> from itertools import islice
    >>> from popsnet import Network
    >>> from popsnet.programs.routers.relay import fractions, parse_schedule
    >>> [round(one, 3) for one in islice(fractions(parse_schedule("S"), Network(64, 64)), 3)]
    [0.632, 0.296, 0.076]
    """
    pending = undelivered = 1.0
    for stage in schedule:
        fails = stage.left(network, pending) / pending if pending else 0.0
        undelivered *= fails
        if not isinstance(stage, Shower):
            pending *= fails
        yield undelivered


def _retries(network: Network, grid: F64, undelivered: F64) -> F64:
    """Return the expected slots of retries after a shower that leaves these fractions.

    All sources that were pending take part again, because none of them has an ack.
    """
    fails = _RETRY.after(network, grid) / grid
    times = np.arange(_MOST_RETRIES)[:, None]
    unfinished = -np.expm1(-network.n * undelivered * fails**times)  # one copy is enough to object
    slots = _RETRY.slots(network) * unfinished.sum(axis=0)
    return np.where(unfinished[-1] < 1e-6, slots, np.inf)


def _grid_sizes(classes: int) -> list[int]:
    """Return values of x for XY(x, ⌈G/x⌉): all small ones, and some up to G."""
    if classes > WIDEST**2:
        return []
    return [x for x in _sizes(classes, 64, 100) if max(x, -(-classes // x)) <= WIDEST] or [WIDEST]


def _window_sizes(k: int) -> list[int]:
    """Return all small sizes of windows, and some up to 3k + 4."""
    return _sizes(min(3 * k + 4, WIDEST), 16, 40)


def _sizes(most: int, all_up_to: int, others: int) -> list[int]:
    small = range(1, min(most, all_up_to) + 1)
    return sorted({*small, *np.geomspace(1, most, others).astype(int).tolist()})


class _Shortest:
    """V on a grid of fractions, and the stages that attain it."""

    def __init__(self, network: Network, options: list[RelayStage]) -> None:
        self._network, self._options = network, options
        if not self._options:
            raise InputError(
                f"{network}: relay plans schedules for ⌈g/d⌉ up to 2^32. Choose a smaller g."
            )
        self._grid = grid = np.geomspace(_NOTHING / network.n, 1.0, _GRID)
        self._logs = np.log(grid)
        self._left = self._after()
        self._value = np.zeros((2, _GRID))
        self._choice = np.zeros((2, _GRID), dtype=np.intp)
        together = 2 if network.d > 1 else 1  # two that met fail, unless a group has one packet
        pending = -np.expm1(np.outer([-1 / together, -_ALONE], network.n * grid))
        pending[:, -1] = 1.0  # at first
        slots = np.array([self._slots(kind) for kind in (0, 1)])
        ending = np.array([isinstance(stage, Shower) for stage in self._options])
        marked = np.array([int(stage.looks_ahead) for stage in self._options])
        ends = np.full_like(self._left, np.inf)
        for row in np.flatnonzero(ending):
            ends[:, row] = _retries(network, grid, self._left[0, row])
        for at in range(_GRID):
            for kind in (0, 1):
                after, rest = self._left[kind, :, at], ends[kind, :, at]  # infinite: no progress
                rest[~ending & (after < grid[0])] = 0.0
                for next_kind in (0, 1) if at else ():
                    nearer = ~ending & (marked == next_kind) & (after >= grid[0])
                    nearer &= after < grid[at - 1]
                    values = self._value[next_kind, :at]
                    rest[nearer] = np.interp(np.log(after[nearer]), self._logs[:at], values)
                costs = slots[kind, :, at] * pending[kind, at] + rest
                self._choice[kind, at] = np.argmin(costs)
                self._value[kind, at] = costs[self._choice[kind, at]]

    def _after(self) -> F64:
        """Return the fraction that each stage leaves, after other stages and after marked ones.

        For d = g the first bijections are fresh: a packet may meet its companion again, which the
        fluid limit of P neglects. Later ones are turned, so that in Q it does not.
        """
        network, rho = self._network, self._grid
        rows = np.array([stage.after(network, rho) for stage in self._options])
        left = np.array([rows, rows])
        if network.d == network.g >= _MARKED:
            for row, stage in enumerate(self._options):
                if isinstance(stage, Park):
                    again = (1 - rho) ** 4 / (network.g * stage.windows[0])  # as measured
                    left[:, row] += (rho - left[:, row]) * again
                elif isinstance(stage, Mark):
                    left[1, row] = stage.after(Network(_LIMIT, _LIMIT), rho)
        return left

    def _slots(self, kind: int) -> F64:
        """Return the slots of stages that begin, where a marked one ends with the last ack."""
        network, rows = self._network, []
        for stage, left in zip(self._options, self._left[kind], strict=True):
            slots = np.full(_GRID, float(stage.slots(network)))
            for place in range(1, stage.bijections if stage.looks_ahead else 0):
                before = self._grid * (left / self._grid) ** (place / stage.bijections)
                slots -= network.blocks * np.exp(-_ALONE * network.n * before)
            rows.append(slots)
        return np.array(rows)

    def slots(self, rho: float) -> float:
        """Return V(ρ)."""
        return float(np.interp(np.log(rho), self._logs, self._value[0]))

    def stages(self, rho: float) -> tuple[RelayStage, ...]:
        """Return the best stages from a fraction on, until most likely no packet is left."""
        stages: list[RelayStage] = []
        while not stages or (self._network.n * rho > 0.01 and len(stages) < _MOST_STAGES):
            at = min(int(np.searchsorted(self._grid, rho)), _GRID - 1)
            kind = int(bool(stages) and stages[-1].looks_ahead)
            choice = self._choice[kind, at]
            stages.append(self._options[choice])
            if isinstance(stages[-1], Shower):
                break
            rho = float(np.interp(rho, self._grid, self._left[kind, choice]))
            if stages[-1] == Mark() and self._network.n * rho < _FEW:
                stages[-1] = MarkSeveral(2)  # it ends after two slots if one place is enough
        return tuple(stages)


def _first_windows(network: Network) -> Iterator[tuple[tuple[int, ...], tuple[int, ...], Network]]:
    """Yield the windows of first stages that have several, and those that model them, and where."""
    k = spread(network).blocks
    if network.d < 3 * spread(network).g:
        return
    modelled = min(k, _MANY)
    best: dict[int, tuple[float, tuple[int, ...], F64]] = {}
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
            if scaled[0] <= WIDEST:
                yield scaled, windows, Network(modelled, 1)
