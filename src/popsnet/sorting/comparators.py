"""Comparator networks as data: stages of disjoint comparators, made one at a time.

A comparator (low, high) puts the smaller of two keys on wire ``low`` and the larger on ``high``.
Here ``low < high`` always: networks are in standard form, which costs neither depth nor size
(Knuth, *The Art of Computer Programming* 3, 5.3.4, exercise 16). So a sorted input passes
unchanged, and the first n wires of a network that sorts are a network that sorts n keys: give the
other wires keys above all others, and they never move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from popsnet.errors import InputError
from popsnet.slot import Ints

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class ComparatorStage:
    """Comparators that share no wire, and so can work at once."""

    low: Ints
    high: Ints

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _wire_numbers(name, getattr(self, name)))
        if len(self.low) != len(self.high):
            raise InputError(f"low has {len(self.low)} wires and high {len(self.high)}.")
        if not len(self.low):
            return
        if (wrong := np.flatnonzero((self.low < 0) | (self.low >= self.high))).size:
            low, high = self.low[wrong[0]], self.high[wrong[0]]
            raise InputError(f"comparator ({low}, {high}): it needs 0 <= low < high.")
        taken = np.zeros(self.last_wire + 1, dtype=np.bool_)
        taken[self.low] = taken[self.high] = True
        if np.count_nonzero(taken) < 2 * len(self.low):
            raise InputError("two comparators of one stage share a wire; put them in two stages.")

    def __len__(self) -> int:
        return len(self.low)

    @property
    def last_wire(self) -> int:
        """The largest wire in use, -1 if there is none."""
        return int(self.high.max(initial=-1))

    def first(self, wires: int) -> ComparatorStage:
        """The comparators among the first so many wires."""
        inside = self.high < wires
        return self if inside.all() else ComparatorStage(self.low[inside], self.high[inside])

    def exchange(self, rows: npt.NDArray[Any]) -> None:
        """Put the keys of each comparator in order, in place; a row of keys a wire."""
        low, high = rows[self.low], rows[self.high]
        swapped = low > high
        rows[self.low] = np.where(swapped, high, low)
        rows[self.high] = np.where(swapped, low, high)


def _wire_numbers(name: str, values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(f"{name} is not a row of wire numbers.")
    return array.astype(np.int32, copy=False)


@dataclass(frozen=True, eq=False)
class ComparatorNetwork:
    """Wires 0 … wires - 1, and the stages that keys on them go through.

    ``make`` gives the stages from the beginning whenever it is called. Nothing keeps them, so a
    network takes the memory of one stage, however deep it is.
    """

    name: str
    wires: int
    make: Callable[[], Iterable[ComparatorStage]]

    def __post_init__(self) -> None:
        if index(self.wires) < 1:
            raise InputError(f"n = {self.wires}: a network has at least one wire; give n >= 1.")

    def __iter__(self) -> Iterator[ComparatorStage]:
        """The stages, without those that compare nothing."""
        for stage in self.make():
            if stage.last_wire >= self.wires:
                raise InputError(f"there is no wire {stage.last_wire}; n = {self.wires}.")
            if len(stage):
                yield stage

    @cached_property
    def stage_sizes(self) -> tuple[int, ...]:
        """Comparators in each stage; O(size) time, once."""
        return tuple(len(stage) for stage in self)

    @property
    def depth(self) -> int:
        """Number of stages."""
        return len(self.stage_sizes)

    @property
    def size(self) -> int:
        """Number of comparators."""
        return sum(self.stage_sizes)

    def first(self, wires: int) -> ComparatorNetwork:
        """The network of the first so many wires; it sorts if this one does."""
        if wires > self.wires:
            raise InputError(f"{wires} of {self.wires} wires cannot be had.")
        if wires == self.wires:
            return self
        return ComparatorNetwork(self.name, wires, lambda: (stage.first(wires) for stage in self))

    def sort(self, keys: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Send keys through the network, a batch at once: the last axis is that of the wires."""
        if keys.ndim == 0 or keys.shape[-1] != self.wires:
            raise InputError(f"keys of shape {keys.shape} do not end with {self.wires} wires.")
        rows = np.moveaxis(keys, -1, 0).copy()
        for stage in self:
            stage.exchange(rows)
        return np.moveaxis(rows, 0, -1)


def standard_form(wires: int, pairs: Iterable[tuple[Ints, Ints]]) -> Iterator[ComparatorStage]:
    """Stages of pairs (smaller to, larger to), in any direction, as stages in standard form.

    Where a comparator points upwards the two wires change names from there on (Knuth, 5.3.4,
    exercise 16). Depth and size stay. If the network sorts, in whatever order it leaves the keys
    on its wires, the result sorts and leaves them in order: a sorted input passes it unchanged.
    """
    names = np.arange(wires, dtype=np.int32)
    for smaller, larger in pairs:
        low, high = names[smaller], names[larger]
        names[smaller], names[larger] = np.minimum(low, high), np.maximum(low, high)
        yield ComparatorStage(names[smaller], names[larger])
