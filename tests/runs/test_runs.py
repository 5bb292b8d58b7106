"""The front door: what route returns, and the other verbs of the package."""

from __future__ import annotations

import pickle
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import Experiment, InputError, Network, Run, Runs, route
from popsnet.engines import Outcomes, Tally
from popsnet.engines.outcome import COLUMNS
from popsnet.runs.summary import bars, experiment_columns
from tests.each import each

SHAPES = ((4, 4), (9, 4), (3, 5))


@pytest.mark.parametrize("engine", ["slots", "fused"])
def test_arrays_are_the_counts_of_the_runs(engine: str) -> None:
    """Of runs with losses and caps, too."""
    for variant, g, steps in (("published", 3, 1000), ("idealized", 3, 4), ("deferred", 3, 1000)):
        if engine == "fused" and variant == "published":
            continue  # it loses packets for d > g, which fused does not follow
        experiment = Experiment(6, g, variant=variant, seed=5, max_steps=steps)
        runs = route(experiment, runs=30, engine=engine)
        assert (len(runs), runs.engine, runs.numbers) == (30, engine, range(30))
        for name in COLUMNS:
            expected = [getattr(run.outcome, name) for run in runs]
            if expected[0] is None:
                assert (name, runs.peak_buffers) == ("peak_buffers", None)
            else:
                assert getattr(runs, name).tolist() == expected
        assert runs.tally == Tally.of(Outcomes.of(run.outcome for run in runs))
        assert runs.tally.slots == Counter(runs.slots.tolist())
        assert runs.capped.any() == (variant == "idealized")
        assert runs.failed == (variant != "deferred")


def test_runs_are_a_sequence() -> None:
    runs = route(6, 3, variant="published", runs=12, seed=5, first=3)
    assert runs.numbers == range(3, 15)
    for i in (0, 5, -1):
        one = route(6, 3, variant="published", seed=5, first=range(3, 15)[i])[0]
        assert runs[i] == one
        assert (runs[i].number, runs[i].lost_packets) == (one.number, one.outcome.lost_packets)
    part = runs[4:9]
    assert isinstance(part, Runs)
    assert list(part) == list(runs)[4:9]
    assert [run.number for run in part] == [7, 8, 9, 10, 11]
    assert len(runs[5:2]) == 0
    assert runs[0] in runs
    assert list(runs[::-2]) == list(runs)[::-2]
    some = runs[runs.lost > 0]
    assert list(some) == [run for run in runs if run.lost]
    assert 0 < len(some) < len(runs)
    assert some.tally == Tally.of(Outcomes.of(run.outcome for run in some))
    assert list(runs[[4, 2]]) == [runs[4], runs[2]]
    for wrong in (12, "slots", 1.5, None, True, np.zeros((2, 2), dtype=int)):
        with pytest.raises(IndexError, match="there are 12 runs"):
            runs[wrong]  # type: ignore[index]


def test_results_cannot_be_changed() -> None:
    runs = route(4, 4, runs=3)
    for same in (runs, pickle.loads(pickle.dumps(runs))):
        with pytest.raises(ValueError, match="read-only"):
            same.slots[0] = 99


def test_a_run_lists_its_counts() -> None:
    assert {"slots", "survivors", "lost_packets", "slots_known"} <= set(dir(route(2, 2)[0]))


