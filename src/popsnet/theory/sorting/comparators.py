"""Comparator networks as data: stages of disjoint comparators, built one at a time.

A comparator (low, high) puts the smaller of two keys on wire ``low`` and the larger on ``high``.
Here ``low < high`` always: networks are in standard form, which costs neither depth nor size
(Knuth, *The Art of Computer Programming* 3, 5.3.4, exercise 16). So a sorted input passes
unchanged, and the first n wires of a network that sorts are a network that sorts n keys: keys on
the other wires that are larger than all others never move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, wrong
from popsnet.base.report import Plotted
from popsnet.model.slot import Ints

Scalar = TypeVar("Scalar", bound=np.generic)


@dataclass(frozen=True, slots=True, eq=False)
class ComparatorStage:
    """Comparators that share no wire and so can work at the same time.

    Examples
    --------
    >>> from popsnet.theory.sorting import ComparatorStage
    >>> len(ComparatorStage([0, 2], [1, 3]))
    2
    """

    low: Ints
    """The wires that get the smaller keys."""
    high: Ints
    """The wires that get the larger keys."""

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            object.__setattr__(self, name, _wire_numbers(name, getattr(self, name)))
        if len(self.low) != len(self.high):
            raise InputError(
                f"low has {len(self.low)} wires and high {len(self.high)}; every comparator must "
                "have one of each."
            )
        if (wrong := np.flatnonzero((self.low < 0) | (self.low >= self.high))).size:
            low, high = self.low[wrong[0]], self.high[wrong[0]]
            raise InputError(f"Comparator ({low}, {high}) must have 0 <= low < high.")
        taken = np.zeros(self.last_wire + 1, dtype=np.bool_)
        taken[self.low] = taken[self.high] = True
        if np.count_nonzero(taken) < 2 * len(self.low):
            shared = int(np.argmax(np.bincount(np.concatenate((self.low, self.high)))))
            raise InputError(
                f"Two comparators of one stage share a wire, {shared}; put them in two stages."
            )

    def __len__(self) -> int:
        return len(self.low)

    @property
    def last_wire(self) -> int:
        """The largest wire in use, or -1 if there is none."""
        return int(self.high.max(initial=-1))

    def first(self, wires: int) -> ComparatorStage:
        """Return the comparators among the first ``wires`` wires."""
        inside = self.high < wires
        return self if inside.all() else ComparatorStage(self.low[inside], self.high[inside])

    def exchange(self, rows: npt.NDArray[Any]) -> None:
        """Put the keys of each comparator in order, in place, with a row of keys per wire."""
        low, high = rows[self.low], rows[self.high]
        swapped = low > high
        rows[self.low] = np.where(swapped, high, low)
        rows[self.high] = np.where(swapped, low, high)


def _wire_numbers(name: str, values: npt.ArrayLike) -> Ints:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(
            f"{name} has dtype {array.dtype} and shape {array.shape}; give a one-dimensional array "
            "of wire numbers."
        )
    return array.astype(np.int32, copy=False)


@dataclass(frozen=True, eq=False)
class ComparatorNetwork(Plotted):
    """A comparator network: wires 0 … wires - 1, and the stages that keys go through.

    Examples
    --------
    >>> import numpy as np
    >>> from popsnet.theory.sorting import ComparatorNetwork, ComparatorStage
    >>> network = ComparatorNetwork("one comparator", 2, lambda: [ComparatorStage([0], [1])])
    >>> network.sort(np.array([[5, 3], [1, 2]])).tolist()
    [[3, 5], [1, 2]]
    """

    _draw = "draw_network"

    name: str
    wires: int
    make: Callable[[], Iterable[ComparatorStage]]
    """Returns the stages, from the first, whenever it is called. They are not kept, so a network
    takes the memory of one stage, however deep it is."""

    def __post_init__(self) -> None:
        if index(self.wires) < 1:
            raise wrong("n", self.wires)("a network needs at least one wire; give n >= 1.")

    def __iter__(self) -> Iterator[ComparatorStage]:
        """Yield the stages, without empty ones."""
        for stage in self.make():
            if stage.last_wire >= self.wires:
                raise InputError(
                    f"A stage uses wire {stage.last_wire}, but wires are numbered 0 to "
                    f"{self.wires - 1}."
                )
            if len(stage):
                yield stage

    @cached_property
    def stage_sizes(self) -> tuple[int, ...]:
        """The number of comparators in each stage, computed once in O(size) time."""
        return tuple(len(stage) for stage in self)

    @property
    def depth(self) -> int:
        """The number of stages."""
        return len(self.stage_sizes)

    @property
    def size(self) -> int:
        """The number of comparators."""
        return sum(self.stage_sizes)

    def first(self, wires: int) -> ComparatorNetwork:
        """Return the network on the first ``wires`` wires, which sorts if this one does."""
        if wires > self.wires:
            raise wrong("wires", wires)(f"the network has {self.wires}; give at most {self.wires}.")
        if wires == self.wires:
            return self
        return ComparatorNetwork(self.name, wires, lambda: (stage.first(wires) for stage in self))

    def sort(self, keys: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
        """Send a batch of keys through the network; the last axis is that of the wires."""
        if keys.ndim == 0 or keys.shape[-1] != self.wires:
            raise InputError(
                f"The keys have shape {keys.shape}; the last axis must have length {self.wires}, "
                "the number of wires."
            )
        rows = np.moveaxis(keys, -1, 0).copy()
        for stage in self:
            stage.exchange(rows)
        return np.moveaxis(rows, 0, -1)


def standard_form(wires: int, pairs: Iterable[tuple[Ints, Ints]]) -> Iterator[ComparatorStage]:
    """Turn stages of pairs (smaller to, larger to) in any direction into standard form.

    If a comparator points upwards, the two wires exchange their names from there on (Knuth, 5.3.4,
    exercise 16). Depth and size stay the same. If the network sorts, in whatever order it leaves
    the keys on its wires, the result sorts and leaves them in order, because a sorted input passes
    it unchanged.
    """
    names = np.arange(wires, dtype=np.int32)
    for smaller, larger in pairs:
        low, high = names[smaller], names[larger]
        names[smaller], names[larger] = np.minimum(low, high), np.maximum(low, high)
        yield ComparatorStage(names[smaller], names[larger])
