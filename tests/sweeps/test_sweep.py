"""Sweeps: what a file means, what it may not say, and who does the work."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Experiment, Inbox, Network, Slot
from popsnet.base import system
from popsnet.base.errors import InputError, PopsnetError, Rule, RuleViolation
from popsnet.engines import ENGINES, Engine, Session, choose_engine
from popsnet.engines.fused.engine import FusedEngine
from popsnet.experiment import experiment as experiment_module
from popsnet.programs.router import unregister
from popsnet.sweeps import runner, shard
from popsnet.sweeps.kind import StoppedError
from popsnet.sweeps.rows import SHARD
from popsnet.sweeps.runner import collect
from popsnet.sweeps.shard import Shards
from popsnet.sweeps.store import Store
from popsnet.sweeps.sweep import Sweep, in_words
from popsnet.sweeps.work import Queue, Work, cut
from tests.conftest import Cli
from tests.engines.plugin import forget_choices
from tests.sweeps import edits
from tests.sweeps.test_pace import finished

T = TypeVar("T")


def sweep_of(folder: Path, text: str) -> Sweep:
    (folder / "sweep.toml").write_text(text)
    return Sweep.read(folder / "sweep.toml")


def networks(sweep: Sweep) -> list[tuple[int, int]]:
    return [(one.d, one.g) for one in sweep.experiments]


def results(store: Store) -> list[list[tuple[Any, ...]]]:
    return edits.results(store)


def test_networks_are_given_in_three_ways(tmp_path: Path) -> None:
    direct = "[[grid]]\nrouters = 'direct'\n"
    assert networks(sweep_of(tmp_path, direct + "d = [2, 3]\ng = [4, 5]")) == [
        (2, 4), (2, 5), (3, 4), (3, 5),
    ]  # fmt: skip
    assert networks(sweep_of(tmp_path, direct + "shapes = [[2, 3], [7, 1]]")) == [(2, 3), (7, 1)]
    assert networks(sweep_of(tmp_path, direct + "n = [64, 16]\nratio = [1, 4, '1/4']")) == [
        (8, 8), (16, 4), (4, 16), (4, 4), (8, 2), (2, 8),
    ]  # fmt: skip


@given(st.integers(1, 60), st.integers(1, 60))
def test_every_network_has_its_n_and_ratio(
    tmp_path_factory: pytest.TempPathFactory, d: int, g: int
) -> None:
    folder = tmp_path_factory.mktemp("sweep")
    text = f"[[grid]]\nrouters = 'direct'\nn = {d * g}\nratio = '{d}/{g}'"
    assert networks(sweep_of(folder, text)) == [(d, g)]


def test_a_grid_is_a_product_and_takes_what_it_does_not_say_from_the_top(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.arange(16))
    sweep = sweep_of(
        tmp_path,
        """
        runs = 25
        seed = 7
        permutations = ["random", "keyed"]
        [[grid]]
        label = "square"
        d = 4
        g = 4
        routers = ["mei-rizzi", "direct"]
        [[grid]]
        shapes = [[4, 4]]
        variants = ["published", "idealized"]
        permutations = "p.npy"
        runs = 5
        permutation_seed = 3
        max_steps = 9
        """,
    )
    found = [
        (one.router, one.variant, Path(one.shown_permutation).name, runs, label)
        for one, runs, label in zip(sweep.experiments, sweep.runs, sweep.labels, strict=True)
    ]
    assert found == [
        ("mei-rizzi", "published", "random", 25, "square"),
        ("mei-rizzi", "published", "keyed", 25, "square"),
        ("direct", "standard", "random", 25, "square"),
        ("direct", "standard", "keyed", 25, "square"),
        ("mei-rizzi", "published", "p.npy", 5, ""),
        ("mei-rizzi", "idealized", "p.npy", 5, ""),
    ]
    assert [choose_engine("auto", one).name for one in sweep.experiments] == [
        "fused", "fused", "slots", "slots", "fused", "fused",
    ]  # fmt: skip
    last = sweep.experiments[-1]
    assert (last.seed, last.permutation_seed, last.max_steps) == (7, 3, 9)


TWO_VARIANTS = """
import popsnet

