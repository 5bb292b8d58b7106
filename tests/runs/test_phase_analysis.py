"""The steps of a run in terms of the paper's phases."""

from __future__ import annotations

from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from popsnet import Coins, Experiment, Network
from popsnet.engines import ENGINES, Instance
from popsnet.programs.router import get_router
from popsnet.runs.phase_analysis import StepAnalysis, analyse_phases
from popsnet.theory import Phase
from tests.conftest import permutation
from tests.each import examples


@examples(40)
@given(g=st.integers(1, 9), k=st.integers(1, 3), seed=st.integers(0, 2**64 - 1))
def test_a_course_is_the_run_of_the_engine(g: int, k: int, seed: int) -> None:
    network, destination, coins = Network(k * g, g), permutation(k * g * g, seed), Coins(seed)
    instance = Instance(network, get_router("mei-rizzi"), "idealized", destination, coins, 50)
    outcome = ENGINES["slots"].execute(instance, ())
    strides = list(islice(analyse_phases(network, destination, coins), 50))
    assert tuple(len(stride.after.packets) for stride in strides) == outcome.survivors
    for stride in strides:
        assert len(stride.graph.degrees) == 2 * g
        assert stride.graph.max_degree <= network.d


def course(d: int, g: int) -> list[StepAnalysis]:
    experiment = Experiment(d, g)
    return list(analyse_phases(experiment.network, experiment.destination(0), Coins(0).for_run(0)))


def test_every_step_of_a_large_square_is_lucky() -> None:
    strides = course(256, 256)
    assert [stride.phase for stride in strides[:2]] == [Phase.CONSTANT] * 2
    assert strides[-1].phase is Phase.SPARSE
    assert all(stride.lucky for stride in strides if stride.phase is Phase.CONSTANT)
    assert [stride.lucky for stride in strides if stride.phase is Phase.SPARSE][-1] is None


def test_thinning_is_not_lucky_for_all_groups_at_practical_sizes() -> None:
    """c + ε = 4 leaves 2 % of room, and groups of hundreds of packets differ by more."""
    thinning = [stride for stride in course(512, 128) if stride.phase is Phase.THINNING]
    assert thinning
    assert not any(stride.lucky for stride in thinning)
