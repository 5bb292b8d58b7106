"""Continuous traffic in sweeps and stores: what a file means, and that no point is lost."""

from __future__ import annotations

import dataclasses
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

import popsnet
from popsnet import Experiment, Network, Slot, collect, rescue, verify
from popsnet.base.errors import InputError, StoreError
from popsnet.programs.scheduler import unregister_scheduler
from popsnet.runs import simulate as simulate_module
from popsnet.sweeps import Selection, runner
from popsnet.sweeps.kind import Result, StoppedError, UnreadableError, hash_of
from popsnet.sweeps.rows import WINDOW, experiment_of
from popsnet.sweeps.runner import collect_traffic
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import TRAFFIC_KEYS, Sweep
from popsnet.sweeps.tables import NETWORK_KEYS
from popsnet.sweeps.window import Point, without_engine
from popsnet.sweeps.work import Part, Queue, estimate_work
from popsnet.traffic import TrafficExperiment
from tests.conftest import Cli
from tests.each import each
from tests.sweeps.edits import as_format_2, change, edit, kept, rows_of

T = TypeVar("T")
OLD_STORE = Path(__file__).parents[1] / "fixtures" / "results-format-2.sqlite"

SWEEP = """
seed = 5
[[traffic]]
shapes = [[2, 2], [3, 2]]
schedulers = ["tdm", "rotor"]
loads = [0.1, 0.3]
slots = 60
"""
"""Eight points that take milliseconds each."""


def sweep_of(folder: Path, text: str) -> Sweep:
    (folder / "sweep.toml").write_text(text)
    return Sweep.read(folder / "sweep.toml")


def results(store: Store | Path) -> list[tuple[Any, ...]]:
    """The rows of the points, without provenance and the hash that covers it."""
    if isinstance(store, Store):
        return kept(store, "window")
    with Store(store) as opened:
        assert opened.flaws() == []
        return results(opened)


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> Sweep:
    return sweep_of(tmp_path_factory.mktemp("sweep"), SWEEP)


