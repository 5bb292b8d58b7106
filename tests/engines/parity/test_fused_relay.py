"""relay on the fused engine against the engine that executes every message: the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Coins, Experiment, InputError, Network, Outcome, route
from popsnet.engines import ENGINES, Instance, choose_engine
from popsnet.engines.fused import RESIDENT, FusedSession, kernel_of, session
from popsnet.engines.fused.relay import layout
from popsnet.engines.fused.relay import stages as whole_runs
from popsnet.programs.router import Router, get_router
from popsnet.programs.routers.relay.schedule import parse_schedule
from popsnet.workloads.permutations.keyed import KeyedPermutation
from tests.conftest import permutation
from tests.each import examples
from tests.engines.parity.agreement import assert_same_runs, by_messages
from tests.programs.routers.relay.staged import any_schedule

SEEDS = st.integers(0, 2**64 - 1)
RELAY = get_router("relay")


def compiled(instance: Instance) -> Outcome:
    return ENGINES["fused"].execute(instance, ())


def execute_on(count: int, instance: Instance) -> Outcome:
    with FusedSession(kernel_of(instance), count) as opened:
        opened.execute(instance)
        return opened.execute(instance)  # the memory of the first run does no harm


def stages(draw: st.DrawFn, network: Network) -> st.SearchStrategy[str]:
    if network.d < network.g:
        classes = -(-network.g // network.d)
        x = draw(st.integers(1, classes))
        return st.just(f"XY({x},{-(-classes // x) + draw(st.integers(0, 2))})")
    windows = st.lists(st.integers(1, 5), min_size=1, max_size=3)
    return st.one_of(
        windows.map(lambda sizes: f"P({','.join(map(str, sizes))})"),
        st.sampled_from(["S", "F", "R1", "R2", "R3"]),
    )


@st.composite
def schedules(draw: st.DrawFn, network: Network) -> str:
    texts = [draw(stages(draw, network)) for _ in range(draw(st.integers(1, 5)))]
    texts.insert(draw(st.integers(0, len(texts) - 1)), "|")
    return RELAY.choose_variant(" ".join(texts), network)


@st.composite
def destinations(draw: st.DrawFn, network: Network) -> npt.NDArray[np.int32] | KeyedPermutation:
    """Random ones, and those with packets that are at home or all go from group to group."""
    d, n, seed = network.d, network.n, draw(st.integers(0, 2**32 - 1))
    kind = draw(st.sampled_from(["random", "random", "nearly home", "groups", "keyed"]))
    if kind == "keyed":
        return KeyedPermutation(n, Coins(seed))
    if kind == "groups":
        return (permutation(network.g, seed)[:, None] * d + np.arange(d)).ravel().astype(np.int32)
    order = np.arange(n, dtype=np.int32)
    moved = permutation(n, seed)[: n if kind == "random" else draw(st.integers(0, n))]
    order[np.sort(moved)] = moved
    return order


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    g = draw(st.integers(1, 9))
    sizes = [g, g, g + 1, 2 * g, 3 * g + 1, 5 * g, max(g - 1, 1), max(g // 2, 1), 1]
    network = Network(draw(st.sampled_from(sizes)), g)
    variant, destination = draw(schedules(network)), draw(destinations(network))
    max_steps = draw(st.sampled_from([1, 2, 3, 60]))
    return Instance(network, RELAY, variant, destination, Coins(draw(SEEDS)), max_steps)


@examples(150)
@given(instances())
def test_runs_in_the_cache_are_the_same(instance: Instance) -> None:
    assert compiled(instance) == by_messages(instance)


@examples(120)
@given(instance=instances(), count=st.integers(1, 3), packets=st.sampled_from([1, 2**24]))
def test_large_runs_are_the_same_on_any_number_of_threads(
    instance: Instance, count: int, packets: int
) -> None:
    """And however small the pieces of work are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "RESIDENT", 0)
        patch.setattr(whole_runs, "_PACKETS_AT_A_TIME", packets)
        assert execute_on(count, instance) == by_messages(instance)


@examples(60)
@given(instance=instances(), size=st.integers(1, 40), table=st.booleans())
def test_runs_are_the_same_however_they_are_divided(
    instance: Instance, size: int, table: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "_BLOCK", size)
        patch.setattr(whole_runs, "_LARGEST_TABLE", RESIDENT if table else 0)
        assert execute_on(1, instance) == by_messages(instance)


def test_more_runs_than_are_done_at_a_time_keep_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session, "_MOST_RUNS_AT_A_TIME", 7)
    monkeypatch.setattr(session, "STEPS_EXPECTED", 1)  # the log runs full and is emptied
    assert_same_runs(5, 5, 50, 2, router="relay", variant="P1", max_steps=40)


