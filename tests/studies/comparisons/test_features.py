"""Demands, faults and wavelengths in comparisons and studies of faults: the counts of ``route``."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import Experiment, InputError, Network, compare, distribution, route, survival
from popsnet.engines.outcome import FaultCounts
from popsnet.plots import draw_comparison
from popsnet.programs.schedules import Demand, lower_bound
from popsnet.runs.notebook import page_of
from tests.each import each, sampled

MATRIX = [[1, 2, 3, 4], [4, 3, 2, 1], [0, 9, 0, 0], [5, 0, 0, 5]]
FAULTS = "random:couplers=2 processor:5 loss:0.01"

FEATURES: list[dict[str, Any]] = [
    {"matrix": MATRIX},
    {"wavelengths": 2},
    {"matrix": MATRIX, "wavelengths": 2},
    {"faults": FAULTS, "fault_seed": 3},
    {"faults": FAULTS, "matrix": MATRIX, "wavelengths": 2},
]


@each("features", sampled(FEATURES, 3))
def test_a_comparison_has_the_runs_of_every_router(features: dict[str, Any]) -> None:
    found = compare(8, 4, runs=4, max_steps=30, **features)
    assert len(found) + len(found.left_out) >= 1
    records = found.report().to_dict()["routers"]
    for compared, record in zip(found, records, strict=True):
        of: dict[str, Any] = {"router": compared.router, "variant": compared.experiment.variant}
        alone = route(8, 4, **of, runs=4, max_steps=30, engine="slots", **features)
        assert compared.runs is not None
        assert np.array_equal(compared.runs.outcomes.table, alone.outcomes.table)
        assert np.array_equal(compared.runs.outcomes.faulty, alone.outcomes.faulty)
        for name in ("delivered", "unreachable", "held", "lost") * ("faults" in features):
            assert record[name] == getattr(alone, name).sum()
    assert draw_comparison(found).axes


def test_bounds_are_of_runs_without_faults() -> None:
    assert compare(8, 4, runs=1, faults="coupler:0-1").lower_bound is None
    text = str(compare(8, 4, runs=1, faults="coupler:0-1"))
    assert "Lower bound" not in text
    assert "unreach." in text
    network = Network(8, 4, 2)
    found = compare(network, runs=1, permutation="shift:8")
    destination = Experiment(8, 4, permutation="shift:8").destination(0)
    assert found.lower_bound == lower_bound(Demand.of_permutation(network, destination))
    assert found.lower_bound < (compare(8, 4, runs=1, permutation="shift:8").lower_bound or 0)


def test_those_that_survive_are_compared_by_default() -> None:
    found = compare(4, 4, runs=2, faults="random:couplers=2")
    ways = {one.experiment.variant.partition(":")[0] for one in found if not one.failed}
    assert {"survive", "survive-flooded"} <= ways
    assert found.done[0].missing == 0


@each("features", sampled([one for one in FEATURES if "faults" not in one], 2))
def test_survival_is_of_the_same_packets(features: dict[str, Any]) -> None:
    found = survival(8, 4, numbers=[0, 2], runs=3, max_steps=30, fault_seed=4, **features)
    for router, variant in found.routers:
        whole = {"router": router, "variant": variant, "runs": 3, "max_steps": 30, **features}
        without = route(8, 4, **whole)
        faulty = route(8, 4, faults="random:couplers=2", fault_seed=4, **whole)
        intact, row = found.of(router, variant)
        assert intact.lost == without.lost.sum() == 0
        sums = row.lost, row.unreachable, row.held, row.duplicated
        names = "lost", "unreachable", "held", "duplicated"
        assert sums == tuple(getattr(faulty, name).sum() for name in names)
        record = row.to_record()
        assert [record[f"{name}_per_run"] for name in names] == [one / 3 for one in sums]
        assert row.slots_mean == faulty.slots.mean()
    facts = found.report().to_dict()
    assert facts["network"].get("wavelengths", 1) == features.get("wavelengths", 1)
    assert facts.get("packets") == (39 if "matrix" in features else None)


@each("features", FEATURES)
def test_a_distribution_has_the_counts_of_single_runs(features: dict[str, Any]) -> None:
    several = {"router": "offline", "seed": 1, **features}
    found, runs = distribution(8, 4, runs=60, **several), route(8, 4, runs=60, **several)
    assert found.tally.slots == Counter(runs.slots.tolist())
    assert found.undelivered == runs.undelivered
    assert found.lost == runs.lost.sum()
    for name in FaultCounts._fields:
        assert found.fault_counts[name] == runs.outcomes.column(name).sum()
    parts = [distribution(8, 4, runs=30, first=first, **several) for first in (0, 30)]
    assert (parts[0] + parts[1]).fault_counts == found.fault_counts
    facts = found.report().to_dict()
    if "faults" in features:
        assert facts["lost"] + facts["held"] + facts["unreachable"] == facts["undelivered"]
        assert not facts["survives"]


def test_what_is_known_without_runs_is_of_intact_networks() -> None:
    whole, faulty = (distribution(3, 3, runs=20, faults=faults) for faults in (None, "coupler:0-1"))
    assert whole.expected.exact is not None
    assert (faulty.expected.exact, faulty.expected.fluid, faulty.expected.bound) == (None, (), None)
    several = distribution(8, 2, router="relay", runs=20, wavelengths=2)
    assert several.expected == type(several.expected)()


def test_runs_with_faults_are_kept() -> None:
    same: dict[str, Any] = {"router": "direct", "faults": FAULTS, "keep": "runs.json"}
    distribution(4, 4, runs=30, **same)
    again = distribution(4, 4, runs=50, **same)
    whole = distribution(4, 4, router="direct", faults=FAULTS, runs=50)
    assert again == whole == popsnet.read_distribution("runs.json")
    assert whole.fault_counts["unheard"] > 0
    with pytest.raises(InputError, match="runs of another experiment: faults = "):
        distribution(4, 4, router="direct", runs=5, faults="coupler:0-1", keep="runs.json")


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@each("features", FEATURES)
def test_every_run_can_be_seen(features: dict[str, Any]) -> None:
    run = route(8, 4, router="offline", **features)[0]
    page, report = page_of(run)
    row = report.to_dict()["outcomes"][0]
    assert (row["delivered"], row["lost"]) == (run.delivered, run.lost)
    assert row["packets"] == run.experiment.packets
    if "faults" in features:
        faulty = run.outcome.faulty
        assert faulty is not None
        assert (row["unreachable"], row["held"]) == (faulty.unreachable, faulty.held)
    assert page.title.startswith(str(run.experiment.network))


def test_rows_say_which_faults_they_are_of() -> None:
    options: dict[str, Any] = {"runs": 1, "progress": False, "max_steps": 5}
    frame = compare(2, 2, routers="direct", faults="coupler:0-1", **options).to_dataframe()
    assert frame.faults.tolist() == ["coupler:0-1"]
    rows = survival(2, 2, routers="direct", numbers=[1], kind="processors", **options)
    assert {*rows.to_dataframe().kind} == {"processors"}


def test_what_cannot_be_drawn_or_read_is_refused() -> None:
    with pytest.raises(InputError, match="phases=True"):
        popsnet.predict(4, 4).plot()
    packets: Any = [[1, 0, 1]]
    with pytest.raises(InputError, match="give the name of a file"):
        popsnet.simulate(4, 2, packets=packets)
