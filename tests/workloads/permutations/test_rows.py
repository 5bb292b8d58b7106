"""An array of permutations: row r is that of run r."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import popsnet
from popsnet import Experiment, InputError, PermutationError
from popsnet.traffic import TrafficExperiment

RNG = np.random.default_rng(1)
ROWS = np.array([RNG.permutation(16) for _ in range(20)])


@pytest.mark.parametrize("engine", ["objects", "slots", "fused"])
def test_every_run_has_its_row(engine: str) -> None:
    runs = popsnet.route(4, 4, router="mei-rizzi", permutation=ROWS, runs=5, first=3, engine=engine)
    for run in runs:
        assert (run.experiment.destination(run.number) == ROWS[run.number]).all()
    singles = [
        popsnet.route(4, 4, router="mei-rizzi", permutation=row, first=r, engine=engine).slots[0]
        for r, row in enumerate(ROWS[:8])
    ]
    assert runs.slots.tolist() == singles[3:]


def test_comparisons_distributions_and_stores_take_rows(tmp_path: Path) -> None:
    found = popsnet.compare(4, 4, routers=["direct", "offline"], permutation=ROWS, runs=20)
    made = [popsnet.schedule(popsnet.Network(4, 4), row).slots for row in ROWS]
    assert found["offline"].slots.tolist() == made
    whole = popsnet.distribution(4, 4, permutation=ROWS, runs=8, first=2)
    runs = popsnet.route(4, 4, permutation=ROWS, runs=8, first=2)
    assert whole.tally.slots == runs.tally.slots
    experiment = Experiment(4, 4, permutation=ROWS)
    (tally,) = popsnet.collect([experiment], 20, tmp_path / "r.sqlite", progress=False)
    assert tally.runs == 20
    with pytest.raises(PermutationError, match="there is no run 29"):
        popsnet.collect([experiment], 21, tmp_path / "r.sqlite", progress=False)


def test_the_identity_is_a_digest() -> None:
    experiment = Experiment(4, 4, permutation=ROWS)
    assert Experiment(4, 4, permutation=ROWS[0]).permutation == (
        "array:8e437d9ab7314530ec33eb68dfd5c8b6"
    )
    others = {experiment, Experiment(4, 4, permutation=ROWS[:19])}
    others |= {Experiment(4, 4, permutation=ROWS[:1]), Experiment(4, 4, permutation=ROWS[0])}
    assert len(others) == 4
    assert Experiment(4, 4, permutation=ROWS.astype(np.uint8).tolist()) == experiment
    again = pickle.loads(pickle.dumps(experiment))
    assert again == experiment.replaced(seed=0)
    assert (again.destination(7) == ROWS[7]).all()


def test_wrong_rows_are_refused() -> None:
    twice = ROWS.copy()
    twice[3, 5] = twice[3, 6]
    for wrong, reason in (
        (ROWS[:, :8], r"shape \(20, 8\); give a row of n = 16 integers, or an array of"),
        (ROWS[:0], r"shape \(0, 16\)"),
        (ROWS[np.newaxis], r"shape \(1, 20, 16\)"),
        (twice, r"^permutation, row 3, is not a permutation: entries 5 and 6 are both"),
        (ROWS / 2, "row 0, has values of type float64"),
    ):
        with pytest.raises(PermutationError, match=reason):
            popsnet.route(4, 4, permutation=wrong)
    for runs, first in ((21, 0), (1, 20), (6, 15)):
        with pytest.raises(InputError, match=r"^permutation has 20 rows, one for each run"):
            popsnet.route(4, 4, permutation=ROWS, runs=runs, first=first)
    with pytest.raises(InputError, match="has 20 rows"):
        popsnet.distribution(4, 4, permutation=ROWS, runs=30)
    with pytest.raises(InputError, match="has 20 rows"):
        popsnet.compare(4, 4, routers=["direct"], permutation=ROWS, runs=30)
    with pytest.raises(PermutationError, match="has shape"):
        Experiment(4, 4, permutation=ROWS).replaced(g=2)
    with pytest.raises(InputError, match="give one row of n = 16"):
        TrafficExperiment(4, 4, load=0.1, scheduler="tdm", pattern=ROWS)