def test_a_histogram_and_a_summary_are_exact() -> None:
    runs = route(4, 4, runs=300, seed=2)
    values, counts = runs.histogram("steps")
    assert dict(zip(values.tolist(), counts.tolist(), strict=True)) == runs.tally.steps
    summary = runs.summary()
    assert summary["slots"].mean == pytest.approx(runs.slots.mean())
    assert summary["slots"].sd == pytest.approx(runs.slots.std(ddof=1))
    assert (summary["slots"].min, summary["slots"].max) == (runs.slots.min(), runs.slots.max())
    text = str(summary)
    assert text.startswith("POPS(4, 4): 16 processors in 4 groups of 4\n300 runs of mei-rizzi")
    assert "Every packet was delivered." in text
    assert max(map(len, text.splitlines())) <= 80
    assert "<table>" in runs._repr_html_()
    assert "<svg" in runs._repr_html_()
    with pytest.raises(InputError, match="name = 'slot': give one of slots"):
        runs.histogram("slot")
    with pytest.raises(InputError, match="fused does not count peak_buffers; use engine='slots'"):
        runs.histogram("peak_buffers")
    assert runs.tally.mean("steps") == pytest.approx(runs.steps.mean())
    frame = summary.to_dataframe().set_index("count")
    assert frame.loc["slots", "mean"] == pytest.approx(runs.slots.mean())


def test_the_histogram_of_a_notebook_is_to_scale() -> None:
    """Values that no run took leave a gap, and a long tail does not make it wider than a page."""
    html = route(64, 4, runs=300, seed=1)._repr_html_()
    places = [int(x) for x in re.findall(r'<rect x="(\d+)"', html)]
    assert places == sorted(places)
    assert int(re.search(r'<svg width="(\d+)"', html)[1]) <= 600  # type: ignore[index]
    values, counts = np.array([3, 4, 9]), np.array([1, 1, 1])
    gaps = np.diff([int(x) for x in re.findall(r'<rect x="(\d+)"', bars(values, counts))])
    assert gaps[1] == 5 * gaps[0]
    many = bars(np.array([10, 11, 1009]), np.array([2, 3, 1]))
    assert re.findall(r"<title>(.*?)</title>", many) == [
        "10 to 34 slots: 5 runs",
        "985 to 1,009 slots: 1 run",
    ]


def test_a_summary_says_what_is_idealized_or_capped() -> None:
    summary = route(6, 3, variant="idealized", max_steps=4, runs=20).summary()
    text = str(summary).replace("\n", " ")
    assert "≥ " in text
    assert "capped runs: 20. Variant idealized is idealized" in text
    assert "packets not delivered" in text


def test_a_demand_has_a_lower_bound_unless_there_are_faults() -> None:
    packets = [[0, 5], [0, 6], [3, 1]]
    works = route(4, 2, router="direct", packets=packets).report()
    broken = route(4, 2, router="direct", packets=packets, faults="coupler:0-1").report()
    assert works.to_dict()["lower_bound"] == 2
    assert "Lower bound" in str(works)
    assert "lower_bound" not in broken.to_dict()
    assert "Lower bound" not in str(broken)


def test_records_and_data_frames_have_the_counts() -> None:
    runs = route(6, 3, variant="published", runs=5, seed=5)
    records, frame = runs.to_records(), runs.to_dataframe()
    assert [one["slots"] for one in records] == runs.slots.tolist() == frame["slots"].tolist()
    assert set(frame["router"]) == {"mei-rizzi"}
    assert frame["run"].tolist() == [one["run"] for one in records] == list(range(5))
    assert frame["capped"].dtype == np.bool_
    assert set(frame) - set(records[0]) == {*experiment_columns(runs.experiment), "engine"}
    assert set(records[0]) - set(frame) - {"lost_packets"} == {"slots_known"}
    for record, run in zip(records, runs, strict=True):
        assert record["slots_known"] == run.slots_known
        assert tuple(record.get("lost_packets", ())) == run.lost_packets
    assert any(run.lost for run in runs)
    assert "peak_buffers" not in route(4, 4, runs=2, engine="fused").to_dataframe()


def test_a_frame_of_runs_has_the_columns_of_a_store(tmp_path: Path) -> None:
    experiment = Experiment(4, 2, seed=3)
    popsnet.collect([experiment], runs=10, store=tmp_path / "r", progress=False)
    with popsnet.Store(tmp_path / "r") as store:
        kept = store.to_dataframe(per_run=True)
    frame = route(experiment, runs=10).to_dataframe()
    assert [name for name in frame if name not in ("peak_buffers", "control_bits")] == [*kept]
    same = [name for name in kept if name not in ("seconds", "engine")]
    assert (frame[same] == kept[same]).all(axis=None)
    assert {*kept.engine} == {"fused"}
    assert (kept.seconds > 0).all()


