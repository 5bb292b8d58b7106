"""The pace of a sweep, and the time left, with a clock that is simulated."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from types import SimpleNamespace
from typing import Any

from popsnet import Experiment
from popsnet.base.progress import duration
from popsnet.sweeps.runner import Pace
from popsnet.sweeps.work import AHEAD, Queue, Work, cut, estimate_work, rounds
from tests.each import each


def finished(experiment: Experiment, numbers: range, seconds: float) -> Any:
    """Results that took some seconds each."""
    provenance = SimpleNamespace(seconds=seconds)
    return SimpleNamespace(experiment=experiment, numbers=numbers, provenance=provenance)


@dataclass
class Simulated:
    """A sweep on some workers, and one thread that writes; none of it takes time."""

    workers: int
    takes: Callable[[Experiment], float]
    """The seconds that a result takes."""
    compiles: float
    """The seconds that the first result of a program takes besides."""
    writes: float
    """The seconds that writing what was finished takes."""
    now: float = 0.0

    def run(self, queue: Queue) -> Iterator[tuple[float, float]]:
        """Yield the moment after each piece, and the time left by estimate."""
        pace, seen = Pace(lambda: self.now), set[str]()
        free = [0.0] * self.workers
        ready: list[tuple[float, int]] = []
        works: dict[int, tuple[Work, float]] = {}
        count = 0
        while queue or works:
            while len(works) < AHEAD * self.workers and (piece := queue.take(lambda _: True)):
                experiment, numbers = piece
                each = self.takes(experiment)
                if experiment.program not in seen:
                    seen.add(experiment.program)
                    each += self.compiles / len(numbers)
                end = max(heapq.heappop(free), self.now) + each * len(numbers)
                heapq.heappush(free, end)
                heapq.heappush(ready, (end, count))
                works[count] = piece, each
                count += 1
            end, which = heapq.heappop(ready)
            self.now = max(self.now, end)
            (experiment, numbers), each = works.pop(which)
            pace.note([finished(experiment, numbers, each)])
            pace.writing += self.writes
            self.now += self.writes
            in_order = [[work] for work, _ in works.values()]
            yield self.now, pace.left(queue, in_order, self.workers)


SIZES = [
    Experiment(d, d, router=router)
    for d in (2, 4, 16, 64, 128)
    for router in ("mei-rizzi", "relay")
]
SECONDS = {experiment: estimate_work(experiment) for experiment in SIZES}
LAWS: dict[str, Callable[[Experiment], float]] = {
    "a slow machine": lambda experiment: 500 * SECONDS[experiment],
    "small ones are slower than estimated": lambda experiment: 3 * SECONDS[experiment] ** 0.8,
    "one program is": lambda one: SECONDS[one] * (300 if one.router == "relay" else 30),
}


@each("law", list(LAWS))
def test_the_time_left_is_right_within_a_factor_of_two_after_a_tenth(law: str) -> None:
    for workers, writes, breadth in product((1, 2, 8), (0, 0.02), (False, True)):
        queue = Queue()
        for experiment in SIZES:
            for turn, shards in rounds(range(100), 0 if breadth else None):
                queue.add(cut(experiment, shards, workers), turn)
        moments = list(Simulated(workers, LAWS[law], compiles=1, writes=writes).run(queue))
        end, last = moments[-1]
        assert last == 0
        ratios = [left / (end - now) for now, left in moments if 0.1 <= now / end <= 0.9]
        right = sum(0.5 <= ratio <= 2 for ratio in ratios)
        case = workers, writes, breadth, min(ratios), max(ratios)
        assert right >= 0.97 * len(ratios) > 100, case


def test_the_text_has_the_speed_and_the_time_left_and_changes_once_per_second() -> None:
    now, one, queue = [0.0], Experiment(2, 2), Queue()
    pace = Pace(lambda: now[0])
    queue.add([(one, range(120))])
    assert pace.words(queue, [], 1, True) == []
    now[0] = 10.0
    pace.note([finished(one, range(40), 0.25)])
    assert pace.words(queue, [], 1, True) == ["4.00 per second", "30 s left"]
    now[0] = 10.5
    assert pace.words(queue, [], 1, True) == ["4.00 per second", "30 s left"]
    now[0] = 20.0
    assert pace.words(queue, [], 1, False) == ["2.00 per second"]
    assert duration(59.6) == "1 min 0 s"