@pytest.fixture(scope="module")
def whole(wanted: Sweep, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "r.sqlite"
    collect_traffic(wanted, path, progress=False)
    return path


# What a file means.


def test_a_table_is_a_product_and_takes_what_it_does_not_say_from_the_top(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.arange(8)[::-1])
    sweep = sweep_of(
        tmp_path,
        """
        seed = 7
        runs = 20
        loads = [0.1]
        [[grid]]
        d = 4
        g = 4
        [[traffic]]
        label = "first"
        n = [16]
        ratio = [1, "1/4"]
        schedulers = ["tdm", "aloha:0.5"]
        loads = "0.05:0.15:3"
        arrival_seed = 2
        slots = 100
        [[traffic]]
        d = 4
        g = 2
        patterns = ["uniform", "p.npy"]
        burst = [1.5, 4]
        buffer = [0, 10]
        precision = 0.1
        max_slots = 5000
        seed = 8
        """,
    )
    assert [(one.seed, runs) for one, runs in sweep.wanted] == [(7, 20)]
    first, second = sweep.traffic[:12], sweep.traffic[12:]
    assert [(one.d, one.g, one.label, one.load) for one in first] == [
        (d, g, label, load)
        for d, g in ((4, 4), (2, 8))
        for label in ("tdm", "aloha:0.5")
        for load in (0.05, 0.1, 0.15)
    ]
    assert {(one.seed, one.arrival_seed, one.slots, one.max_slots) for one in first} == {
        (7, 2, 100, None)
    }
    assert [(one.buffer, one.given["pattern"], one.given["burst"]) for one in second] == [
        (buffer, pattern, burst)
        for buffer in (0, 10)
        for pattern in ("uniform", str(tmp_path / "p.npy"))
        for burst in (1.5, 4)
    ]
    assert {(one.label, one.load, one.precision, one.max_slots) for one in second} == {
        ("rotor", 0.1, 0.1, 5000)
    }
    assert sweep.traffic_labels == ("first",) * 12 + ("",) * 8
    assert repr(sweep) == "<sweep of 1 experiments, 20 runs, 20 points of traffic>"


def test_matrices_and_lists_of_packets_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("0,1\n1,0\n")
    (tmp_path / "p.csv").write_text("1,0,1\n6,2,3\n")
    network = "[[traffic]]\nd = 2\ng = 2\n"
    matrix = sweep_of(tmp_path, network + "matrix = 'm.csv'\nloads = 0.2\nslots = 40")
    packets = sweep_of(tmp_path, network + "packets = 'p.csv'\nslots = 40")
    same = [
        sweep_of(tmp_path, network + f"loads = 0.1\nprecision = {text}").traffic
        for text in ("'3%'", "'0.03'", "0.03")
    ]
    assert same[0] == same[1] == same[2]
    (one,), (other,) = matrix.traffic, packets.traffic
    assert (one.given["matrix"], other.given["packets"]) == (
        str(tmp_path / "m.csv"), str(tmp_path / "p.csv"),
    )  # fmt: skip
    there = collect_traffic(matrix + packets, tmp_path / "r", progress=False)
    assert [result.load for result in there if result] == [one.load, other.load]


def test_what_does_not_apply_is_skipped_only_if_the_file_says_so(tmp_path: Path) -> None:
    text = """
        skip_inapplicable = {skip}
        [[traffic]]
        d = [2, 4]
        g = [1, 2]
        loads = [0.2, 0.9]
        patterns = ["uniform", "group-shift"]
        slots = 40
        """
    sweep = sweep_of(tmp_path, text.format(skip="true"))
    found = {(one.d, one.g, one.given["pattern"], one.load) for one in sweep.traffic}
    assert (2, 2, "uniform", 0.2) in found
    assert (2, 2, "group-shift", 0.9) not in found
    assert not any(g == 1 and pattern == "group-shift" for _, g, pattern, _ in found)
    assert any(
        one.startswith("Load 0.9 of uniform on POPS(4, 2): no sche") for one in sweep.skipped
    )
    assert any(one.startswith("Pattern group-shift on POPS(2, 1): ") for one in sweep.skipped)
    with pytest.raises(InputError, match=r"traffic 1: .*from the table, or set skip"):
        sweep_of(tmp_path, text.format(skip="false"))
    over = sweep_of(tmp_path, text.format(skip="true") + "overload = true")
    assert len(over.traffic) > len(sweep.traffic)


def test_a_table_takes_faults_wavelengths_and_seeds(tmp_path: Path) -> None:
    sweep = sweep_of(
        tmp_path,
        """
        [[traffic]]
        d = 4
        g = 2
        schedulers = "tdm"
        loads = [0.1, 0.2]
        wavelengths = [1, 2]
        faults = ["", "coupler:0-1"]
        loss = [0, 0.125]
        known_faults = [false, true]
        fault_seed = 3
        seed = [1, 2]
        arrival_seed = [0, 9]
        slots = 50
        """,
    )
    faults = (
        ("", 0, False), ("loss:0.125", 3, False),
        ("coupler:0-1", 3, False), ("coupler:0-1", 3, True),
        ("coupler:0-1 loss:0.125", 3, False), ("coupler:0-1 loss:0.125", 3, True),
    )  # fmt: skip
    assert [
        (
            *(one.wavelengths, one.faults, one.fault_seed, one.known_faults),
            *(one.seed, one.arrival_seed, one.load),
        )
        for one in sweep.traffic
    ] == [
        (wavelengths, *medium, seed, arrival_seed, load)
        for wavelengths in (1, 2)
        for medium in faults
        for seed in (1, 2)
        for arrival_seed in (0, 9)
        for load in (0.1, 0.2)
    ]


def test_two_spellings_of_a_point_are_one(tmp_path: Path) -> None:
    text = "[[traffic]]\nd = 4\ng = 4\nloads = 0.1\npatterns = ['hotspot:1:0.2', 'hotspot:1:0.20']"
    sweep = sweep_of(tmp_path, text)
    assert (len(sweep.traffic), len(sweep.traffic_labels)) == (1, 1)


def test_a_sweep_is_made_of_a_table() -> None:
    sweep = Sweep.of_traffic(d=[2, 4], g=2, schedulers="tdm", loads=[0.1], slots=50)
    assert [(one.d, one.load) for one in sweep.traffic] == [(2, 0.1), (4, 0.1)]
    both = sweep + Sweep.of_grid(d=2, g=2) + Sweep.of_traffic(d=3, g=2, loads=0.2)
    assert [one.d for one in both.traffic] == [2, 4, 3]
    assert len(both.experiments) == 1
    with pytest.raises(InputError, match="the traffic: there is no key 'load' here; did you mean"):
        Sweep.of_traffic(d=4, g=4, load=0.1)


SQUARE = "[[traffic]]\nshapes = [[2, 2]]\nloads = [0.1]\n"
BARE = "[[traffic]]\nshapes = [[2, 2]]\n"

BAD = {
    "neither": ("seed = 1", "has no grid; begin one with a line [[grid]], or with [[traffic]]"),
    "no list": ("[traffic]\nd = 4", "has no traffic; begin one with a line [[traffic]]."),
    "no tables": ("traffic = [1]", "has no traffic; begin one with a line [[traffic]]."),
    "a slip": (SQUARE + "scheduler = 'tdm'", "no key 'scheduler' here; did you mean 'schedulers'?"),
    "runs": (SQUARE + "runs = 5", "there is no key 'runs' here; 'runs' belongs in a [[grid]]."),
    "loads of a grid": (
        "[[grid]]\nd = 4\ng = 4\nloads = 0.1",
        "grid 1: there is no key 'loads' here; 'loads' belongs in a [[traffic]].",
    ),
    "loads above grids": (
        "loads = 0.1\n[[grid]]\nd = 4\ng = 4",
        "sweep.toml: there is no key 'loads' here; 'loads' belongs in a [[traffic]].",
    ),
    "another key": (SQUARE + "colour = 5", "no key 'colour' here; give label, shapes"),
    "no network": ("[[traffic]]\nloads = 0.1", "this table has none"),
    "too many networks": (SQUARE + "n = 16", "this table has n, shapes"),
    "no loads": (BARE, "traffic 1: loads is missing; give loads, such as [0.1, 0.2]"),
    "an empty list": (BARE + "loads = []", "loads = []: give at least one value."),
    "a load of zero": (BARE + "loads = 0", "loads = 0.0: a load must be above 0 and at most 1"),
    "a load above 1": (BARE + "loads = [0.5, 1.5]", "loads = 1.5: a load must be above 0"),
    "no number": (BARE + "loads = [nan]", "loads = nan: a load must be above 0"),
    "a load in quotes": (BARE + "loads = ['0.1']", "loads = '0.1': it must be a number; remove"),
    "a load twice": (BARE + "loads = [0.1, 0.1]", "loads: 0.1 is given twice; give it once."),
    "a bad range": (BARE + "loads = '0.5:0.1:3'", "loads = '0.5:0.1:3': give FROM:TO:COUNT"),
    "a bad end": (BARE + "loads = '0.5:1.1:3'", "is not above 0 and at most 1"),
    "a load for nobody": (
        "[[traffic]]\nd = 4\ng = 2\nloads = 0.9",
        "Load 0.9 of uniform on POPS(4, 2): no scheduler can carry more than",
    ),
    "no scheduler": (SQUARE + "schedulers = 'rotr'", "schedulers: There is no scheduler 'rotr'."),
    "no variant": (SQUARE + "schedulers = 'tdm:x'", "schedulers: "),
    "no scheduler file": (SQUARE + "schedulers = 's.py'", "schedulers: "),
    "schedulers in numbers": (SQUARE + "schedulers = [1]", "schedulers = 1: it must be a text"),
    "no pattern": (SQUARE + "patterns = 'unifrm'", "There is no pattern 'unifrm'."),
    "no pattern, skipped": (
        SQUARE + "patterns = 'unifrm'\nskip_inapplicable = true",
        "There is no pattern 'unifrm'.",
    ),
    "no pattern file": (SQUARE + "patterns = 'p.npy'", "patterns: the file p.npy does not exist."),
    "a file that is skipped": (
        SQUARE + "patterns = 'p.npy'\nskip_inapplicable = true",
        "patterns: the file p.npy does not exist.",
    ),
    "no matrix": (SQUARE + "matrix = 'm.csv'", "matrix = 'm.csv': the file m.csv does not exist."),
    "no packets": (BARE + "packets = 'p.csv'", "packets = 'p.csv': the file p.csv does not exist."),
    "two arrivals": (
        SQUARE + "matrix = 'm.csv'\npatterns = 'uniform'",
        "patterns and matrix: give one of them",
    ),
    "packets with loads": (SQUARE + "packets = 'p.csv'", "loads: a list of packets says when"),
    "packets with bursts": (BARE + "burst = 2\npackets = 'p.csv'", "burst: a list of packets says"),
    "no burst": (SQUARE + "burst = 0.5", "burst = 0.5: the mean number of packets in a burst"),
    "no buffer": (SQUARE + "buffer = -1", "buffer = -1: it must be at least 0."),
    "half a buffer": (SQUARE + "buffer = 1.5", "buffer = 1.5: it must be an integer."),
    "no slots": (SQUARE + "slots = 0", "slots = 0: it must be at least 1."),
    "slots in words": (SQUARE + "slots = '9'", "slots = '9': it must be an integer; remove"),
    "no precision": (SQUARE + "precision = 2", "precision = 2.0: it must be between 0 and 1"),
    "no most": (SQUARE + "max_slots = 0", "max_slots = 0: it must be at least 1."),
    "no seed": (SQUARE + "seed = -1", "seed = -1: a seed must be"),
    "no arrival seed": (SQUARE + "arrival_seed = 1.5", "arrival_seed = 1.5: it must be an integer"),
    "no yes": (SQUARE + "overload = 1", "overload = 1: it must be true or false."),
    "nothing left": (
        "[[traffic]]\nd = 4\ng = 2\nloads = 0.9\nskip_inapplicable = true",
        "nothing in it applies: Load 0.9 of uniform on POPS(4, 2)",
    ),
    "no faults": (SQUARE + "faults = 'couplr:1,0'", "traffic 1: faults: fault 'couplr:1,0': it"),
    "known, without faults": (SQUARE + "known_faults = true", "known_faults = True: no part is"),
    "no wavelengths": (SQUARE + "schedulers='aloha'\nwavelengths = 2", "uses one wavelength"),
    "the second table": (SQUARE + "[[traffic]]\nd = 5", "sweep.toml, traffic 2: "),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_file_that_cannot_be_done_is_refused_before_any_work(
    kind: str, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, complaint = BAD[kind]
    (tmp_path / "sweep.toml").write_text(text)
    finished = cli("sweep", "sweep.toml")
    assert (finished.code, finished.out) == (2, "")
    assert complaint in finished.err
    assert [one.name for one in tmp_path.iterdir()] == ["sweep.toml"]


def test_the_page_on_the_format_names_every_key() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference" / "sweep-format.md"
    part = page.read_text().partition("## Continuous traffic")[2].partition("## What is kept")[0]
    for key in TRAFFIC_KEYS:
        assert f"`{key}`" in part or key in NETWORK_KEYS


# Who does the work, and what is kept.


class AtOnce(Executor):
    """Does everything when it is handed over, and knows what it was handed."""

    def __init__(self) -> None:
        self.tasks: list[TrafficExperiment] = []

    def submit(self, work: Callable[..., T], /, *arguments: Any, **others: Any) -> Future[T]:
        self.tasks.append(arguments[0])
        future: Future[T] = Future()
        future.set_result(work(*arguments))
        return future


def test_any_executor_gives_the_same_rows(tmp_path: Path, wanted: Sweep, whole: Path) -> None:
    at_once, expected = AtOnce(), results(whole)
    assert len(expected) == 8
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
        ThreadPoolExecutor(3) as threads,
    ):
        for name, executor in (("1", at_once), ("2", processes), ("3", threads)):
            collect_traffic(wanted, tmp_path / name, executor=executor, workers=2, progress=False)
            assert results(tmp_path / name) == expected
    assert pickle.loads(pickle.dumps(at_once.tasks)) == at_once.tasks
    longest = [estimate_work(one) for one in at_once.tasks]
    assert longest == sorted(longest, reverse=True)


def test_a_row_does_not_depend_on_the_engine(
    tmp_path: Path, wanted: Sweep, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulate_module, "choose_traffic_engine", lambda *_: "slots")
    collect_traffic(wanted, tmp_path / "r", progress=False)
    assert results(tmp_path / "r") == results(whole)
    with Store(tmp_path / "r") as store:
        assert {one.provenance.engine for one in store.traffic.points()} == {"slots"}


def test_a_result_is_that_of_simulate(wanted: Sweep, whole: Path) -> None:
    with Store(whole) as store:
        assert set(store.traffic.experiments()) == set(wanted.traffic)
        for one in wanted.traffic[:2]:
            point = store.traffic.get(one)
            assert point is not None
            assert point.result == without_engine(popsnet.simulate(one, progress=False))
            assert point.provenance.given == dict(one.given)


def test_what_is_there_is_not_done_again(tmp_path: Path, wanted: Sweep) -> None:
    at_once = AtOnce()
    collect_traffic(wanted.traffic[:3], tmp_path / "r", executor=at_once, progress=False)
    there = results(tmp_path / "r")
    assert len(there) == len(at_once.tasks) == 3
    found = collect_traffic(wanted, tmp_path / "r", executor=at_once, progress=False)
    assert (len(at_once.tasks), None in found) == (8, False)
    assert set(there) < set(results(tmp_path / "r"))
    collect_traffic(wanted, tmp_path / "r", executor=at_once, progress=False)
    assert len(at_once.tasks) == 8


def test_an_interrupt_keeps_what_is_finished(tmp_path: Path, wanted: Sweep, whole: Path) -> None:
    told: list[tuple[int, int]] = []

    def interrupt(done: int, total: int) -> None:
        told.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect_traffic(wanted, tmp_path / "r", workers=1, progress=interrupt)
    assert told == [(1, 8), (2, 8), (3, 8)]
    assert 3 <= len(results(tmp_path / "r")) < 8
    collect_traffic(wanted, tmp_path / "r", progress=False)
    assert results(tmp_path / "r") == results(whole)


KILLED = """
import os, signal, sys
from popsnet.sweeps import Store, Sweep
from popsnet.sweeps.runner import collect_traffic

put = Store.put

def put_and_die(store, finished):
    put(store, finished)
    if store.traffic.count() >= int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

Store.put = put_and_die
collect_traffic(Sweep.read(sys.argv[1]), sys.argv[2], progress=False)
"""


def test_killed_after_some_points_it_ends_with_the_same_rows(tmp_path: Path, whole: Path) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "killed.py").write_text(KILLED)
    arguments = [sys.executable, "killed.py", "sweep.toml", "r.sqlite"]
    for least in (2, 5):
        ended = subprocess.run([*arguments, str(least)], cwd=tmp_path, check=False)
        assert ended.returncode == -signal.SIGKILL
        for one in ("r.sqlite", "r.sqlite-wal"):  # a copy, so that looking repairs nothing
            shutil.copy(tmp_path / one, tmp_path / one.replace("r.", "copy."))
        there = results(tmp_path / "copy.sqlite")
        assert len(there) == least
        assert set(there) < set(results(whole))
    collect_traffic(Sweep.read(tmp_path / "sweep.toml"), tmp_path / "r.sqlite", progress=False)
    assert results(tmp_path / "r.sqlite") == results(whole)


def test_parts_are_disjoint_and_complete(tmp_path: Path, wanted: Sweep, whole: Path) -> None:
    parts = [Part(number, 3).share(wanted.traffic) for number in (1, 2, 3)]
    assert sorted(one.digest for part in parts for one in part) == sorted(
        one.digest for one in wanted.traffic
    )
    seconds = [sum(map(estimate_work, part)) for part in parts]
    assert max(seconds) < 2 * min(seconds)
    for number in (1, 2, 3):
        found = collect_traffic(wanted, tmp_path / str(number), part=(number, 3), progress=False)
        assert sum(one is not None for one in found) == len(parts[number - 1])
    with Store(tmp_path / "1", create=True) as store:
        for number in (2, 3):
            with Store(tmp_path / str(number)) as other:
                assert store.merge(other) == len(parts[number - 1])
                assert store.merge(other) == 0
    assert results(tmp_path / "1") == results(whole)


def test_runs_and_points_are_done_together(tmp_path: Path, wanted: Sweep, whole: Path) -> None:
    told: list[tuple[int, int]] = []
    sweep = wanted + Sweep.of_grid(d=4, g=4, runs=30)
    (tally,) = collect(
        sweep, store=tmp_path / "r", progress=lambda *counts: told.append(counts), workers=1
    )
    assert tally.runs == 30
    assert told[-1] == (3 + 8, 3 + 8)
    assert results(tmp_path / "r") == results(whole)
    collect(sweep, store=tmp_path / "r", precision="10%", progress=False)  # of the runs


def test_time_ends_a_collection(
    tmp_path: Path, wanted: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = iter(range(10**9))
    monkeypatch.setattr("popsnet.sweeps.runner.time.monotonic", lambda: float(next(now)))
    found = collect_traffic(wanted, tmp_path / "r", seconds=2, workers=1, progress=False)
    assert None in found


def test_large_points_are_handed_over_as_memory_allows(wanted: Sweep) -> None:
    small = wanted.traffic[0]
    large = TrafficExperiment(1024, 1024, scheduler="tdm", load=0.1, slots=10)
    assert WINDOW.memory(small) == 0
    assert WINDOW.memory(large) > 2**28
    crew = runner.Workers(AtOnce(), workers=2)
    crew._available = WINDOW.memory(large)
    queue = Queue([(large, range(1)), (large, range(1)), (small, range(1))])
    crew._at_work[Future()] = runner._Task([], WINDOW.memory(large))
    taken = queue.take(crew._fits)
    assert taken is not None
    assert taken[0] == small
    assert queue.take(crew._fits) is None


def test_threads_that_are_told_to_stop_do() -> None:
    endless = TrafficExperiment(2, 2, scheduler="tdm", load=0.1, slots=2**30)
    with pytest.raises(StoppedError):
        WINDOW.execute(endless, range(1), stopped=lambda: True)


def test_what_cannot_be_kept_is_refused(tmp_path: Path, wanted: Sweep) -> None:
    def mine(
        network: Network, public: Any, coins: Any, memory: Any
    ) -> Generator[Slot | None, Any, None]:
        yield None

    function = TrafficExperiment(2, 2, scheduler=mine, load=0.1)
    with pytest.raises(InputError, match="Scheduler mine is not registered"):
        collect_traffic([function], tmp_path / "r")
    with pytest.raises(InputError, match="is not a TrafficExperiment"):
        collect_traffic([Experiment(4, 4)], tmp_path / "r")  # type: ignore[list-item]
    with pytest.raises(InputError, match="precision = 1%: it applies to runs, and there are none"):
        collect(wanted, store=tmp_path / "r", precision="1%")
    assert not (tmp_path / "r").exists()


# Stores: damaged, old, merged, verified, rescued.

WRONG = {
    "an experiment": "UPDATE experiments SET identity = replace(identity, '0.1', '0.2')",
    "a result": "UPDATE results SET body = replace(body, 'delivered\": ', 'delivered\": 1')",
    "a time": "UPDATE results SET provenance = replace(provenance, 'seconds\": ', 'seconds\": 1')",
    "a name": "UPDATE results SET digest = 'x' || digest",
    "a digest": "UPDATE results SET hash = 'x'",
    "bytes": "UPDATE results SET body = x'ff00'",
    "text that is not UTF-8": "UPDATE results SET body = CAST(x'ff' AS TEXT)",
    "brackets": f"UPDATE results SET body = '{'[' * 100_000}'",
    "another schema": "ALTER TABLE results ADD COLUMN x",
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_was_edited_is_found_and_not_used(
    tmp_path: Path, whole: Path, wanted: Sweep, kind: str
) -> None:
    path = tmp_path / "r.sqlite"
    shutil.copy(whole, path)
    change(path, WRONG[kind])
    content = path.read_bytes()
    cure = rf"popsnet results rescue {path} NEW"
    for use in (
        lambda: collect_traffic(wanted, path, executor=AtOnce()),
        lambda: Store(path).traffic.results(),
        lambda: Store(path).report(),
        lambda: Store(tmp_path / "all", create=True).merge(Store(path)),
    ):
        with pytest.raises(StoreError, match=cure):
            use()
    assert path.read_bytes() == content


def test_a_sample_of_bytes_anywhere(tmp_path: Path, wanted: Sweep, whole: Path) -> None:
    content, path, found = whole.read_bytes(), tmp_path / "r.sqlite", Counter[str]()
    with Store(whole) as store:
        expected = store.traffic.results()
    for place in random.Random(3).sample(range(len(content)), 100):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x20]) + content[place + 1 :])
        try:
            with Store(path) as store:
                assert store.traffic.results() == expected
            found["right"] += 1
        except StoreError as error:
            found[str(error).partition(". ")[2][:23]] += 1
    assert min(found["right"], found["popsnet results rescue "[:23]]) > 5


