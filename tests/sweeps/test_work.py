"""Work: longest first, and parts that are disjoint, complete and balanced."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Experiment, InputError, Network, PopsnetError, Sweep, collect
from popsnet.programs.facts import Claims, Expectation
from popsnet.programs.router import get_router
from popsnet.sweeps.goals import Goals
from popsnet.sweeps.runner import Workers
from popsnet.sweeps.work import Part, Queue, Work, cut, estimate_work, rounds
from tests.each import each

SMALL, LARGE = Experiment(4, 4), Experiment(64, 64)
SLOW = Experiment(8, 8, router="direct")
EXPERIMENTS = [SMALL, LARGE, SLOW, Experiment(4, 8, router="batcher"), Experiment(16, 2)]


def test_larger_networks_and_engines_of_messages_take_longer() -> None:
    assert estimate_work(SMALL) < estimate_work(LARGE) < estimate_work(SLOW)


def claiming(expected: Expectation | None) -> Experiment:
    """An experiment whose router expects this; its version tells it from others."""
    direct, version = get_router("direct"), f"test {id(expected)}"
    return Experiment(
        4, 8, router=dataclasses.replace(direct, claims=Claims(expected), version=version)
    )


def test_a_router_that_expects_nothing_or_nonsense_counts_as_max_d_g() -> None:
    def fails(network: Network) -> float:
        raise ZeroDivisionError

    plain = estimate_work(claiming(None))
    for slots in (fails, lambda network: float("nan"), lambda network: -1.0):
        assert estimate_work(claiming(Expectation(slots, False, ""))) == plain
    assert estimate_work(claiming(Expectation(lambda network: 80.0, False, ""))) == pytest.approx(
        10 * plain
    )


def test_the_longest_work_comes_first_and_an_experiment_stays_together() -> None:
    queue = Queue()
    for one in (SMALL, SLOW, LARGE):
        queue.add(cut(one, range(7), 1))
    order = []
    while (piece := queue.take(lambda _: True)) is not None:
        order.append(piece)
    assert list(dict.fromkeys(one for one, _ in order)) == [SLOW, LARGE, SMALL]
    assert len(list(dict.fromkeys(one for one, _ in order))) == 3
    places = [[i for i, (one, _) in enumerate(order) if one == each] for each in (SLOW, SMALL)]
    assert all(place == list(range(place[0], place[-1] + 1)) for place in places)


def test_work_that_does_not_fit_waits_and_lets_others_pass() -> None:
    queue = Queue([(SLOW, range(1)), (SMALL, range(1))])
    assert queue.take(lambda one: one != SLOW) == (SMALL, range(1))
    assert queue.take(lambda one: one != SLOW) is None
    assert len(queue) == 1
    assert queue.take(lambda _: True) == (SLOW, range(1))


SHARDS = st.lists(st.integers(1, 40), min_size=5, max_size=5)


@given(SHARDS, st.integers(1, 12))
def test_parts_are_disjoint_complete_and_balanced(shards: list[int], count: int) -> None:
    wanted = dict(zip(EXPERIMENTS, shards, strict=True))
    parts = [Part(number, count).shards(wanted) for number in range(1, count + 1)]
    done = Counter((one, shard) for part in parts for one, few in part.items() for shard in few)
    assert done == Counter((one, shard) for one, few in wanted.items() for shard in range(few))
    loads = [sum(len(few) * estimate_work(one) for one, few in part.items()) for part in parts]
    longest = max(estimate_work(one) for one in wanted)
    assert max(loads) - min(loads) <= longest * (1 + 1e-9)


@given(st.integers(1, 7))
def test_with_a_precision_whole_experiments_are_divided(count: int) -> None:
    sweep = Sweep(tuple(EXPERIMENTS), (10,) * 5, ("",) * 5)
    parts = [
        Goals.of(sweep, precision="1%", part=(number, count)).goals
        for number in range(1, count + 1)
    ]
    assert Counter(one for part in parts for one in part) == Counter(EXPERIMENTS)


@each("part", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", "1/2/3", (1, 2, 3), (1.5, 2)])
def test_what_is_not_a_part_is_refused(part: object) -> None:
    with pytest.raises(InputError, match="part = "):
        Part.of(part)  # type: ignore[arg-type]


def test_a_part_is_a_text_or_a_pair() -> None:
    assert Part.of("3/20") == Part.of((3, 20)) == Part(3, 20)
    assert str(Part(3, 20)) == "3 of 20"


def test_worker_processes_that_were_killed_end_in_a_message() -> None:
    class Killed(Executor):
        def submit(self, *_: object, **__: object) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_exception(BrokenProcessPool("A process was terminated abruptly."))
            return future

    queue = Queue([(SMALL, range(1))])
    with Workers(Killed(), 1) as workers, pytest.raises(PopsnetError, match="fewer workers"):
        list(workers.do(queue))


def test_breadth_gives_every_experiment_its_first_runs_before_any_gets_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = "[[grid]]\nshapes = [[2, 2], [4, 4], [8, 8]]\nruns = 80\n"
    text = f'order = "breadth"\n{grid}[[traffic]]\nshapes = [[2, 2]]\nloads = 0.1\nslots = 50\n'
    file, order = tmp_path / "s.toml", list[Work]()
    file.write_text(text)
    sweep, take = Sweep.read(file), Queue.take

    def noted(queue: Queue, fits: Callable[[Experiment], bool]) -> Work | None:
        taken = take(queue, fits)
        order.extend([taken] * (taken is not None))  # type: ignore[list-item]
        return taken

    monkeypatch.setattr(Queue, "take", noted)
    tallies = collect(sweep, store=tmp_path / "r", workers=1, progress=False)
    turns = [numbers.start.bit_length() for _, numbers in order]
    assert turns == sorted(turns)
    assert len({experiment for experiment, _ in order[:4]}) == 4
    assert [experiment.network.n for experiment, _ in order[4:7]] == [64, 16, 4]
    order.clear()
    longest = replace(sweep, order="longest")
    assert collect(longest, store=tmp_path / "l", workers=1, progress=False) == tallies
    turns = [numbers.start.bit_length() for _, numbers in order]
    assert turns != sorted(turns)
    assert [*rounds([3, 4, 5, 9], 3)] == [(0, [3]), (1, [4]), (2, [5]), (3, [9])]
    for wrong, said in (
        (text.replace('"breadth"', '"breath"'), "Did you mean 'breadth'"),
        (text.replace('"breadth"', "3"), "order = 3"),
        (text.replace("order", "ordr"), "did you mean 'order'"),
        (f'{grid}order = "breadth"\n', "order is of the whole file; write it above all tables"),
    ):
        file.write_text(wrong)
        with pytest.raises(InputError, match=said):
            Sweep.read(file)
