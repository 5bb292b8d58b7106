"""The engines agree: not in the mean, but message by message."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import permutation
from popsnet import Coins, Network, Outcome
from popsnet.engines import ENGINES, Instance
from popsnet.routing import get_router
from popsnet.trace import Event, Listen, Send, TraceWriter

Slots = list[tuple[int, str, int, int, list[Send], list[Listen]]]


def written(engine: str, g: int, seed: int) -> str:
    """The trace of a run, as it stands in a file."""
    file = io.StringIO()
    instance = Instance(
        Network(g, g), get_router("mei-rizzi"), "published", permutation(g * g, seed), Coins(seed),
        1000,
    )  # fmt: skip
    ENGINES[engine].execute(instance, [TraceWriter(file)])
    return file.getvalue()


@settings(max_examples=60)
@given(g=st.integers(1, 8), seed=st.integers(0, 2**64 - 1))
def test_same_seed_same_trace(g: int, seed: int) -> None:
    assert written("objects", g, seed) == written("slots", g, seed)


def trajectory(engine: str, g: int, seed: int, max_steps: int) -> tuple[Outcome, Slots]:
    seen: Slots = []

    def watch(event: Event) -> None:
        sends, listens = event.records()
        seen.append((event.slot, event.phase, event.step, event.pending, sends, listens))

    network = Network(g, g)
    destination = permutation(network.n, seed)
    router = get_router("mei-rizzi")
    instance = Instance(network, router, "published", destination, Coins(seed), max_steps)
    outcome = ENGINES[engine].execute(instance, [watch])
    return outcome, seen


def assert_same(g: int, seed: int, max_steps: int = 1000) -> None:
    one, slots_of_one = trajectory("objects", g, seed, max_steps)
    other, slots_of_other = trajectory("slots", g, seed, max_steps)
    for a, b in zip(slots_of_one, slots_of_other, strict=True):
        assert a == b
    assert one == other


@settings(max_examples=300)
@given(g=st.integers(1, 12), seed=st.integers(0, 2**64 - 1))
def test_same_seed_same_slots(g: int, seed: int) -> None:
    assert_same(g, seed)


@settings(max_examples=30)
@given(g=st.integers(2, 8), seed=st.integers(0, 2**64 - 1), max_steps=st.integers(1, 3))
def test_same_seed_same_slots_when_capped(g: int, seed: int, max_steps: int) -> None:
    assert_same(g, seed, max_steps)


@pytest.mark.parametrize("g", [24, 40])
def test_same_seed_same_slots_on_larger_networks(g: int) -> None:
    assert_same(g, seed=g)


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_same_seed_same_slots_in_thousands_of_cases(block: int) -> None:
    for seed in range(block * 300, block * 300 + 300):
        assert_same(1 + seed % 16, seed)
