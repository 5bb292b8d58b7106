"""The front door: what route returns, and the other verbs of the package."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pickle
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import popsnet
from popsnet import (
    Experiment,
    Inbox,
    InputError,
    Network,
    Run,
    Runs,
    Slot,
    Sweep,
    compare,
    recommend,
    route,
)
from popsnet import progress as progress_module
from popsnet.cli.main import with_flags
from popsnet.engines import ENGINES, Outcomes, Tally, choose_engine
from popsnet.engines.outcome import COLUMNS
from popsnet.runs.summary import bars
from popsnet.sweeps.runner import work_on

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
        assert runs.failed == (variant == "published")


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
    assert "300 runs of mei-rizzi (published) on POPS(4, 4)" in text
    assert "every packet delivered; 0 lost; capped runs: 0." in text
    assert max(map(len, text.splitlines()[1:])) <= 80
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
    text = str(route(6, 3, variant="idealized", max_steps=4, runs=20).summary())
    assert "≥ " in text
    assert "capped runs: 20. Variant idealized is idealized" in text
    assert "packets not delivered" in text


def test_records_and_data_frames_have_the_counts() -> None:
    runs = route(6, 3, variant="published", runs=5, seed=5)
    records, frame = runs.to_records(), runs.to_dataframe()
    assert [one["slots"] for one in records] == runs.slots.tolist() == frame["slots"].tolist()
    assert set(frame["router"]) == {"mei-rizzi"}
    assert frame.index.tolist() == [one["run"] for one in records] == list(range(5))
    assert frame["capped"].dtype == np.bool_
    for record, run in zip(records, runs, strict=True):
        assert record["slots_known"] == run.slots_known
        assert tuple(record.get("lost_packets", ())) == run.lost_packets
    assert any(run.lost for run in runs)
    assert "peak_buffers" not in route(4, 4, runs=2, engine="fused").to_dataframe()


def test_without_pandas_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match=r"pip install 'popsnet\[pandas\]'"):
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
    assert stopped.value.__notes__ == ["3 of 10 runs were finished: attribute runs has them."]


def test_progress_is_told_how_many_are_done() -> None:
    told: list[tuple[int, int]] = []
    route(4, 4, runs=3, engine="slots", progress=lambda *both: told.append(both))
    assert told == [(1, 3), (2, 3), (3, 3)]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "runs": ({"runs": 0}, "runs = 0: there is nothing to do"),
    "first": ({"first": -1}, "first = -1: runs are numbered from 0"),
    "far": ({"first": 2**64 - 2, "runs": 2}, "runs are numbered from 0 to 2\\^62"),
    "threads": ({"threads": 0}, "threads = 0: it must be at least 1"),
    "engine": ({"engine": "warp"}, "engine = 'warp': there is no such engine"),
    "trace": ({"runs": 2, "trace": "t"}, "trace = t: it records one run, and runs = 2"),
    "trace of statistics": ({"variant": "idealized", "trace": "t"}, "statistics only"),
    "trace by fused": ({"engine": "fused", "trace": "t"}, "use engine='slots'"),
}


@pytest.mark.parametrize(("given", "complaint"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_before_any_work(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        route(4, 4, **given)


def test_the_network_is_given_in_three_ways() -> None:
    one, two, three = route(4, 2), route(Network(4, 2)), route(Experiment(4, 2))
    assert list(one) == list(two) == list(three)
    assert list(route(d=4, g=2)) == list(one)
    with pytest.raises(InputError, match="g is missing beside d = 4"):
        route(4)
    with pytest.raises(InputError, match="leave out g = 2"):
        route(Network(4, 2), 2)
    with pytest.raises(InputError, match="leave out router, seed"):
        route(Experiment(4, 2), router="direct", seed=1)
    for given in ({"seed": 0}, {"router": "mei-rizzi"}, {"max_steps": 1000}, {"variant": None}):
        with pytest.raises(InputError, match="leave out"):  # also if it is the default
            route(Experiment(4, 2), **given)


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_has_the_same_protocol(engine: str) -> None:
    """And gives the same runs, in blocks or one by one, in one session or several."""
    experiment = Experiment(4, 4, seed=3)
    chosen = ENGINES[engine]
    assert chosen.name == engine
    assert chosen.supports(experiment) is None
    assert chosen.memory(experiment) > 0
    assert chosen.batch(experiment) >= 1
    expected = route(experiment, runs=12, engine="slots").tally
    with chosen.open(experiment, threads=2) as session:
        assert session.tally(range(12)) == expected
        assert session.tally(range(5)) + session.tally(range(5, 12)) == expected
        outcomes = Outcomes.joined(list(session.run(range(3, 9))))
    assert Tally.of(outcomes) == route(experiment, first=3, runs=6, engine="slots").tally


def test_one_policy_chooses_the_engine() -> None:
    square, tall = Experiment(4, 4), Experiment(8, 4, variant="published")
    assert choose_engine("auto", square, runs=256).name == "slots"
    assert choose_engine("auto", square, runs=257).name == "fused"
    assert choose_engine("auto", Experiment(2048, 2048), runs=1).name == "fused"
    assert choose_engine("auto", square).name == "fused"
    assert choose_engine("auto", square, traced=True).name == "slots"
    assert choose_engine("auto", tall).name == "slots"
    assert choose_engine("auto", Experiment(4, 4, router="direct")).name == "slots"


def test_work_is_cut_into_pieces_for_all_workers() -> None:
    experiment = Experiment(32, 32)
    for shards, workers in (([0], 2), (list(range(1000)), 2), ([0, 1, 5, 6, 7, 9], 1)):
        pieces = [piece for _, piece in work_on(experiment, shards, workers)]
        assert [one for piece in pieces for one in piece] == shards
        assert len(pieces) >= min(workers, len(shards))
    assert max(len(piece) for _, piece in work_on(experiment, range(10**5), 2)) < 10**3


def test_a_comparison_has_the_runs_of_every_router() -> None:
    found = compare(8, 8, routers=["mei-rizzi", "relay", "direct"], runs=4, seed=9)
    assert {one.router.name for one in found.done} == {"mei-rizzi", "relay", "direct"}
    assert found["direct"].slots.tolist() == [8] * 4
    assert found.to_dataframe()["mean_slots"].is_monotonic_increasing
    assert "POPS(8, 8), 4 permutations" in str(found)
    assert "<table>" in found._repr_html_()
    with pytest.raises(InputError, match="'datta' is not one of those that were run: "):
        found["datta"]
    reversal = np.arange(64)[::-1]
    one = compare(8, 8, routers=[("relay", "S"), "direct"], permutation=reversal, runs=2, seed=9)
    assert "relay (S)" in str(one)
    two = compare(8, 8, routers=[("relay", "S"), ("relay", "P1"), "direct"], runs=1)
    assert two["relay (S)"].experiment.variant == "S"
    with pytest.raises(InputError, match=r"'relay' is not one .*relay \(S\)"):
        two["relay"]
    assert "statistics only" in str(compare(4, 4, routers=[("mei-rizzi", "idealized")], runs=1))
    again = route(8, 8, router="relay", variant="S", permutation="reversal", runs=2, seed=9)
    assert one["relay"].slots.tolist() == again.slots.tolist()
    assert len(compare(4, 4, routers="direct", runs=1).done) == 1


def lazy(network: Network, *_: object) -> Generator[Slot, Inbox, None]:
    yield Slot()


def test_who_delivers_nothing_does_not_win() -> None:
    found = compare(4, 4, routers=[lazy, "direct"], runs=3)
    assert [one.router.name for one in found.done] == ["direct", "lazy"]
    capped = compare(8, 8, routers=["mei-rizzi", "direct"], runs=2, max_steps=1)
    assert [one.router.name for one in capped.done] == ["direct", "mei-rizzi"]
    assert found.done[1].undelivered == found.to_records()[1]["undelivered"] == 48
    assert str(found).splitlines()[-1].split() == ["lazy", "1.0", "1", "48", "yes"]
    assert "48 packets not delivered" in repr(route(4, 4, router=lazy, runs=3))
    assert repr(route(6, 3, variant="idealized", max_steps=4, runs=2)).count("capped") == 1


def test_what_is_shown_is_short() -> None:
    """In a notebook, the last line of a cell is shown as it represents itself."""
    shown = (
        recommend(64, 16), compare(4, 4, runs=1), popsnet.all_routers()[0],
        Sweep.of_grid(d=4, g=4), route(4, 4), route(4, 4).experiment, route(4, 4)[0],
    )  # fmt: skip
    for one in shown:
        assert len(repr(one)) < 800, repr(one)
        assert "0x" not in repr(one)


def test_a_recommendation_says_why() -> None:
    found = recommend(Network(64, 64))
    assert (found.router, found.best.router.name) == ("relay", "relay")
    assert str(found).startswith("Use relay: ")
    assert found.to_records()[0]["router"] == found.forecasts[0].router.name


def test_a_sweep_is_made_of_a_grid() -> None:
    sweep = Sweep.of_grid(d=[4, 8], g=4, routers="direct", runs=30, seed=2)
    assert [(one.d, runs) for one, runs in sweep.wanted] == [(4, 30), (8, 30)]
    both = sweep + Sweep.of_grid(shapes=[[2, 3]], routers="direct")
    assert [one.d for one in both.experiments] == [4, 8, 2]
    with pytest.raises(InputError, match="did you mean 'routers'"):
        Sweep.of_grid(d=4, g=4, router="direct")


def test_a_schedule_is_made_of_anything_to_be_sent(tmp_path: Path) -> None:
    net = Network(6, 4)
    reversal = np.arange(24)[::-1]
    packets = np.array([[0, 5], [0, 7], [3, 3]])
    matrix = np.full((4, 4), 2)
    np.save(tmp_path / "m.npy", matrix)
    by_name, by_array = popsnet.schedule(net, "reversal"), popsnet.schedule(net, reversal)
    assert by_name.slots == by_array.slots == 4
    assert popsnet.schedule(net, permutation=reversal).execute() == by_array.execute()
    assert popsnet.schedule(net, packets).execute().delivered == 3
    assert popsnet.schedule(net, packets=packets).demand.packets == 3
    by_file = popsnet.schedule(net, matrix=tmp_path / "m.npy")
    assert by_file.execute() == popsnet.schedule(net, matrix=matrix).execute()
    assert by_file.execute().delivered == 32
    again = popsnet.schedule(net, by_file.demand)
    assert again.lower_bound <= again.slots
    again.write_trace(tmp_path / "t.jsonl")
    assert popsnet.check_trace(tmp_path / "t.jsonl").ok
    again.write_csv(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text().startswith("slot,sender,coupler,listener,packet\n")
    for wrong, complaint in (
        ({"permutation": "random", "matrix": matrix}, "permutation and matrix each say"),
        ({"matrix": matrix[:2]}, r"matrix has shape \(2, 4\)"),
        ({"packets": [1, 2]}, r"packets has shape \(2,\)"),
        ({"demand": popsnet.schedule(Network(2, 2)).demand}, r"for POPS\(2, 2\), not for"),
        ({"demand": [0, 1]}, "permutation has 2 entries"),
        ({"demand": matrix}, "or matrix= for packets between groups"),
    ):
        with pytest.raises(InputError, match=complaint):
            popsnet.schedule(net, **wrong)
    with pytest.raises(InputError, match="network = 4: give a Network"):
        popsnet.schedule(4, 3)  # type: ignore[arg-type]


def test_values_are_sorted() -> None:
    net = Network(4, 4)
    values = np.random.default_rng(0).normal(size=16)
    done = popsnet.sort(net, values)
    assert done.values.tolist() == sorted(values.tolist())
    assert done.in_order
    assert 0 < done.slots <= done.most_slots
    for wrong, complaint in (
        ([1, 2], r"values has shape \(2,\)"),
        (["a"] * 16, "type"),
        ([float("nan")] * 16, "nan"),
    ):
        with pytest.raises(InputError, match=complaint):
            popsnet.sort(net, wrong)


def test_a_trace_is_checked_in_a_file() -> None:
    with pytest.raises(InputError, match=r"not as Run; run\.write_trace\(path\) writes one"):
        popsnet.check_trace(route(2, 2)[0])  # type: ignore[arg-type]


def test_only_single_runs_are_viewed() -> None:
    with pytest.raises(InputError, match=r"give one of them, as in runs\[0\]"):
        popsnet.view(route(4, 4, runs=2))  # type: ignore[arg-type]


@pytest.mark.parametrize("progress", [7, "bar"])
def test_progress_is_a_function_or_nothing(progress: Any) -> None:
    with pytest.raises(InputError, match="progress = "):
        route(2, 2, progress=progress)


def test_a_notebook_sees_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has no terminal: a line is written again and again, and taken away in the end."""
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setattr(progress_module, "_PATIENCE_SECONDS", 0.0)
    route(4, 4, runs=30, engine="slots")
    written = capsys.readouterr().err
    assert "\rmei-rizzi on POPS(4, 4)" in written
    assert written.split("\r")[-2:] == [" " * 78, ""]