@popsnet.register("mine", summary="", slots="", buffers=1)
def mine(network, destination, coins, memory):
    yield popsnet.Slot()

popsnet.register_variant("mine", "fast")(mine)
"""


def variants(sweep: Sweep) -> list[tuple[str, str]]:
    return [(one.router, one.variant) for one in sweep.experiments]


def test_a_router_may_name_its_variant(tmp_path: Path) -> None:
    both = "[[grid]]\nd = 8\ng = 8\nrouters = ['relay:S', 'mei-rizzi']\n"
    own = ("relay", "S")
    assert variants(sweep_of(tmp_path, both)) == [own, ("mei-rizzi", "published")]
    assert variants(sweep_of(tmp_path, both + "variants = ['published', 'idealized']")) == [
        own, ("mei-rizzi", "published"), ("mei-rizzi", "idealized"),
    ]  # fmt: skip
    (tmp_path / "mine.py").write_text(TWO_VARIANTS)
    mine = "[[grid]]\nd = 4\ng = 4\nrouters = ['mine.py:fast', 'mine.py']"
    assert variants(sweep_of(tmp_path, mine)) == [("mine", "fast"), ("mine", "standard")]


def test_two_spellings_of_an_experiment_are_one(tmp_path: Path) -> None:
    square = "[[grid]]\nd = 8\ng = 8\nruns = 20\nrouters = "
    one = sweep_of(tmp_path, square + "['mei-rizzi:published', 'mei-rizzi']")
    assert (variants(one), one.runs) == ([("mei-rizzi", "published")], (20,))
    assert len(one.labels) == 1
    spaced = sweep_of(tmp_path, square + "['relay:P2 P1 R1', 'relay:P2  P1 R1']")
    assert len(spaced.experiments) == 1


def test_what_does_not_apply_is_skipped_only_if_the_file_says_so(tmp_path: Path) -> None:
    text = """
        skip_inapplicable = {skip}
        [[grid]]
        d = [3, 4]
        g = [4, 8]
        routers = ["mei-rizzi", "direct"]
        variants = ["published", "standard"]
        permutations = ["random", "bit-reversal"]
        """
    sweep = sweep_of(tmp_path, text.format(skip="true"))
    names = {(str(one.network), one.router, one.permutation) for one in sweep.experiments}
    assert ("POPS(4, 4)", "mei-rizzi", "bit-reversal") in names
    assert ("POPS(3, 4)", "direct", "random") in names
    assert ("POPS(3, 4)", "direct", "bit-reversal") not in names
    assert len(names) == 2 + 2 * 4 - 2
    assert "mei-rizzi (published) on POPS(3, 4): it needs d >= g." in sweep.skipped
    needed = "mei-rizzi (published) needs d ≥ g: POPS(3, 4), POPS(3, 8), POPS(4, 8)"
    assert needed in in_words(sweep.skipped)
    assert "Use " not in in_words(sweep.skipped)
    with pytest.raises(InputError, match=r"POPS\(3, 4\).*from the grid, or set skip"):
        sweep_of(tmp_path, text.format(skip="false"))


SQUARE = "[[grid]]\nshapes = [[4, 4]]\n"

BAD = {
    "no TOML": ("[[grid", "is not a TOML file"),
    "nothing": ("", "has no grid"),
    "no list of grids": ("[grid]\nd = 4\ng = 4", "has no grid"),
    "a slip": (SQUARE + "rnus = 5", "grid 1: there is no key 'rnus' here; did you mean 'runs'?"),
    "a slip at the top": ("permutation = 'random'\n" + SQUARE, "did you mean 'permutations'?"),
    "a shape at the top": ("d = 5\n" + SQUARE, "no key 'd' here; 'd' belongs in a [[grid]]"),
    "another key": (SQUARE + "colour = 5", "no key 'colour' here; give label, shapes"),
    "no network": ("[[grid]]\nruns = 5", "this grid has none"),
    "d without g": ("[[grid]]\nd = 4", "this grid has d."),
    "too much": (SQUARE + "n = 16", "this grid has n, shapes"),
    "no pair": ("[[grid]]\nshapes = [[4, 4, 4]]", "shapes = [4, 4, 4]: it must be 2 numbers"),
    "no pairs": ("[[grid]]\nshapes = [4, 4]", "shapes = 4: it must be a list."),
    "d of zero": ("[[grid]]\nd = 0\ng = 4", "d = 0: the number of processors per group"),
    "d in words": ("[[grid]]\nd = 'four'\ng = 4", "d = 'four': it must be an integer."),
    "d true": ("[[grid]]\nd = true\ng = 4", "d = True: it must be an integer."),
    "half a group": ("[[grid]]\nshapes = [[4, 4.5]]", "shapes = 4.5: it must be an integer."),
    "an empty list": ("[[grid]]\nd = []\ng = 4", "d = []: give at least one value."),
    "a value twice": ("[[grid]]\nd = [4, 4]\ng = 4", "d: 4 is given twice"),
    "no ratio": ("[[grid]]\nn = 4\nratio = '1/0'", "ratio = '1/0': d/g is a positive number"),
    "a ratio below 0": ("[[grid]]\nn = 4\nratio = -1", "ratio = -1: d/g is a positive number"),
    "a date": (
        SQUARE + "label = 2026-01-01",
        "label = datetime.date(2026, 1, 1): it must be a text",
    ),
    "a float": ("[[grid]]\nn = 4\nratio = 0.5", "ratio = 0.5: it must be an integer, or a"),
    "no such n": ("[[grid]]\nn = 100\nratio = 2", "d/g = 2; the nearest n that do are 98 or 128"),
    "n below 1": ("[[grid]]\nn = 0\nratio = 1", "n = 0 with ratio = 1"),
    "no router": (SQUARE + "routers = 'mei-rizi'", "Did you mean 'mei-rizzi'?"),
    "no variant of the router": (
        SQUARE + "routers = 'mei-rizzi:x'\nskip_inapplicable = true",
        "routers: Router mei-rizzi has no variant 'x'",
    ),
    "variants of no router": (
        SQUARE + "routers = 'relay:S'\nvariants = 'published'",
        "variants: every router of this grid names its variant",
    ),
    "no router file": (SQUARE + "routers = 'r.py'", "There is no file"),
    "no variant": (SQUARE + "variants = 'idealised'", "Did you mean 'idealized'?"),
    "no variant, skipped": (
        SQUARE + "variants = 'x'\nskip_inapplicable = true",
        "variants: there is no 'x'; give published",
    ),
    "no permutation": (SQUARE + "permutations = 'randon'", "no permutation 'randon'"),
    "no permutation file": (SQUARE + "permutations = 'p.npy'", "the file p.npy does not exist"),
    "a file that is skipped": (
        SQUARE + "permutations = 'p.npy'\nskip_inapplicable = true",
        "the file p.npy does not exist",
    ),
    "runs without end": (
        SQUARE + "runs = 99999999999999",
        "runs = 99999999999999: it must be at most 10,000,000.",
    ),
    "a ratio without end": ("[[grid]]\nn = 64\nratio = '1e400000000'", "d/g is a positive number"),
    "no runs": (SQUARE + "runs = 0", "runs = 0: it must be at least 1."),
    "runs in words": (SQUARE + "runs = '5'", "runs = '5': it must be an integer; remove"),
    "no seed": (SQUARE + "seed = -1", "seed = -1: a seed must be"),
    "no steps": (SQUARE + "max_steps = 0", "max_steps = 0: it must be at least 1"),
    "no yes": (
        SQUARE + "skip_inapplicable = 1",
        "skip_inapplicable = 1: it must be true or false.",
    ),
    "too large": (
        "[[grid]]\nshapes = [[1000000, 1000000]]",
        "does not run mei-rizzi (published) on POPS(1000000, 1000000)",
    ),
    "small groups": ("[[grid]]\nd = 4\ng = 5", "mei-rizzi needs d ≥ g: POPS(4, 5). Remove"),
    "nothing left": (
        "[[grid]]\nd = 4\ng = 5\nskip_inapplicable = true",
        "nothing in it applies: mei-rizzi needs d ≥ g: POPS(4, 5).",
    ),
    "no faults": (SQUARE + "faults = 'couplr:1,0'", "grid 1: faults: fault 'couplr:1,0': it"),
    "two losses": (
        SQUARE + "faults = 'loss:0.1'\nloss = 0.2",
        "grid 1: loss: 'loss:0.1' of faults",
    ),
    "a loss above 1": (SQUARE + "loss = 1.5", "loss = 1.5: the probability that a message is lost"),
    "faults elsewhere": (SQUARE + "faults = 'coupler:9-9'", "POPS(4, 4): there is no coupler:9-9"),
    "no wavelengths": (SQUARE + "wavelengths = 0", "wavelengths = 0: the number of wavelengths"),
    "too few wavelengths": (SQUARE + "wavelengths = 2", "(published) uses one wavelength"),
    "no fault seed": (SQUARE + "faults = 'loss:0.1'\nfault_seed = -1", "fault_seed = -1: a seed"),
    "known faults": (SQUARE + "known_faults = true", "'known_faults' belongs in a [[traffic]]"),
    "no demand": (SQUARE + "packets = 'd.csv'", "packets = 'd.csv': the file d.csv does not exist"),
    "two workloads": (
        SQUARE + "packets = 'd.csv'\npermutations = 'random'",
        "permutations and packets: give one of them",
    ),
    "the second grid": (SQUARE + "[[grid]]\nd = 5", "sweep.toml, grid 2: networks are given"),
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


def test_other_bad_input(cli: Cli, tmp_path: Path) -> None:
    sweep_of(tmp_path, SQUARE)
    file = tmp_path / "sweep.toml"
    for arguments, complaint in (
        ((tmp_path / "none.toml",), "cannot be read"),
        ((file, "--workers", 0, "--store", tmp_path / "r"), "--workers 0"),
        ((file, "--store", tmp_path / "none" / "r"), "There is no folder"),
        ((file, "--store", file), "not a store of results"),
    ):
        finished = cli("sweep", *arguments)
        assert (finished.code, finished.out) == (2, "")
        assert complaint in finished.err


WANTED = [(Experiment(4, 4), 35), (Experiment(6, 3, router="direct", permutation="reversal"), 20)]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[Any, ...]]]:
    with Store(tmp_path_factory.mktemp("sweep") / "r", create=True) as store:
        collect(WANTED, store=store)
        return results(store)


class AtOnce(Executor):
    """Does everything when it is handed over, and knows what it was handed."""

    def __init__(self) -> None:
        self.tasks: list[Work] = []

    def submit(self, work: Callable[..., T], /, *arguments: Any, **others: Any) -> Future[T]:
        experiment, shards = arguments
        self.tasks.append((experiment, shards))
        future: Future[T] = Future()
        try:
            future.set_result(work(experiment, shards))
        except Exception as error:
            future.set_exception(error)
        return future


def test_any_executor_gives_the_same_rows(
    tmp_path: Path, expected: list[list[tuple[Any, ...]]]
) -> None:
    at_once = AtOnce()
    with (
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
        ThreadPoolExecutor(3) as threads,
    ):
        for name, executor in (("1", at_once), ("2", processes), ("3", threads), ("4", None)):
            with Store(tmp_path / name, create=True) as store:
                collect(WANTED, store=store, executor=executor, workers=2)
                assert results(store) == expected
    assert pickle.loads(pickle.dumps(at_once.tasks)) == at_once.tasks


def test_what_is_there_is_not_done_again(tmp_path: Path) -> None:
    point, executor, told = Experiment(4, 4), AtOnce(), []
    with Store(tmp_path / "r", create=True) as store:
        for runs, done in ((15, 2), (20, 2), (1, 2), (35, 4), (35, 4)):
            wanted = [(point, runs), (point, 5)]
            collect(
                wanted, store=store, executor=executor, progress=lambda *both: told.append(both)
            )
            assert len(executor.tasks) == done
    assert sorted(number for _, shards in executor.tasks for number in shards) == [0, 1, 2, 3]
    assert told == [(1, 2), (2, 2), (3, 4), (4, 4)]


def test_a_gap_is_filled(tmp_path: Path, expected: list[list[tuple[Any, ...]]]) -> None:
    executor = AtOnce()
    with Store(tmp_path / "r", create=True) as store:
        collect(WANTED, store=store)
        store._database.execute("DELETE FROM results WHERE first = 10")
        collect(WANTED, store=store, executor=executor)
        assert results(store) == expected
    assert [shards for _, shards in executor.tasks] == [range(1, 2), range(1, 2)]


def test_labels_change_nothing(cli: Cli, tmp_path: Path) -> None:
    for label in ("one", "two"):
        sweep_of(tmp_path, f"{SQUARE}label = '{label}'")
        finished = cli("sweep", tmp_path / "sweep.toml", "--store", tmp_path / "r")
        assert finished.code == 0
        assert label in finished.out
    with Store(tmp_path / "r") as store:
        assert len(store.rows("results")) == 1


def test_few_are_handed_over_at_a_time_and_large_ones_as_memory_allows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def most_at_once(memory: int) -> int:
        monkeypatch.setattr(system, "available_memory", lambda: 100)
        monkeypatch.setattr(SHARD, "memory", lambda experiment: memory)
        futures: list[Future[Shards]] = []

        class Slow(AtOnce):
            def submit(self, work: Any, /, *arguments: Any, **others: Any) -> Future[Any]:
                futures.append(Future())
                return futures[-1]

        most = 0
        begun = runner.Workers(Slow(), workers=3).do(Queue([(WANTED[0][0], range(1))] * 20))

        def finish_one(*_: object, **__: object) -> tuple[list[Future[Shards]], None]:
            nonlocal most
            most = max(most, sum(not one.done() for one in futures))
            one = next(one for one in futures if not one.done())
            one.set_result(finished(WANTED[0][0], range(1), 1.0))
            return [one], None

        monkeypatch.setattr(runner, "wait", finish_one)
        assert len(list(begun)) == 20
        return most

    assert [most_at_once(memory) for memory in (0, 25, 40, 1000)] == [6, 6, 2, 1]
    monkeypatch.undo()
    assert SHARD.memory(Experiment(16384, 4096, variant="idealized")) > 2**26
    assert SHARD.memory(Experiment(1024, 1024, router="relay", variant="roll-call")) > 2**26
    assert SHARD.memory(WANTED[0][0]) == 0


def test_an_interrupt_keeps_what_is_finished(
    tmp_path: Path, expected: list[list[tuple[Any, ...]]]
) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with Store(tmp_path / "r", create=True) as store:
        with pytest.raises(KeyboardInterrupt):
            collect(WANTED, store=store, workers=2, progress=interrupt)
        assert len(store.rows("results")) >= 2
        collect(WANTED, store=store)
        assert results(store) == expected


def endless(network: Network, *_: object) -> Generator[Slot, Inbox, None]:
    while True:
        yield Slot()


def test_threads_that_are_told_to_stop_do(tmp_path: Path) -> None:
    experiment = Experiment(1, 1, router=endless)
    stop = threading.Event()
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(SHARD.execute, experiment, range(1), stop.is_set)
        stop.set()
        with pytest.raises(StoppedError):
            future.result()


def test_an_error_keeps_what_is_finished_and_names_the_router(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "import numpy as np\n"
        "from popsnet import Slot, register\n"
        "@register('bad-on-smaller', summary='', slots='', buffers=2)\n"
        "def bad(network, destination, coins, memory):\n"
        "    if network.n == 2:\n"
        "        memory.deliver(np.arange(2), np.arange(2))\n"
        "    yield Slot()\n"
    )
    grid = "[[grid]]\nrouters = 'bad.py'\nd = 1\ng = [1, 2]\nruns = 20\n"
    sweep_of(tmp_path, f"{grid}permutations = 'identity'")
    finished = cli("sweep", tmp_path / "sweep.toml", "--store", tmp_path / "r", "--workers", 1)
    assert (finished.code, finished.out) == (1, "")
    assert "bad-on-smaller ended on POPS(1, 1)" in finished.err
    assert "packets not delivered" in finished.err
    with Store(tmp_path / "r") as store:
        assert [one.network for one in store.experiments()] == [Network(1, 2)]
        assert store.unbroken(store.experiments()[0]).runs == 20


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "p.npy"
    np.save(path, np.arange(16))
    experiment = Experiment(4, 4, permutation=path)
    sent = pickle.dumps(experiment)
    before = SHARD.execute(pickle.loads(sent), range(1))
    np.save(path, np.arange(16)[::-1])
    experiment_module._opened_before.clear()  # as in another process
    with pytest.raises(InputError, match="has changed since the work began"):
        pickle.loads(sent)
    again = SHARD.execute(experiment, range(1))  # it has what it was made with
    assert again.outcome.table.tolist() == before.outcome.table.tolist()


def test_a_router_from_a_file_goes_to_other_processes(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "from popsnet import Slot, register\n"
        "@register('mine-elsewhere', summary='', slots='', buffers=2)\n"
        "def mine(network, destination, coins, memory):\n"
        "    memory.deliver(np.array([0]), np.array([0]))\n"
        "    yield Slot()\n"
    )
    sweep = sweep_of(tmp_path, "[[grid]]\nrouters = 'mine.py'\nd = 1\ng = 1\nruns = 20")
    with (
        Store(tmp_path / "r", create=True) as store,
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes,
    ):
        collect(sweep, store=store, executor=processes)
        assert store.unbroken(sweep.experiments[0]).runs == 20


def test_a_broken_rule_comes_home_from_other_processes() -> None:
    error = RuleViolation(3, 4, Rule.BUFFERS, "it holds too much")
    home = pickle.loads(pickle.dumps(error))
    assert (str(home), home.slot, home.rule) == (str(error), 3, Rule.BUFFERS)


def test_nobody_is_asked_for_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "r", create=True) as store, pytest.raises(PopsnetError, match="runs = 0"):
        collect([(Experiment(4, 4), 0)], store=store)


def test_json_has_the_documented_form(cli: Cli, tmp_path: Path) -> None:
    sweep_of(
        tmp_path, "[[grid]]\nlabel = 'x'\nd = [4, 2]\ng = 4\nskip_inapplicable = true\nruns = 12"
    )
    finished = cli("sweep", tmp_path / "sweep.toml", "--store", tmp_path / "r", "--json")
    assert (finished.code, finished.err) == (0, "Running 2 parts of 10 runs, of 1 experiment…\n")
    result = json.loads(finished.out)
    assert list(result) == ["store", "skipped", "experiments", "ok"]
    (point,) = result["experiments"]
    assert (point["label"], point["runs_wanted"], point["runs_missing"]) == ("x", 12, 0)
    assert (point["d"], point["g"], point["runs"], point["capped"]) == (4, 4, 20, 0)
    assert sum(point["slots_histogram"].values()) == 20
    assert len(result["skipped"]) == 1
    text = cli("sweep", tmp_path / "sweep.toml", "--store", tmp_path / "r").out
    assert "Runs are rounded up to a multiple of 10." in text
    assert "Skipped 1: mei-rizzi needs d ≥ g: POPS(2, 4)." in text


def test_the_command_reports_an_interrupt_and_how_to_go_on(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_of(tmp_path, "[[grid]]\nshapes = [[4, 4], [8, 8]]\nruns = 30")
    put = Store.put

    def put_and_interrupt(store: Store, finished: Shards) -> None:
        put(store, finished)
        if len(store.rows("results")) == 4:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Store, "put", put_and_interrupt)
    arguments = ("sweep", tmp_path / "sweep.toml", "--store", tmp_path / "r", "--workers", 1)
    finished = cli(*arguments)
    assert finished.code == 130
    assert "of 6 parts of 10 runs are in" in finished.err
    assert "The same command does the rest." in finished.err
    assert " of 30" in finished.out
    monkeypatch.undo()
    finished = cli(*arguments)
    assert finished.code == 0
    assert " of 30" not in finished.out


def test_a_worker_keeps_its_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of small networks, for as long as it works on the same experiment."""
    opened: list[Experiment] = []

    class Counted(FusedEngine):
        def open(self, experiment: Experiment, threads: int | None = None) -> Session:
            assert threads == 1
            opened.append(experiment)
            return super().open(experiment, threads)

    monkeypatch.setitem(ENGINES, "fused", Counted())
    one, other = Experiment(4, 4, seed=525), Experiment(8, 8, seed=525)  # of no other test
    collect([one, other], runs=500, store=tmp_path / "small", workers=1)
    assert opened == [other, one]
    opened.clear()
    monkeypatch.setattr("popsnet.sweeps.kind.NEGLIGIBLE", 15)
    shards = [SHARD.execute(one, range(number, number + 1)) for number in (0, 1)]
    assert opened == [one, one]
    assert shard._thread_session.experiment is None
    assert {shards[0].provenance.engine} == {"fused"}


