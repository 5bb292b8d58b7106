"""Runs of one experiment are joined by a plus sign."""

from __future__ import annotations

import numpy as np
import pytest

import popsnet
from popsnet import InputError


def test_joined_runs_are_those_of_one_call() -> None:
    first = popsnet.route(4, 4, runs=3, engine="slots")
    rest = popsnet.route(4, 4, runs=4, first=3, engine="fused")
    whole, joined = popsnet.route(4, 4, runs=7), first + rest
    assert list(joined.numbers) == list(range(7))
    assert (joined.outcomes.table[:, 0] == whole.outcomes.table[:, 0]).all()
    assert joined.tally.slots == whole.tally.slots
    assert [run.survivors for run in joined] == [run.survivors for run in whole]
    assert (joined.seconds == np.concatenate([first.seconds, rest.seconds])).all()
    assert joined.engine == "slots, fused"
    assert "engine slots, fused" in str(joined.summary())
    assert joined[5].number == 5
    assert joined[5].outcome.slots == whole[5].outcome.slots
    assert (joined[:3] + joined[3:]).slots.tolist() == whole.slots.tolist()
    assert sum([rest], first).numbers == joined.numbers
    summed = sum([first, rest])
    assert isinstance(summed, popsnet.Runs)
    assert summed.numbers == joined.numbers


def test_joined_runs_with_faults_count_them() -> None:
    experiment = popsnet.Experiment(4, 4, router="direct", faults="random:couplers=2")
    whole = popsnet.route(experiment, runs=6)
    joined = popsnet.route(experiment, runs=3) + popsnet.route(experiment, runs=3, first=3)
    assert joined.fault_counts == whole.fault_counts
    assert joined.lost.tolist() == whole.lost.tolist()
    assert joined.to_records()[4]["lost"] == whole.to_records()[4]["lost"]


def test_what_cannot_be_joined() -> None:
    runs = popsnet.route(4, 4, runs=3)
    with pytest.raises(InputError, match=r"^Run 2 is in both; .* first=5\)"):
        _ = runs + popsnet.route(4, 4, runs=3, first=2)
    with pytest.raises(InputError, match=r"are two experiments \(seed 0 and 1\); add results"):
        _ = runs + popsnet.route(4, 4, seed=1, first=3)
    with pytest.raises(TypeError):
        _ = runs + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        _ = 1 + runs