def forged(row: Result, name: str, old: str, new: str) -> Result:
    """A row that was changed by someone who computes hashes."""
    text = getattr(row, name)
    assert old in text
    changed = row._replace(**{name: text.replace(old, new, 1)})
    return changed._replace(hash=hash_of(changed[:6]))


@each(
    ("name", "old", "new"),
    [
        ("body", '"offered": ', '"offered": null, "x": '),
        ("body", '"verdict": ', '"other": '),
        ("body", '"mean": ', '"mean": "x", "y": '),
        ("provenance", '"burst": null', '"burst": []'),
        ("provenance", '"burst": null', '"overload": true'),
        ("provenance", '"seconds"', '"minutes"'),
    ],
)
def test_values_that_cannot_be_are_no_traceback(
    tmp_path: Path, whole: Path, name: str, old: str, new: str
) -> None:
    path = tmp_path / "forged"
    shutil.copy(whole, path)
    edit(path, lambda row: forged(row, name, old, new))
    with Store(path) as store:
        assert len(store.flaws()) == 8
        with pytest.raises(StoreError, match="results rescue"):
            store.traffic.points()


@each(("old", "new"), [('"d": 2', '"d": "2"'), ('"d": 2', '"d": 2, "x": 1'), ("0.1", "0.2")])
def test_identities_that_cannot_be_are_no_traceback(whole: Path, old: str, new: str) -> None:
    with Store(whole) as store:
        rows = store.rows("experiments")
        digest, identity = next(row for row in rows if '"d": 2' in row[1] and "0.1" in row[1])
    changed = identity.replace(old, new)
    with pytest.raises(UnreadableError):
        experiment_of(digest, changed)
    if old != "0.1":
        with pytest.raises(UnreadableError):
            experiment_of(blake2b(changed.encode(), digest_size=16).hexdigest(), changed)


