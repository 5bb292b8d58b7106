"""The engine on a real GPU; ``make test-gpu`` runs these tests."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from popsnet import Experiment, distribution, route

from popsnet_cuda.device import describe_device, is_simulated

pytestmark = pytest.mark.cuda

BLOCKS = 10
CASES = 300
"""Random cases of a block."""

SCHEDULES = ("S", "P1", "P2 P1", "P(2,1) F", "P3 S F R2", "P1 P1 P1 R3", "R1", "P2 P1 P1 R2")


@pytest.fixture(autouse=True)
def gpu() -> None:
    """Without a GPU nothing is tested, which is a failure."""
    status = describe_device()
    if not status.available:
        pytest.fail(f"These tests need a GPU: {status.reason}.")
    if is_simulated():
        pytest.fail("These tests need a GPU, and NUMBA_ENABLE_CUDASIM is set.")


@pytest.fixture
def cases() -> ModuleType:
    """What all of them compare; imported here, as it imports CUDA."""
    return importlib.import_module("tests.cases")


def drawn(chooser: np.random.Generator) -> Experiment:
    """A random experiment that the engine supports."""
    g = int(chooser.integers(1, 70))
    permutation = str(chooser.choice(["random", "random", "keyed", "transpose", "reversal"]))
    choices: dict[str, Any] = {
        "permutation": permutation,
        "max_steps": int(chooser.choice([3, 1000])),
        "seed": int(chooser.integers(0, 2**63)),
        "permutation_seed": int(chooser.integers(0, 2**63)),
    }
    if chooser.random() < 0.4:
        variant = str(chooser.choice(SCHEDULES))
        return Experiment(g, g, router="relay", variant=variant, **choices)
    if chooser.random() < 0.5:
        return Experiment(g, g, variant="published", **choices)
    d = g + int(chooser.integers(0, 3 * g + 1))
    return Experiment(d, g, variant="idealized", **choices)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_thousands_of_random_cases_are_those_of_fused(block: int, cases: ModuleType) -> None:
    chooser = np.random.default_rng(block)
    for _ in range(CASES):
        experiment, first = drawn(chooser), int(chooser.integers(0, 2**40))
        runs = int(chooser.choice([1, 2, 100]))
        if experiment.permutation != "random":
            runs = min(runs, 2)
        assert not list(cases.differences(experiment, range(first, first + runs)))


def test_the_cases_of_the_simulator_are_the_same(cases: ModuleType) -> None:
    assert not list(cases.all_differences())


@pytest.mark.parametrize("n", [1, 2, 64, 1000, 1024, 16_384, 30_000])
@pytest.mark.parametrize("threads", [32, 128, 1024])
def test_permutations_are_those_of_the_host(n: int, threads: int, cases: ModuleType) -> None:
    assert not list(cases.shuffles(n, max(n // 3, 1), threads))


@pytest.mark.parametrize("permutation", ["random", "keyed"])
@pytest.mark.parametrize(
    "choices",
    [
        {"d": 1024, "g": 1024},
        {"d": 3000, "g": 3000},
        {"d": 4096, "g": 512, "variant": "idealized"},
        {"d": 2048, "g": 2048, "router": "relay", "variant": "P2 P1 P1 P1 R2"},
    ],
    ids=str,
)
def test_large_runs_are_those_of_fused(choices: dict[str, Any], permutation: str) -> None:
    experiment = Experiment(**choices, permutation=permutation, seed=1)
    found, expected = (route(experiment, engine=name)[0].outcome for name in ("cuda", "fused"))
    assert found == expected


@pytest.mark.parametrize("g", [8, 32, 64, 128])
def test_distributions_of_many_runs_are_those_of_fused(g: int) -> None:
    runs = 2**22 // g**2
    found, expected = (
        distribution(g, g, runs=runs, engine=name, exact=False, progress=False)
        for name in ("cuda", "fused")
    )
    assert found.tally == expected.tally
    assert found.capped_tally == expected.capped_tally


def test_runs_are_the_same_again() -> None:
    """A race would show now and then."""
    first = distribution(32, 32, runs=200_000, engine="cuda", exact=False, progress=False).tally
    for _ in range(20):
        again = distribution(32, 32, runs=200_000, engine="cuda", exact=False, progress=False)
        assert again.tally == first
