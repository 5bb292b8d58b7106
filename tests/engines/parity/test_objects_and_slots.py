"""The engines agree: not in the mean, but message by message."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Coins, Network, Outcome
from popsnet.engines import ENGINES, Instance
from popsnet.engines.objects.relay import public_place
from popsnet.programs.router import get_router
from popsnet.programs.routers.relay import Bijection
from popsnet.trace import Event, Listen, Send, TraceWriter
from tests.conftest import permutation
from tests.each import each, examples, sampled

Slots = list[tuple[int, str, int, int, list[Send], list[Listen]]]


ROUTERS = (
    ("mei-rizzi", "published"), ("relay", "S"), ("relay", "P1"), ("relay", "P1 | Q Q S"),
    ("relay", "| Q P1 S"), ("relay", "S S | Q Q Q P1"),
)  # fmt: skip


def instance_of(what: tuple[str, str], g: int, seed: int, max_steps: int) -> Instance:
    """On a random permutation, or for every third seed one that leaves most packets at home."""
    router, variant = what
    destination = permutation(g * g, seed)
    if seed % 3 == 0:
        moved = destination[: g + 1]
        destination = np.arange(g * g, dtype=np.int32)
        destination[np.sort(moved)] = moved
    return Instance(Network(g, g), get_router(router), variant, destination, Coins(seed), max_steps)


def written(engine: str, what: tuple[str, str], g: int, seed: int) -> str:
    """The trace of a run, as it stands in a file."""
    file = io.StringIO()
    ENGINES[engine].execute(instance_of(what, g, seed, 1000), [TraceWriter(file)])
    return file.getvalue()


@examples(120)
@given(what=st.sampled_from(ROUTERS), g=st.integers(1, 8), seed=st.integers(0, 2**64 - 1))
def test_same_seed_same_trace(what: tuple[str, str], g: int, seed: int) -> None:
    assert written("objects", what, g, seed) == written("slots", what, g, seed)


def trajectory(
    engine: str, what: tuple[str, str], g: int, seed: int, max_steps: int
) -> tuple[Outcome, Slots]:
    seen: Slots = []

    def watch(event: Event) -> None:
        sends, listens = event.records()
        seen.append((event.slot, event.phase, event.step, event.pending, sends, listens))

    outcome = ENGINES[engine].execute(instance_of(what, g, seed, max_steps), [watch])
    return outcome, seen


def assert_same(what: tuple[str, str], g: int, seed: int, max_steps: int = 1000) -> None:
    outcome, slots = trajectory("objects", what, g, seed, max_steps)
    other_outcome, other_slots = trajectory("slots", what, g, seed, max_steps)
    for a, b in zip(slots, other_slots, strict=True):
        assert a == b
    assert outcome == other_outcome


@examples(200)
@given(what=st.sampled_from(ROUTERS), g=st.integers(1, 12), seed=st.integers(0, 2**64 - 1))
def test_same_seed_same_slots(what: tuple[str, str], g: int, seed: int) -> None:
    assert_same(what, g, seed)


@examples(60)
@given(
    what=st.sampled_from(ROUTERS),
    g=st.integers(2, 8),
    seed=st.integers(0, 2**64 - 1),
    max_steps=st.integers(1, 3),
)
def test_same_seed_same_slots_when_capped(
    what: tuple[str, str], g: int, seed: int, max_steps: int
) -> None:
    assert_same(what, g, seed, max_steps)


@each("what", ROUTERS)
@each("g", sampled([24, 40], 1))
def test_same_seed_same_slots_on_larger_networks(g: int, what: tuple[str, str]) -> None:
    assert_same(what, g, seed=g)


@pytest.mark.long
@pytest.mark.parametrize("what", ROUTERS)
@pytest.mark.parametrize("block", range(10))
def test_same_seed_same_slots_in_thousands_of_cases(block: int, what: tuple[str, str]) -> None:
    for seed in range(block * 300, block * 300 + 300):
        assert_same(what, 1 + seed % 16, seed)


@given(
    seed=st.integers(0, 2**64 - 1),
    number=st.integers(0, 40),
    group=st.integers(0, 5),
    size=st.integers(1, 70),
)
def test_public_bijections_are_those_of_the_definition(
    seed: int, number: int, group: int, size: int
) -> None:
    values = np.arange(size)
    expected = [public_place(seed, number, group, value, size) for value in range(size)]
    bijection = Bijection(seed, number, 6, size)
    assert bijection(np.full(size, group), values).tolist() == expected