def test_the_last_digit_of_a_measure_contradicts_nothing(tmp_path: Path) -> None:
    """Up to 0.6 it depended on the processor; stores of two machines were contradictions."""
    point = WINDOW.execute(TrafficExperiment(2, 2, load=0.2, slots=200), range(1))
    assert isinstance(point, Point)

    def with_mean(mean: float) -> Point:
        delay = dataclasses.replace(point.result.delay, mean=mean)
        return dataclasses.replace(point, outcome=dataclasses.replace(point.result, delay=delay))

    mean = point.result.delay.mean
    assert mean is not None
    with Store(tmp_path / "r.sqlite", create=True) as store:
        store.put(point)
        store.put(with_mean(float(np.nextafter(mean, 99.0))))
        with pytest.raises(StoreError, match="another result"):
            store.put(with_mean(mean * 1.001))
        other_words = dataclasses.replace(point.result, reason="Said in other words.")
        store.put(dataclasses.replace(point, outcome=other_words))
        assert store.traffic.results() == [point.result]


def test_merging_a_contradiction_adds_nothing(tmp_path: Path, wanted: Sweep, whole: Path) -> None:
    with Store(whole) as store:
        first, *others = rows_of(store, "window")
        experiments = store.rows("experiments")
        point = store.traffic.points()[0]
    other = forged(first, "body", '"delivered": ', '"delivered": 1')
    with Store(tmp_path / "other", create=True) as store, store.inserting() as insert:
        insert(experiments, [other, *others])
    with Store(tmp_path / "r", create=True) as store:
        collect_traffic(wanted.traffic, store, progress=False)
        change(tmp_path / "r", f"DELETE FROM results WHERE digest = '{others[0][0]}'")
        with (
            Store(tmp_path / "other") as second,
            pytest.raises(
                StoreError, match=f"has another result for point {first[0]} of traffic: "
            ),
        ):
            store.merge(second)
        assert len(results(store)) == 7
        store.put(point)  # of another time and place, with the same result
        with Store(whole) as second:
            assert store.merge(second) == 1
    assert results(tmp_path / "r") == results(whole)


