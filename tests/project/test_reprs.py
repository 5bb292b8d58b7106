"""Every result with a report has a ``repr`` of one line, and prints its report."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import popsnet
from popsnet.base.report import Reported
from popsnet.studies.adversaries import (
    attack_oblivious,
    attack_rigid,
    attack_two_hop,
    check_conflict_free,
    measure_congestion,
    measure_separation,
)
from popsnet.studies.traffic.overview import traffic_overview
from popsnet.studies.traffic.saturation import Saturation
from popsnet.sweeps.curves import result_curves
from popsnet.sweeps.verify import verify
from popsnet.theory.sorting.examination import examine
from popsnet.traffic import TrafficExperiment, find_saturations, replicate, run_loads

NET = popsnet.Network(4, 2)
POINT = TrafficExperiment(4, 2, scheduler="tdm", load=0.2, slots=200)
QUIET: dict[str, Any] = {"progress": False}
DIRECT: dict[str, Any] = {"routers": ["direct"], "runs": 2, **QUIET}


def of_a_store(path: Path) -> list[Reported]:
    popsnet.collect([popsnet.Experiment(4, 2)], runs=10, store=path / "r", **QUIET)
    with popsnet.Store(path / "r") as store:
        return [verify(store, 0, progress=False), result_curves(store)]


def of_a_table(folder: Path) -> Any:
    """Write a schedule as a table, and return what is said of it."""
    (folder / "table.csv").write_text("slot,sender,receiver,packet\n1,0,2,0\n", encoding="utf-8")
    return popsnet.check_schedule(2, 2, folder / "table.csv")


RESULTS: dict[str, Callable[[Path], Any]] = {
    "RunSlot": lambda _: popsnet.route(4, 4)[0].slot(1),
    "RunsSummary": lambda _: popsnet.route(4, 2, runs=2).summary(),
    "TrafficResult": lambda _: popsnet.simulate(POINT),
    "LoadCurves": lambda _: run_loads([POINT], **QUIET),
    "Replications": lambda _: replicate(POINT, 2, **QUIET),
    "Saturation": lambda _: Saturation(0.49, 0.5, ()),
    "Saturations": lambda _: find_saturations([POINT], width=0.5, **QUIET),
    "TrafficOverview": lambda _: traffic_overview(NET),
    "Scheduled": lambda _: popsnet.schedule(NET),
    "ScheduleCheck": lambda path: of_a_table(path),
    "RunsDistribution": lambda _: popsnet.distribution(4, 2, runs=5, **QUIET),
    "Comparison": lambda _: popsnet.compare(4, 2, **DIRECT),
    "Survival": lambda _: popsnet.survival(4, 2, numbers=[1], **DIRECT),
    "Recommendation": lambda _: popsnet.recommend(4, 2),
    "Prediction": lambda _: popsnet.predict(4, 2),
    "PowerBudget": lambda _: popsnet.budget(4, 2, preset="pon"),
    "ExactSteps": lambda _: popsnet.exact.exact_steps(2, 2),
    "ComputationResult": lambda _: popsnet.compute(popsnet.Network(2, 2), "sum"),
    "SortResult": lambda _: popsnet.sort(popsnet.Network(2, 2)),
    "NetworkExamination": lambda _: examine("merge-exchange", 8),
    "RigidAttack": lambda _: attack_rigid("batcher", None, popsnet.Network(8, 8)),
    "ConflictFreeCheck": lambda _: check_conflict_free("direct", None, 2, 2),
    "TwoHopAttack": lambda _: attack_two_hop("hashed", popsnet.Network(8, 8)),
    "ObliviousAttack": lambda _: attack_oblivious(popsnet.Network(8, 8), "residue"),
    "CongestionStudy": lambda _: measure_congestion(8, runs=2),
    "SeparationStudy": lambda _: measure_separation(8, runs=1, most_rounds=2),
    "Verification": lambda path: of_a_store(path)[0],
    "Curves": lambda path: of_a_store(path)[1],
}
NOT_MADE = {"Reproduction", "Rescue"}
"""Of the paper, and of a damaged store: they take long."""


def test_every_result_is_in_the_list() -> None:
    for module in pkgutil.walk_packages(popsnet.__path__, "popsnet."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    found, left = set[str](), [Reported]
    while left:
        left += (below := left.pop().__subclasses__())
        found |= {one.__name__ for one in below if one.__module__.startswith("popsnet.")}
    assert found == RESULTS.keys() | NOT_MADE


def test_a_result_is_one_line_and_prints_its_report(tmp_path: Path) -> None:
    for name, make in RESULTS.items():
        (tmp_path / name).mkdir()
        result = make(tmp_path / name)
        assert type(result).__name__ == name
        shown = repr(result)
        assert "\n" not in shown, shown
        assert shown == f"<{shown[1:-1]}>", shown
        assert len(shown) > len(name) + 6, shown
        assert str(result) == str(result.report()), name
        assert result._repr_html_(), name
        assert "\n" not in repr(result.report())