def test_without_pandas_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install '\.\[pandas\]' in a clone"):
        route(2, 2).to_dataframe()


def test_a_run_can_be_traced_and_viewed(tmp_path: Path) -> None:
    run = route(4, 4, router="relay", variant="S", runs=300, seed=1)[7]
    assert run.slots == run.outcome.slots
    path = run.write_trace(tmp_path / "run.jsonl")
    assert path.read_text() == run.trace()
    report = popsnet.check_trace(path)
    assert (report.ok, report.slots) == (True, run.slots)
    assert "POPS(4, 4)" in run.view().title
    with pytest.raises(AttributeError, match="'Run' object has no attribute 'sluts'"):
        run.sluts  # noqa: B018


def test_an_interrupt_keeps_the_runs_that_were_finished() -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        route(4, 4, runs=10, progress=interrupt)
    kept: Runs = stopped.value.runs  # type: ignore[attr-defined]
    assert list(kept) == list(route(4, 4, runs=3))
    assert stopped.value.__notes__ == ["3 of 10 runs were finished; the attribute runs has them."]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "runs": ({"runs": 0}, "runs = 0: it must be at least 1"),
    "first": ({"first": -1}, "first = -1: it must be at least 0"),
    "far": ({"first": 2**64 - 2, "runs": 2}, "it must be at most 4,611,"),
    "threads": ({"threads": 0}, "threads = 0: it must be at least 1"),
    "engine": ({"engine": "warp"}, "engine = 'warp': there is no such engine"),
    "trace": ({"runs": 2, "trace": "t"}, "trace = t: a trace records one run, not runs = 2"),
    "trace of statistics": ({"variant": "idealized", "trace": "t"}, "statistics only"),
    "trace by fused": ({"engine": "fused", "trace": "t"}, "use engine='slots'"),
}


@each(("given", "complaint"), WRONG.values())
def test_what_is_wrong_is_refused_before_any_work(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        route(4, 4, **given)


def test_the_network_is_given_in_three_ways() -> None:
    one, two, three = route(4, 2), route(Network(4, 2)), route(Experiment(4, 2))
    assert list(one) == list(two) == list(three)
    assert list(route(d=4, g=2)) == list(one)
    with pytest.raises(InputError, match="g is missing beside d = 4"):
        route(4)
    with pytest.raises(InputError, match=r"g = 2: .*leave out g"):
        route(Network(4, 2), 2)
    with pytest.raises(InputError, match="leave out router, seed"):
        route(Experiment(4, 2), router="direct", seed=1)
    for given in ({"seed": 0}, {"router": "mei-rizzi"}, {"max_steps": 1000}):
        with pytest.raises(InputError, match="leave out"):  # also if it is the default
            route(Experiment(4, 2), **given)


def test_runs_are_of_their_own_kind() -> None:
    assert isinstance(route(2, 2)[0], Run)
    assert repr(route(4, 4, router="direct", runs=3)) == (
        "<3 runs of direct (standard) on POPS(4, 4), 4.00 slots on average>"
    )


def test_the_steps_of_a_long_run_are_folded() -> None:
    runs = route(64, 2, seed=1)
    steps = int(runs.steps[0])
    assert steps > 26
    table = runs.report().tables[1]
    assert len(table.records()) == steps
    assert len(table.cells()) == 20 + 1 + 5
    assert f"… {steps - 25} more" in str(table)


def test_a_run_is_shown_in_a_line() -> None:
    run = popsnet.route(4, 4, router="direct", runs=2)[1]
    shown = "<run 1 of direct (standard) on POPS(4, 4), 4 slots, 16 of 16 packets delivered>"
    assert repr(run) == shown
