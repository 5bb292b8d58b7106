"""d > g: what the published protocol does, and its repair."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from popsnet import Coins, Experiment, Network, Outcome, route
from popsnet.engines import ENGINES, Instance
from popsnet.programs.router import get_router
from popsnet.trace import TraceWriter
from popsnet.trace.checker import check_trace
from tests.conftest import Cli, permutation
from tests.each import examples

SEEDS = st.integers(0, 2**64 - 1)


@st.composite
def large_groups(draw: st.DrawFn) -> tuple[int, int]:
    """d > g, also where g does not divide d."""
    g = draw(st.integers(2, 6))
    return g + draw(st.integers(1, 4 * g)), g


def execute(d: int, g: int, variant: str, seed: int, max_steps: int = 1000) -> Outcome:
    network = Network(d, g)
    destination = permutation(network.n, seed)
    router = get_router("mei-rizzi")
    instance = Instance(network, router, variant, destination, Coins(seed), max_steps)
    return ENGINES["slots"].execute(instance, ())


@given(shape=large_groups(), seed=SEEDS)
def test_deferred_loses_nothing(shape: tuple[int, int], seed: int) -> None:
    d, g = shape
    outcome = execute(d, g, "deferred", seed)
    assume(not outcome.capped)  # a group with far more than g packets may stall
    assert (outcome.delivered, outcome.lost) == (d * g, 0)
    assert 5 * outcome.steps <= outcome.slots <= 5 * outcome.steps + -(-d // g) - 1
    assert outcome.peak_buffers is not None
    assert outcome.peak_buffers <= 3


@given(shape=large_groups(), seed=SEEDS)
def test_what_published_does_not_deliver_is_lost(shape: tuple[int, int], seed: int) -> None:
    d, g = shape
    outcome = execute(d, g, "published", seed)
    assume(not outcome.capped)
    assert outcome.delivered + outcome.lost == d * g
    assert len(outcome.lost_packets) == outcome.lost


@given(shape=large_groups(), seed=SEEDS)
def test_idealized_takes_the_steps_of_published(shape: tuple[int, int], seed: int) -> None:
    """It counts what survives slots 1 and 2, and these are the same slots."""
    published, idealized = (execute(*shape, name, seed) for name in ("published", "idealized"))
    assert published.steps == idealized.steps
    assume(not published.capped)
    assert published.survivors[-1] == published.lost


@given(g=st.integers(1, 7), seed=SEEDS)
def test_on_a_square_network_nothing_has_to_be_deferred(g: int, seed: int) -> None:
    traces = []
    for variant in ("published", "deferred"):
        file = io.StringIO()
        network = Network(g, g)
        instance = Instance(
            network, get_router("mei-rizzi"), variant, permutation(network.n, seed), Coins(seed),
            1000,
        )  # fmt: skip
        ENGINES["slots"].execute(instance, [TraceWriter(file)])
        traces.append(file.getvalue())
    assert [json.loads(line)["sends"] for line in traces[0].splitlines()] == [
        json.loads(line)["sends"] for line in traces[1].splitlines()
    ]


@examples(25)
@given(shape=large_groups(), seed=SEEDS)
def test_the_replay_confirms_what_is_lost(
    tmp_path_factory: pytest.TempPathFactory, shape: tuple[int, int], seed: int
) -> None:
    path = tmp_path_factory.mktemp("trace") / "t"
    for variant in ("published", "deferred"):
        outcome = route(*shape, variant=variant, seed=seed, trace=path)[0].outcome
        assume(not outcome.capped)
        report = check_trace(path)
        assert tuple(report.lost) == tuple(report.undelivered) == outcome.lost_packets
        assert report.ok == (outcome.lost == 0)
        assert report.violation_count == outcome.lost + (outcome.lost > 0)


def test_a_loss_is_a_failure_even_if_the_run_was_capped(cli: Cli) -> None:
    told = cli("route", 12, 3, "--variant", "published", "--max-steps", 12)
    assert "; 4 lost (" in told.out
    assert "capped runs: 1." in told.out
    assert told.code == 1


def test_a_capped_run_is_called_capped() -> None:
    for variant in ("published", "deferred", "idealized"):
        outcome = execute(12, 3, variant, 1, max_steps=2)
        assert outcome.capped
        assert outcome.steps == 2
        assert outcome.delivered < 36


@pytest.mark.parametrize(("ratio", "share"), [(2, 0.12), (4, 0.17), (16, 0.21)])
def test_published_loses_about_what_was_found_before(ratio: int, share: float) -> None:
    """The shares are those of an independent simulation, given to a hundredth."""
    (run,) = route(ratio * 64, 64, variant="published")
    assert run.lost / run.experiment.network.n == pytest.approx(share, abs=0.015)


def test_the_default_is_the_variant_that_loses_nothing() -> None:
    assert Experiment(4, 4).variant == "published"
    assert Experiment(8, 4).variant == "deferred"


def test_route_says_what_is_lost(cli: Cli, tmp_path: Path) -> None:
    arguments = ("route", 6, 3, "--variant", "published", "--seed", 2)
    told = cli(*arguments)
    runs = json.loads(cli(*arguments, "--json").out)["outcomes"]
    lost = runs[0]["lost_packets"]
    assert lost
    assert told.code == 1
    assert f"{len(lost)} lost ({lost[0]}" in told.out
    assert len(lost) == runs[0]["lost"]


@pytest.mark.parametrize("engine", ["objects", "fused"])
def test_engines_refuse_what_they_cannot_execute(engine: str, cli: Cli) -> None:
    told = cli("route", 6, 3, "--variant", "published", "--engine", engine)
    assert told.code == 2
    assert "on POPS(6, 3)" in told.err
    assert "--engine slots" in told.err


def test_large_runs_are_the_same_too() -> None:
    """Beyond the size where runs stay in the cache."""
    slow, fast = (
        route(3000, 500, engine=engine, variant="deferred")[0].outcome
        for engine in ("slots", "fused")
    )
    assert replace(slow, peak_buffers=None) == fast
