"""Exact chains of schedules with team stages, against brute force and against runs."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from popsnet import InputError, Network, route
from popsnet.base.stats.inference import summarize_counts
from popsnet.theory.exact import exact_steps, relay_chain, solve, steps_distribution
from popsnet.theory.exact.state import State, canonical
from popsnet.theory.exact.team import candidate_sets, team
from tests.each import each

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "exact-chains.md"
ROWS = re.findall(
    r"^\| ([ST\d ]+) \| POPS\((\d), (\d)\) \| (\S+) \| ([\d.]+) \| ([\d.]+) \|$",
    PAGE.read_text(encoding="utf-8"),
    re.M,
)
"""The table of the page: schedule, network, mean slots and mean steps."""


@each(("schedule", "d", "g", "fraction", "slots", "steps"), ROWS)
def test_the_means_of_the_page(
    schedule: str, d: str, g: str, fraction: str, slots: str, steps: str
) -> None:
    found = steps_distribution(Network(int(d), int(g)), "relay", schedule=schedule)
    assert (f"{float(found.mean_slots):.4f}", f"{float(found.mean):.4f}") == (slots, steps)
    assert fraction in (str(found.mean_slots), "(long)")


def test_the_page_has_a_table() -> None:
    assert len(ROWS) == 6


def test_candidate_sets_are_those_of_all_draws() -> None:
    for groups, candidates in ((2, 1), (2, 3), (3, 2), (3, 4)):
        counted = Counter(
            sum(1 << group for group in set(draw))
            for draw in product(range(groups), repeat=candidates)
        )
        assert candidate_sets(groups, candidates) == counted


@pytest.mark.parametrize(
    ("state", "candidates"),
    [(((1, 1), (1, 1)), 2), (((2, 0), (0, 1)), 2), (((0, 2), (1, 0)), 3),
     (((1, 1, 0), (0, 1, 0), (0, 1, 0)), 1)],
)  # fmt: skip
def test_a_stage_is_that_of_all_draws(state: State, candidates: int) -> None:
    packets = [(b, a) for b, line in enumerate(state) for a, n in enumerate(line) for _ in range(n)]
    draws = list(product(range(len(state)), repeat=candidates))
    expected: Counter[State] = Counter()
    for drawn in product(draws, repeat=len(packets)):
        left = [list(line) for line in state]
        for number, (b, a) in enumerate(packets):
            taken = {
                group
                for other, (to, of) in enumerate(packets)
                if other != number and (to == b or of == a)
                for group in drawn[other]
            }
            left[b][a] -= not set(drawn[number]) <= taken
        expected[canonical(tuple(map(tuple, left)))] += 1
    weights, total = team(state, candidates)
    assert (weights, total) == (expected, sum(expected.values()))


@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_chunks_change_nothing(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    state = ((2, 1), (1, 1))
    whole = team(state, 2)
    monkeypatch.setattr("popsnet.theory.exact.team._LARGEST_CHUNK", chunk)
    assert team(state, 2) == whole


@pytest.mark.parametrize(
    ("d", "g", "schedule", "engine", "runs"),
    [(2, 2, "T1", "slots", 200), (3, 3, "S T1", "slots", 150), (2, 2, "S S T2", "fused", 4000),
     (3, 2, "T1", "fused", 4000)],
)  # fmt: skip
def test_runs_have_the_exact_mean(d: int, g: int, schedule: str, engine: str, runs: int) -> None:
    """A z test at 4.5 standard errors: if all is right, it fails once in 100,000 seeds."""
    exact = steps_distribution(Network(d, g), "relay", schedule=schedule)
    done = route(d, g, router="relay", variant=schedule, runs=runs, engine=engine, seed=11)
    slots = summarize_counts(done.tally.slots)
    assert slots.sd is not None
    assert abs(slots.mean - float(exact.mean_slots)) < 4.5 * slots.sd / runs**0.5


def test_schedules_are_written_in_more_than_one_way() -> None:
    network = Network(2, 2)
    chains = [relay_chain(network, schedule=text) for text in ("S T2", " S  T2 T2 ")]
    first, second = map(solve, chains)
    assert first == second
    assert solve(relay_chain(network, schedule="S S")) == solve(relay_chain(network))
    assert exact_steps(2, 2, router="relay", variant="S T2").distribution.mean == first.mean + (
        first.probability(0)
    )


@each(
    ("d", "g", "schedule", "reason"),
    [
        (2, 2, "P1", r"variant = P1: exact chains are computed for schedules of stages S and Tr"),
        (2, 2, "T0", r"stages S and Tr"),
        (2, 2, "", r"stages S and Tr"),
        (2, 2, "T1 S", r"must end in T and have S only among the first 4"),
        (2, 2, "S S S S T1 S T1", r"among the first 4"),
        (3, 3, "T4", r"T4 has too many draws on POPS\(3, 3\)"),
        (4, 4, "T1", r"too many"),
        (2, 1, "T1", r"infinite"),
        (2, 3, "T1", r"D >= G"),
    ],
)
def test_other_schedules_are_refused(d: int, g: int, schedule: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        steps_distribution(Network(d, g), "relay", schedule=schedule)


def test_mei_rizzi_has_no_schedule() -> None:
    with pytest.raises(InputError, match="variant = T1: it is for relay"):
        exact_steps(2, 2, variant="T1")