def test_packages_are_there_without_being_imported() -> None:
    script = "import popsnet; print(popsnet.theory.C > 3, popsnet.sorting.bitonic(4).depth)"
    command = [sys.executable, "-c", script]
    assert subprocess.run(command, capture_output=True, text=True).stdout == "True 3\n"


def test_the_command_line_adds_its_flags() -> None:
    assert with_flags("max_steps = 0: no.") == "--max-steps 0: no."
    assert with_flags("s.toml, grid 1: runs = 0: no.") == "s.toml, grid 1: runs = 0: no."
    assert with_flags("Use engine='fused' and permutation='keyed', now.") == (
        "Use --engine fused and --permutation keyed, now."
    )


def test_importing_costs_nothing() -> None:
    script = "import sys, popsnet; print('numpy' in sys.modules, 'numba' in sys.modules)"
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert printed == "False False\n"


def test_every_public_name_is_grouped_and_documented() -> None:
    documented = popsnet.__doc__ or ""
    for name in popsnet._HOME:
        assert (
            f"``{name}``" in documented
            or name in ("paper", "NO_PACKET")
            or (
                isinstance(getattr(popsnet, name), type)
                and issubclass(getattr(popsnet, name), popsnet.PopsnetError)
            )
        ), name
        assert inspect.getdoc(getattr(popsnet, name)), name
    assert popsnet.__all__ == ["__version__", *popsnet._HOME]


def with_examples() -> Iterator[str]:
    """The modules that have examples in their docstrings."""
    for module in pkgutil.walk_packages(popsnet.__path__, "popsnet."):
        spec = importlib.util.find_spec(module.name)
        assert spec is not None
        if spec.origin is not None and ">>>" in Path(spec.origin).read_text(encoding="utf-8"):
            yield module.name


@pytest.mark.parametrize("name", sorted(with_examples()))
def test_the_examples_in_docstrings_are_true(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder().find(module, name) if test.examples]
    assert tests
    for test in tests:
        for path in tmp_path.iterdir():
            path.unlink()
        failed, _ = doctest.DocTestRunner().run(test)
        assert failed == 0, test.name


def test_runs_are_of_their_own_kind() -> None:
    assert isinstance(route(2, 2)[0], Run)
    assert repr(route(4, 4, router="direct", runs=3)) == (
        "<3 runs of direct (standard) on POPS(4, 4), 4.00 slots on average>"
    )