@pytest.mark.parametrize(("d", "g"), [(512, 512), (1000, 300), (100, 700)])
def test_larger_networks_with_their_planned_schedules_are_the_same(d: int, g: int) -> None:
    expected = route(d, g, router="relay", engine="slots")[0].outcome
    for limit in (RESIDENT, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(session, "RESIDENT", limit)
            outcome = route(d, g, router="relay", engine="fused")[0].outcome
        assert outcome == replace(expected, peak_buffers=None)


def test_a_session_is_for_one_schedule() -> None:
    network = Network(3, 3)
    instance = Instance(network, RELAY, "S", permutation(9, 3), Coins(3), 300)
    running = FusedSession(kernel_of(replace(instance, variant="P1")))
    with running, pytest.raises(ValueError, match="runs P1"):
        running.execute(instance)


def test_schedules_are_compiled_and_named_variants_are_not() -> None:
    fused = ENGINES["fused"]
    assert fused.supports(Experiment(8, 8, router="relay", variant="P2 P1")) is None
    for name in RELAY.variants:
        named = Experiment(8, 8, router="relay", variant=name)
        assert fused.supports(named) is not None
        assert choose_engine("auto", named, runs=10**9).name == "slots"
    planned = Experiment(8, 8, router="relay", variant="P1")
    assert choose_engine("auto", planned, runs=10**9) is fused
    with pytest.raises(InputError, match="does not run"):
        choose_engine("fused", Experiment(8, 8, router="relay", variant="census"))


def test_a_router_of_the_same_name_is_not_taken_for_the_compiled_one() -> None:
    """Nor is termination detection, which adds slots."""
    fused, route_it = ENGINES["fused"], get_router("direct").variant("standard")
    mine = Router("mei-rizzi", "", "", buffers=3, variants={"published": route_it})
    assert fused.supports(Experiment(8, 8)) is None
    assert fused.supports(Experiment(8, 8, router=mine)) is not None
    for variant in ("P1 +or", "S+or"):
        assert fused.supports(Experiment(8, 8, router="relay", variant=variant)) is not None


def test_memory_is_a_few_bits_a_packet_where_the_permutation_is_computed() -> None:
    fused, network = ENGINES["fused"], Network(2**15, 2**15)
    stored = Experiment(network.d, network.g, router="relay", variant="P1")
    computed = stored.replaced(permutation="keyed")
    assert fused.memory(computed) < network.n
    assert fused.memory(stored) - fused.memory(computed) == 4 * network.n
    assert fused.supports(computed) is None
    too_many = computed.replaced(d=2**16, variant="P1")
    assert "31 bits" in str(fused.supports(too_many))


def random_schedule(chooser: np.random.Generator, network: Network) -> str:
    stages = []
    for _ in range(int(chooser.integers(1, 7))):
        classes = -(-network.g // network.d)
        x = int(chooser.integers(1, classes + 1))
        window = chooser.integers(1, 9, size=int(chooser.integers(1, 4))).tolist()
        park = f"P({','.join(map(str, window))})"
        grid = f"XY({x},{-(-classes // x) + int(chooser.integers(0, 3))})"
        large_groups = [park, park, "S", "F", f"R{chooser.integers(1, 5)}"]
        stages.append(str(chooser.choice(large_groups if network.d >= network.g else [grid])))
    return str(parse_schedule(" ".join(stages)))


@pytest.mark.long
@pytest.mark.parametrize("block", range(8))
def test_thousands_of_random_cases_are_the_same(block: int) -> None:
    chooser = np.random.default_rng(block)
    for _ in range(400):
        g = int(chooser.integers(1, 24))
        network = Network(int(chooser.choice([g, int(chooser.integers(1, 4 * g + 1))])), g)
        destination = permutation(network.n, int(chooser.integers(0, 2**32)))
        seed, steps = Coins(int(chooser.integers(0, 2**63))), int(chooser.choice([4, 500]))
        draw = any_schedule if chooser.random() < 0.5 else random_schedule  # that with T, Q and X
        variant = draw(chooser, network)
        instance = Instance(network, RELAY, variant, destination, seed, steps)
        expected = by_messages(instance)
        assert compiled(instance) == expected
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(session, "RESIDENT", 0)
            assert execute_on(2, instance) == expected


@pytest.mark.parametrize(("d", "g", "schedule"), [(24, 8, "P9 F"), (60, 20, "P4 F"), (32, 4, "R2")])
def test_many_messages_on_a_coupler_leave_its_neighbours_alone(
    d: int, g: int, schedule: str
) -> None:
    """Crowds on the way from a relay: three and more messages on one coupler."""
    assert_same_runs(d, g, 40, 1, router="relay", variant=schedule, max_steps=30)
