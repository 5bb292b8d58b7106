"""Work: how long shards take by estimate, which come first, and which belong to a part."""

from __future__ import annotations

import heapq
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from popsnet.base.errors import wrong
from popsnet.experiment.experiment import Experiment, whole_number
from popsnet.sweeps.kind import ANYWHERE
from popsnet.sweeps.rows import kind_of

Work: TypeAlias = tuple[Experiment, range]
"""An experiment and the numbers of some of its results."""

AHEAD = 2
"""Pieces of work handed over for each worker: enough to keep the executor busy."""


def estimate_work(experiment: Experiment, engine: str = ANYWHERE) -> float:
    """Estimate the seconds that one result of an experiment takes."""
    return kind_of(experiment).seconds(experiment, engine)


def suits(experiment: Experiment, engine: str) -> bool:
    """Whether an engine can do the work, on a worker that has what it needs."""
    return engine == ANYWHERE or kind_of(experiment).suits(experiment, engine)


def cut(experiment: Experiment, shards: Sequence[int], workers: int) -> Iterator[Work]:
    """Cut results into consecutive pieces: cheap to hand over, and some for every worker."""
    most = max(min(kind_of(experiment).batch(experiment), len(shards) // (AHEAD * workers)), 1)
    start = 0
    for place in range(1, len(shards) + 1):
        ends = place == len(shards) or shards[place] != shards[place - 1] + 1
        if ends or place - start == most:
            yield experiment, range(shards[start], shards[place - 1] + 1)
            start = place


def rounds(shards: Sequence[int], begin: int | None) -> Iterator[tuple[int, list[int]]]:
    """Yield results in rounds: the first, the second, the next two, four, and so on.

    Results are counted from ``begin``; without it all of them are one round.
    """

    def number(shard: int) -> int:
        return 0 if begin is None else (shard - begin).bit_length()

    for which, alike in itertools.groupby(shards, number):
        yield which, list(alike)


class Queue:
    """Pieces of work, those of the first round first, and the longest first by estimate.

    All pieces that are added at once count as long as the longest of them, so that a worker stays
    with an experiment.
    """

    def __init__(self, work: Iterable[Work] = ()) -> None:
        self._heap: list[tuple[int, float, int, Work]] = []
        self.left: Counter[Experiment] = Counter()
        """The number of results of each experiment in the queue."""
        self.added = 0
        """The number of pieces that were ever added."""
        self.seconds = 0.0
        """How long all pieces take together, by estimate."""
        for piece in work:
            self.add([piece])

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, pieces: Iterable[Work], turn: int = 0) -> None:
        """Add pieces of one experiment to a round."""
        listed = list(pieces)
        if listed:
            longest = max(len(shards) for _, shards in listed)
            each = estimate_work(listed[0][0])
            self.seconds += each * sum(len(shards) for _, shards in listed)
        for piece in listed:
            self.added += 1
            self.left[piece[0]] += len(piece[1])
            heapq.heappush(self._heap, (turn, -longest * each, self.added, piece))

    def first(self) -> Work | None:
        """Return the longest piece, which stays there; None if there is no work."""
        return self._heap[0][-1] if self._heap else None

    def take(self, fits: Callable[[Experiment], bool]) -> Work | None:
        """Remove and return the first piece whose experiment fits; None if none does."""
        passed, work = [], None
        while self._heap and work is None:
            entry = heapq.heappop(self._heap)
            if fits(entry[-1][0]):
                work = entry[-1]
                self.left -= Counter({work[0]: len(work[1])})
                self.seconds -= len(work[1]) * estimate_work(work[0])
            else:
                passed.append(entry)
        for entry in passed:
            heapq.heappush(self._heap, entry)
        return work


@dataclass(frozen=True)
class Part:
    """One of several parts of a sweep: ``number`` counts from 1 to ``count``."""

    number: int
    count: int

    @classmethod
    def of(cls, part: str | Sequence[int]) -> Part:
        """Return the part that a text ``"3/20"`` or a pair ``(3, 20)`` stands for."""
        if isinstance(part, str):
            match = re.fullmatch(r"(\d{1,9})\s*/\s*(\d{1,9})", part.strip())
            numbers: Sequence[int] = tuple(map(int, match.groups())) if match else ()
        else:
            numbers = part
        if not isinstance(numbers, list | tuple) or len(numbers) != 2:
            raise wrong("part", part)("give the part and how many there are, as in 3/20.")
        number, count = (whole_number("part", number, 0) for number in numbers)
        if count < 1:
            raise wrong("part", f"{number}/{count}")("there must be at least 1 part.")
        if not 1 <= number <= count:
            raise wrong("part", f"{number}/{count}")(f"parts are numbered from 1 to {count}.")
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number} of {self.count}"

    def shards(self, wanted: Mapping[Experiment, int]) -> dict[Experiment, list[int]]:
        """Return the shards that belong to this part, by experiment.

        Every part gets the same number of consecutive shards of an experiment. Those that remain
        are dealt out one by one, the longest first, each to the part with the least work.
        """
        each = {experiment: shards // self.count for experiment, shards in wanted.items()}
        shards_of = {
            experiment: list(range((self.number - 1) * size, self.number * size))
            for experiment, size in each.items()
        }
        left = [
            (experiment, shard)
            for experiment, shards in wanted.items()
            for shard in range(each[experiment] * self.count, shards)
        ]
        for experiment, shard in self._dealt(left):
            shards_of[experiment].append(shard)
        return shards_of

    def share(self, wanted: Iterable[Experiment]) -> list[Experiment]:
        """Return the experiments of the part, dealt out like the shards that remain."""
        return [experiment for experiment, _ in self._dealt([(each, 0) for each in wanted])]

    def _dealt(self, things: list[tuple[Experiment, int]]) -> list[tuple[Experiment, int]]:
        """Return what this part gets, if the longest come first and the idlest part takes each."""
        seconds = [estimate_work(experiment) for experiment, _ in things]
        loads = [(0.0, part) for part in range(1, self.count + 1)]
        mine = []
        for place in sorted(range(len(things)), key=lambda place: -seconds[place]):
            load, part = loads[0]
            heapq.heapreplace(loads, (load + seconds[place], part))
            if part == self.number:
                mine.append(place)
        return [things[place] for place in sorted(mine)]
