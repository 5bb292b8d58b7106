"""The fused engine against the engine that executes every message: the same, step by step."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Coins, Network, Outcome, route
from popsnet.engines import ENGINES, Instance
from popsnet.engines.fused import RESIDENT, FusedSession, kernel_of, session
from popsnet.engines.fused.mei_rizzi import large
from popsnet.engines.fused.mei_rizzi.layout import MeiRizziLayout
from popsnet.engines.fused.session import outcome_of
from popsnet.engines.fused.team import Team
from popsnet.programs.router import get_router
from popsnet.programs.routers.mei_rizzi import participation
from popsnet.workloads.permutations.keyed import KeyedPermutation
from tests.conftest import permutation
from tests.each import examples
from tests.engines.parity.agreement import assert_same_runs, by_messages

SEEDS = st.integers(0, 2**64 - 1)
VARIANTS = ("published", "idealized", "deferred")


def instance_of(d: int, g: int, variant: str, seed: int, max_steps: int) -> Instance:
    network, router = Network(d, g), get_router("mei-rizzi")
    destination = permutation(network.n, seed)
    return Instance(network, router, variant, destination, Coins(seed), max_steps)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    """d ≥ g, also where g does not divide d; the published router where d = g."""
    g = draw(st.integers(1, 9))
    d = draw(st.sampled_from([g, g, g + 1, 2 * g, 3 * g + 1, 5 * g]))
    variant = draw(st.sampled_from(VARIANTS if d == g else VARIANTS[1:]))
    return instance_of(d, g, variant, draw(SEEDS), draw(st.sampled_from([3, 300])))


def execute_on(threads: int, instance: Instance) -> Outcome:
    with FusedSession(kernel_of(instance), threads) as opened:
        opened.execute(instance)
        return opened.execute(instance)  # the memory of the first run does no harm


@examples(150)
@given(instances())
def test_runs_in_the_cache_are_the_same(instance: Instance) -> None:
    assert ENGINES["fused"].execute(instance, ()) == by_messages(instance)


@examples(150)
@given(instance=instances(), threads=st.integers(1, 3))
def test_partitioned_runs_are_the_same_on_any_number_of_threads(
    instance: Instance, threads: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "RESIDENT", 0)
        assert execute_on(threads, instance) == by_messages(instance)


@examples(60)
@given(
    instance=instances(),
    threads=st.integers(1, 3),
    rows=st.integers(1, 2),
    rounds=st.integers(1, 5),
    batch=st.integers(1, 3),
    listed=st.booleans(),
)
def test_partitioned_runs_are_the_same_however_they_are_divided(
    instance: Instance, threads: int, rows: int, rounds: int, batch: int, listed: bool
) -> None:
    """With small blocks, and a computed permutation, as on the largest networks."""
    network = instance.network
    if instance.variant == "deferred":
        instance = replace(instance, variant="idealized")
    keyed = KeyedPermutation(network.n, instance.coins)
    instance = replace(instance, destination=keyed)
    kernel, team = kernel_of(instance), Team(threads)
    layout = MeiRizziLayout.of(network, min(rows, network.g), batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "rounds_needed", lambda g: min(rounds, g))
        patch.setattr(large, "listed", lambda layout: listed)
        run = large.PartitionedRun(layout, kernel.program, team)
    log = list(run.steps(instance, lambda *_: None))
    team.close()
    assert outcome_of(kernel, log) == by_messages(instance)


def test_more_runs_than_are_done_at_a_time_keep_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "_MOST_RUNS_AT_A_TIME", 7)
    monkeypatch.setattr(session, "STEPS_EXPECTED", 1)  # the log runs full and is emptied
    assert_same_runs(4, 4, 50, 2, max_steps=40)


def test_a_network_of_a_million_is_the_same() -> None:
    expected = route(1024, 1024, engine="slots")[0].outcome
    for limit in (RESIDENT, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(session, "RESIDENT", limit)
            outcome = route(1024, 1024, engine="fused")[0].outcome
        assert outcome == replace(expected, peak_buffers=None)


def test_the_law_of_participation_is_the_papers() -> None:
    network = Network(16, 4)
    chances = [Fraction(participation(network, step), 2**32) for step in range(14)]
    for s, chance in enumerate(chances[:12], start=1):
        expected = Fraction(4) / (16 - Fraction(4 * (s - 1), 4))
        assert expected - Fraction(1, 2**32) < chance <= expected
    assert chances[12:] == [1, 1]
    assert participation(Network(5, 5), 0) == 2**32


@pytest.mark.long
@pytest.mark.parametrize("block", range(8))
def test_thousands_of_random_cases_are_the_same(block: int) -> None:
    chooser = np.random.default_rng(block)
    for _ in range(400):
        g = int(chooser.integers(1, 24))
        d = g + int(chooser.integers(0, 3 * g)) * int(chooser.integers(0, 2))
        variant = str(chooser.choice(VARIANTS if d == g else VARIANTS[1:]))
        instance = instance_of(d, g, variant, int(chooser.integers(0, 2**63)), 500)
        expected = by_messages(instance)
        assert ENGINES["fused"].execute(instance, ()) == expected
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(session, "RESIDENT", 0)
            assert execute_on(2, instance) == expected