def test_old_stores_are_read_and_continued(tmp_path: Path, wanted: Sweep, whole: Path) -> None:
    path = tmp_path / "old.sqlite"
    shutil.copy(OLD_STORE, path)
    path.chmod(0o644)
    content = path.read_bytes()
    with Store(path) as store:
        before, shards = store.experiments(), rows_of(store)
        assert (store.traffic.points(), store.flaws(), store.format) == ([], [], 2)
    assert path.read_bytes() == content
    collect_traffic(wanted, path, progress=False)
    assert results(path) == results(whole)
    with Store(path) as store:
        assert (store.experiments(), rows_of(store), store.format) == (before, shards, 3)
    with Store(tmp_path / "old.sqlite.format2") as store:
        assert (store.experiments(), rows_of(store), store.format) == (before, shards, 2)


def test_a_store_of_runs_alone_is_as_before(tmp_path: Path) -> None:
    collect([Experiment(4, 4)], runs=20, store=tmp_path / "r", progress=False)
    with Store(tmp_path / "r") as store:
        assert list(store.report().to_dict()) == [
            "store", "runs_not_counted", "older_left_out", "experiments", "ok",
        ]  # fmt: skip
        facts = verify(store).report().to_dict()
    assert "points" not in facts
    change(as_format_2(tmp_path / "r"), "DROP TABLE traffic")
    with Store(tmp_path / "r") as store:
        assert (store.traffic.count(), store.flaws()) == (0, [])