SLOW = """
import time
from popsnet import find_router, register

@register("slow-of-a-file", summary="", slots="", buffers=2)
def slow(*arguments):
    time.sleep(0.02)
    return find_router("direct").variant("standard").route(*arguments)
"""


def test_the_engine_of_an_experiment_is_chosen_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not again for every shard, nor for the memory and the size of pieces of work."""
    asked: list[tuple[str, Experiment]] = []

    def choose(name: str, experiment: Experiment, **rest: Any) -> Engine:
        asked.append((name, experiment))
        return choose_engine(name, experiment, **rest)

    forget_choices()
    monkeypatch.setattr("popsnet.engines.choice.choose_engine", choose)
    text = "[[grid]]\nd = [4, 8]\ng = 4\nrouters = ['mei-rizzi', 'direct']\nruns = 60"
    sweep = sweep_of(tmp_path, text)
    collect(sweep, store=tmp_path / "results.sqlite", workers=2, progress=False)
    assert len(sweep.experiments) == 4
    assert asked == [("auto", experiment) for experiment in sweep.experiments]


def test_an_interrupt_loses_no_finished_shard_of_a_slow_router(tmp_path: Path) -> None:
    """What is handed over at once is one shard, however small the network is."""
    (tmp_path / "slow.py").write_text(SLOW)
    experiment = Experiment(4, 4, router=tmp_path / "slow.py")
    assert {len(shards) for _, shards in cut(experiment, range(100), 2)} == {1}
    assert {len(shards) for _, shards in cut(Experiment(4, 4), range(100), 2)} != {1}
    named = Experiment(4, 4, permutation="keyed")
    assert {len(shards) for _, shards in cut(named, range(100), 2)} == {1}
    told: list[int] = []

    def interrupt(done: int, total: int) -> None:
        told.append(done)
        if done == 3:
            raise KeyboardInterrupt

    with Store(tmp_path / "r", create=True) as store:
        with pytest.raises(KeyboardInterrupt):
            collect([experiment], runs=1000, store=store, workers=2, progress=interrupt)
        assert told == [1, 2, 3]
        assert 3 <= len(store.rows("results")) <= 5
    unregister("slow-of-a-file")


def test_workers_are_counted_in_whole_numbers(tmp_path: Path) -> None:
    for workers in (0, 1.5):
        with pytest.raises(InputError, match="workers = "):
            collect([Experiment(4, 4)], runs=10, store=tmp_path / "r", workers=workers)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="nor a pair"):
        collect([(Experiment(4, 4), 1, 2)], store=tmp_path / "r")  # type: ignore[list-item]


def test_work_is_cut_into_pieces_for_all_workers() -> None:
    experiment = Experiment(32, 32)
    for shards, workers in (([0], 2), (list(range(1000)), 2), ([0, 1, 5, 6, 7, 9], 1)):
        pieces = [piece for _, piece in cut(experiment, shards, workers)]
        assert [one for piece in pieces for one in piece] == shards
        assert len(pieces) >= min(workers, len(shards))
    assert max(len(piece) for _, piece in cut(experiment, range(10**5), 2)) < 10**3


def test_a_sweep_is_made_of_a_grid() -> None:
    sweep = Sweep.of_grid(d=[4, 8], g=4, routers="direct", runs=30, seed=2)
    assert [(one.d, runs) for one, runs in sweep.wanted] == [(4, 30), (8, 30)]
    both = sweep + Sweep.of_grid(shapes=[[2, 3]], routers="direct")
    assert [one.d for one in both.experiments] == [4, 8, 2]
    with pytest.raises(InputError, match="did you mean 'routers'"):
        Sweep.of_grid(d=4, g=4, router="direct")


def test_a_grid_takes_faults_wavelengths_and_seeds(tmp_path: Path) -> None:
    sweep = sweep_of(
        tmp_path,
        """
        [[grid]]
        d = 8
        g = [2, 4]
        routers = "relay"
        wavelengths = [1, 2]
        faults = ["", "coupler:0-1", "random:processors=1"]
        loss = [0, 0.125]
        fault_seed = [3, 4]
        seed = [1, 2]
        permutation_seed = 5
        max_steps = 7
        """,
    )
    found = [
        (one.g, one.wavelengths, one.faults, one.fault_seed, one.seed) for one in sweep.experiments
    ]
    texts = [
        " ".join(filter(None, (dead, loss)))
        for dead in ("", "coupler:0-1", "random:processors=1")
        for loss in ("", "loss:0.125")
    ]
    assert found == [
        (g, wavelengths, faults, fault_seed, seed)
        for g in (2, 4)
        for wavelengths in (1, 2)
        for faults in texts
        for fault_seed in ((3, 4) if faults else (0,))
        for seed in (1, 2)
    ]
    assert {(one.permutation_seed, one.max_steps) for one in sweep.experiments} == {(5, 7)}
    one = next(one for one in sweep.experiments if one.faults == texts[3] and one.wavelengths == 2)
    assert one == Experiment(
        8, 2, router="relay", seed=1, permutation_seed=5, max_steps=7, faults=texts[3],
        fault_seed=3, wavelengths=2,
    )  # fmt: skip


def test_a_grid_takes_files_of_demands(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("0,3\n0,2\n5,1\n")
    (tmp_path / "m.csv").write_text("0,2\n1,0\n")
    routers = "[[grid]]\nshapes = [[4, 2]]\nrouters = ['direct', 'relay']\n"
    packets = sweep_of(tmp_path, routers + "packets = 'p.csv'")
    assert [(one.router, one.way, one.packets) for one in packets.experiments] == [
        ("direct", "packets", 3), ("relay", "packets", 3),
    ]  # fmt: skip
    matrix = sweep_of(
        tmp_path, routers + "matrices = 'm.csv'\nvariants = 'folds'\nskip_inapplicable = true"
    )
    assert [(one.variant, one.way, one.packets) for one in matrix.experiments] == [
        ("folds", "matrix", 3),
    ]  # fmt: skip
    assert matrix.skipped[0].startswith("direct (folds) on POPS(4, 2): Router direct does not ")


NOT_THERE = """
[[grid]]
shapes = [[4, 2], [4, 4]]
routers = ["direct", "mei-rizzi"]
wavelengths = [1, 2]
faults = ["coupler:3-3", "processor:1"]
skip_inapplicable = {skip}
"""


def test_faults_and_wavelengths_that_a_network_does_not_have_are_skipped(tmp_path: Path) -> None:
    sweep = sweep_of(tmp_path, NOT_THERE.format(skip="true"))
    assert [(one.router, one.g, one.faults) for one in sweep.experiments] == [
        ("direct", 2, "processor:1"), ("mei-rizzi", 2, "processor:1"),
        ("direct", 4, "coupler:3-3"), ("direct", 4, "processor:1"),
        ("mei-rizzi", 4, "coupler:3-3"), ("mei-rizzi", 4, "processor:1"),
    ]  # fmt: skip
    words = in_words(sweep.skipped)
    assert "faults coupler:3-3 on POPS(4, 2): there is no coupler:3-3" in words
    assert "uses one wavelength" in words
    with pytest.raises(InputError, match=r"grid 1: .*on POPS\(4, 2\).*from the grid, or set skip"):
        sweep_of(tmp_path, NOT_THERE.format(skip="false"))