def test_verify_runs_points_again(tmp_path: Path, whole: Path) -> None:
    with Store(whole) as store:
        first, *others = rows_of(store, "window")
        experiments = store.rows("experiments")
        found = verify(store, 3, progress=False)
        assert (found.flaws, found.points, found.points_compared, found.compared) == ((), 8, 3, 0)
        assert "3 points run again, with the same results." in " ".join(str(found).split())
    with Store(tmp_path / "r", create=True) as store, store.inserting() as insert:
        insert(experiments, [forged(first, "body", '"delivered": ', '"delivered": 1'), *others])
    with Store(tmp_path / "r") as store:
        (flaw,) = verify(store, progress=False).flaws
    assert flaw.startswith(f"Point {first[0]} of traffic: packets delivered 1")


MINE = """
from pathlib import Path
import popsnet
from popsnet.traffic import find_scheduler, register_scheduler

Path(__file__).with_name("was run").touch()
register_scheduler("mine", summary="")(find_scheduler("tdm").variant()[1])
"""


def test_a_scheduler_from_a_file_is_run_again_only_if_it_is_named(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    request.addfinalizer(lambda: unregister_scheduler("mine"))
    (tmp_path / "mine.py").write_text(MINE)
    sweep = sweep_of(tmp_path, SWEEP.replace('["tdm", "rotor"]', "'mine.py'"))
    assert {one.scheduler for one in sweep.traffic} == {"mine"}
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        collect_traffic(sweep, tmp_path / "r", executor=processes, progress=False)
    (tmp_path / "was run").unlink()
    with Store(tmp_path / "r") as store:
        found = verify(store, progress=False)
        assert (found.points_compared, len(found.unknown)) == (0, 4)
        assert "which is run only if you name it" in found.unknown[0]
        assert not (tmp_path / "was run").exists()
        found = verify(store, progress=False, routers=[tmp_path / "mine.py"])
        assert (found.flaws, found.points_compared) == ((), 4)
        (tmp_path / "mine.py").write_text(MINE + "X = 1\n")
        found = verify(store, progress=False, routers=[tmp_path / "mine.py"])
        assert "the version here is" in found.unknown[0]


@pytest.mark.parametrize("runs", [0, 20])
def test_a_damaged_store_is_rescued(tmp_path: Path, wanted: Sweep, whole: Path, runs: int) -> None:
    path = tmp_path / "r"
    shutil.copy(whole, path)
    if runs:
        collect([Experiment(4, 4)], runs=runs, store=path, progress=False)
    lost = wanted.traffic[0].digest
    change(path, f"UPDATE results SET body = 'x' WHERE digest = '{lost}'")
    found = rescue(path, tmp_path / "new", progress=False)
    assert (found.copied, found.points, found.lost) == (runs // 10, 7, ())
    assert found.points_lost == ((lost, "it does not match its digest"),)
    assert "1 lost. Run the sweep" in " ".join(str(found).split())
    assert {row[0] for row in results(whole)} - {row[0] for row in results(tmp_path / "new")} == {
        lost
    }
    collect_traffic(wanted, tmp_path / "new", progress=False)
    assert results(tmp_path / "new") == results(whole)


def test_selections_of_traffic(whole: Path, tmp_path: Path) -> None:
    with Store(whole) as store:
        assert len(store.traffic.results(Selection(scheduler="tdm"))) == 4
        assert len(store.traffic.results(Selection(scheduler="tdm", n="5:"))) == 2
        assert len(store.traffic.results(Selection(arrivals="uniform"))) == 8
        assert len(store.traffic.results(Selection(router="mei-rizzi"))) == 0
        assert len(store.to_dataframe(Selection(variant="standard"), traffic=True)) == 8
        with pytest.raises(
            InputError, match=r"router = 'direct': it selects runs, and .* has none for this"
        ):
            store.report(Selection(router="direct"))
        with pytest.raises(InputError, match=r"arrivals = 'x': .* it has bernoulli uniform"):
            store.export(tmp_path / "t.csv", Selection(arrivals="x"), traffic=True)
    assert Experiment(4, 4) not in Selection(scheduler="tdm")


def test_the_command_reports_an_interrupt_and_how_to_go_on(
    cli: Cli, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    put = Store.put

    def put_and_interrupt(store: Store, finished: Point) -> None:
        put(store, finished)
        if store.traffic.count() == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Store, "put", put_and_interrupt)
    arguments = ("sweep", tmp_path / "sweep.toml", "--store", tmp_path / "r", "--workers", 1)
    finished = cli(*arguments)
    assert finished.code == 130
    assert "of 8 points of traffic are in" in finished.err
    assert "The same command does the rest." in finished.err
    assert "of 8 points of traffic have results so far." in finished.out
    monkeypatch.undo()
    finished = cli(*arguments)
    assert finished.code == 0
    assert "so far" not in finished.out
    assert results(tmp_path / "r") == results(whole)
