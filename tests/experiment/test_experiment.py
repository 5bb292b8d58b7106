"""An experiment is a value: checked when it is made, compared, hashed, pickled, written down."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from popsnet import (
    Coins,
    Experiment,
    Inbox,
    InputError,
    Memory,
    Network,
    PermutationError,
    RuleViolation,
    Slot,
    Store,
    collect,
    find_router,
    route,
    verify,
)
from popsnet.engines import ENGINES
from popsnet.model.slot import Ints
from popsnet.programs.router import Router, get_router
from popsnet.programs.routers.relay import router as relay_router
from popsnet.programs.routers.relay.schedule import parse_schedule
from popsnet.programs.schedules import Demand
from popsnet.sweeps.shard import SHARD_RUNS
from tests.each import each

OLD_STORE = Path(__file__).parents[1] / "fixtures" / "results-format-2.sqlite"
"""Written before experiments were one value; its names are those that stores have for ever."""

OLD_DIGESTS = {
    "c7360b786620ae81db363cea5016a3cc": Experiment(4, 4),
    "0f859f2cb12bdacdd403f57efd9b33bf": Experiment(8, 8, router="relay", variant="P2 P1 F R2"),
    "02beaaaf273f99d5c1d3b0c1214560d5": Experiment(32, 32, router="relay", variant="P2 P1"),
    "c491ee51143547ef2e598e6a5e05e4d1": Experiment(6, 3, variant="deferred", seed=7),
    "95bc12d1b505fd20183f42a179a453f4": Experiment(6, 3, variant="published", seed=7, max_steps=50),
    "44329bf38732bb5dd910405a2cfcb855": Experiment(
        6, 3, variant="idealized", seed=2**63 + 5, permutation_seed=9
    ),
    "373ca4f28a5af8b8de1c5722d001220c": Experiment(5, 12, router="direct", permutation="transpose"),
    "0bd508f6f5091283eda5d4cf87eca889": Experiment(4, 4, router="datta", permutation="keyed"),
    "af63436d056df6d24daf340dd1635022": Experiment(3, 5, router="relay", variant="XY(2,1)"),
    "c00052a6f320b1402da7cc19c3370765": Experiment(2, 2, variant="published+or"),
}


def one_hop(
    network: Network, destination: Ints, coins: Coins, memory: Memory
) -> Generator[Slot, Inbox, None]:
    """The same as the router direct, as a function that is not registered."""
    return find_router("direct").variant("standard").route(network, destination, coins, memory)


@each(("digest", "experiment"), OLD_DIGESTS.items())
def test_digests_are_those_of_stores_there_are(digest: str, experiment: Experiment) -> None:
    assert experiment.digest == digest


def test_an_old_store_opens_resumes_and_verifies(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    shutil.copy(OLD_STORE, path)
    with Store(path) as store:
        assert {one.digest: one for one in store.experiments()} == OLD_DIGESTS
        kept = {one: store.unbroken(one) for one in store.experiments()}
        there = store.rows("results")
        verdict = verify(store)
        assert (verdict.flaws, verdict.unknown, verdict.compared) == ((), (), len(there))
    tallies = collect(OLD_DIGESTS.values(), runs=40, store=path)
    assert all(tally.runs == 40 for tally in tallies)
    with Store(path) as store:
        assert set(there) < set(store.rows("results"))
        for one, tally in kept.items():
            assert store.tally(one, tally.runs) == tally
            assert store.tally(one, 40) == route(one.reopened(), runs=40, engine="slots").tally


EXPERIMENTS = {
    "by default": lambda folder: Experiment(4, 4),
    "a schedule": lambda folder: Experiment(8, 4, router="relay", variant="P1 | F R2", seed=3),
    "detection": lambda folder: Experiment(4, 4, variant="published+or"),
    "a named permutation": lambda folder: Experiment(4, 4, permutation="shift:d"),
    "an array": lambda folder: Experiment(2, 2, permutation=[3, 2, 1, 0]),
    "a file": lambda folder: Experiment(2, 2, permutation=_saved(folder / "p.npy")),
    "a function": lambda folder: Experiment(3, 2, router=one_hop),
    "a function and a shift": lambda folder: Experiment(
        3, 2, router=one_hop, permutation="shift:d"
    ),
    "a file, an array": lambda folder: Experiment(
        2, 2, router=_written(folder / "own.py"), permutation=[3, 2, 1, 0]
    ),
    "own, detected": lambda folder: Experiment(3, 2, router=one_hop, variant="standard+or"),
    "a router from a file": lambda folder: Experiment(2, 2, router=_written(folder / "own.py")),
    "packets from a file": lambda folder: Experiment(
        2, 2, router="direct", packets=_packets(folder / "p.csv")
    ),
    "a matrix from a file": lambda folder: Experiment(
        2, 2, router="relay", matrix=str(_packets(folder / "p.csv"))
    ),
    "packets": lambda folder: Experiment(2, 2, router="direct", packets=_demand()),
}


def _packets(path: Path) -> Path:
    path.write_text("0,2\n1,0\n")
    return path


def _demand() -> Demand:
    return Demand(Network(2, 2), np.array([0, 1]), np.array([2, 0]))


def _saved(path: Path) -> Path:
    np.save(path, np.array([1, 0, 3, 2]))
    return path


def _written(path: Path) -> Path:
    path.write_text(
        "from popsnet import find_router, register\n"
        "@register('own-of-a-file', summary='', slots='', buffers=2)\n"
        "def own(*arguments):\n"
        "    return find_router('direct').variant('standard').route(*arguments)\n"
    )
    return path


@pytest.mark.parametrize("make", EXPERIMENTS.values(), ids=EXPERIMENTS)
def test_it_is_a_value(make: Any, tmp_path: Path) -> None:
    one = make(tmp_path)
    again = pickle.loads(pickle.dumps(one))
    assert (again, hash(again), again.digest) == (one, hash(one), one.digest)
    assert route(again, runs=3).tally == route(one, runs=3).tally
    other = one.replaced(seed=99)
    assert other != one
    assert other.replaced(seed=one.seed) == one
    run = pickle.loads(pickle.dumps(route(one)[0]))
    assert run == route(one)[0]
    assert run.experiment == one
    with pytest.raises(AttributeError):
        one.d = 5


WITHOUT_NAME = {
    "an array",
    "a function",
    "a function and a shift",
    "a file, an array",
    "own, detected",
    "packets",
}


@pytest.mark.parametrize("name", sorted(EXPERIMENTS.keys() - WITHOUT_NAME))
def test_json_comes_back(name: str, tmp_path: Path) -> None:
    one = EXPERIMENTS[name](tmp_path)
    assert Experiment.from_json(one.to_json()) == one


def test_what_has_no_name_cannot_come_back_from_json() -> None:
    for one in (Experiment(2, 2, permutation=[3, 2, 1, 0]), Experiment(2, 2, router=one_hop)):
        with pytest.raises(InputError, match="cannot be written as JSON"):
            one.to_json()
    complete = Experiment(2, 2).to_json()
    for text, message in (
        ("", "this is not JSON"),
        ("[]", r"a JSON object, as to_json writes it; this is \[\]"),
        ("{}", "lacks d, g, router, version, .*permutation_file. Write it with to_json"),
        (complete.replace('"seed": 0, ', ""), "lacks seed. Write it"),
        (complete.replace('"d": 2', '"d": 0'), "d = 0: it must be at least 1"),
        (complete.replace('"published"', "3"), "variant = 3: it must be a text"),
    ):
        with pytest.raises(InputError, match=message):
            Experiment.from_json(text)


def test_a_demand_of_a_file_is_known_by_the_file(tmp_path: Path) -> None:
    path = _packets(tmp_path / "p.csv")
    packets = Experiment(2, 2, router="direct", packets=path)
    matrix = Experiment(2, 2, router="direct", matrix=path)
    assert (packets.packets, matrix.packets, packets.way, matrix.way) == (2, 3, "packets", "matrix")
    digest = blake2b(path.read_bytes(), digest_size=16).hexdigest()
    assert packets.permutation == f"demand.csv:{digest}"
    assert packets.files == {"packets": (str(path), packets.permutation)}
    assert packets.replaced(d=4).packets == 2
    stored = Experiment.recorded(packets.identity, packets.given)
    assert route(stored.reopened()).tally == route(2, 2, router="direct", packets=_demand()).tally
    copy = tmp_path / "copy.csv"
    path.rename(copy)
    assert stored.reopened({"packets": copy}) == packets
    copy.write_text("0,2\n1,1\n")
    with pytest.raises(InputError, match=r"the permutation here is demand\.csv:"):
        stored.reopened({"packets": copy})
    unnamed = Experiment(2, 2, router="direct", packets=_demand())
    with pytest.raises(InputError, match="its demand was not given as a file, and is not kept"):
        Experiment.recorded(unnamed.identity, unnamed.given).reopened()


def test_runs_of_demands_are_kept(tmp_path: Path) -> None:
    """Three packets on four processors."""
    whole = Experiment(2, 2, router="direct", matrix=_packets(tmp_path / "p.csv"))
    (tally,) = collect([whole], 10, tmp_path / "r", progress=False)
    assert tally == route(whole, runs=10).tally
    with Store(tmp_path / "r") as store:
        assert store.find(whole.digest[:6]) == whole
        found = verify(store, shards=1)
        assert (found.flaws, found.compared) == ((), 1)


def test_other_processes_get_what_has_no_name(tmp_path: Path) -> None:
    reversal = np.arange(16)[::-1]
    experiments = [Experiment(4, 4, permutation=reversal), Experiment(4, 4)]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        found = collect(experiments, runs=20, store=tmp_path / "r", executor=processes)
    assert found == [route(one, runs=20).tally for one in experiments]
    assert found[0] == route(4, 4, permutation="reversal", runs=20).tally


def test_a_function_is_routed_and_not_kept(tmp_path: Path) -> None:
    assert route(4, 4, router=one_hop).slots.tolist() == [4]
    with pytest.raises(InputError, match=r"one_hop is not registered.*@popsnet\.register"):
        collect([Experiment(4, 4, router=one_hop)], runs=10, store=tmp_path / "r")
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_schedule_is_read_once_per_experiment(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def parse(text: str) -> Any:
        read.append(text)
        return parse_schedule(text)

    monkeypatch.setattr(relay_router, "parse_schedule", parse)
    experiment = Experiment(8, 8, router="relay", variant="S")
    assert len(route(experiment, runs=20, engine=engine)) == 20
    route(experiment, runs=300)
    assert read == ["S"]


WRONG = {
    "d": ({"d": 0}, "d = 0"),
    "g": ({"g": 2.5}, "g = 2.5"),
    "router": ({"router": "relais"}, "no router 'relais'.*Did you mean 'relay'"),
    "no router at all": ({"router": 7}, "router = 7: give a name"),
    "variant": ({"variant": "best"}, "no variant 'best'"),
    "where it applies": ({"d": 2, "g": 4}, r"does not apply to POPS\(2, 4\)"),
    "permutation": ({"permutation": "shufle"}, "Did you mean 'shuffle'"),  # codespell:ignore shufle
    "rows": ({"permutation": [[1], [2, 3]]}, "permutation = .*give a name"),
    "nothing": ({"permutation": None}, "permutation = None: give a name"),
    "an array that is too short": ({"permutation": [0, 1]}, "permutation has 2 entries"),
    "an array with a value twice": ({"permutation": [0] * 16}, "not a permutation"),
    "a file": ({"permutation": "none.npy"}, "none.npy cannot be read"),
    "bit reversal": ({"d": 6, "g": 3, "permutation": "bit-reversal"}, "power of two"),
    "seed": ({"seed": -1}, "seed = -1: a seed must be"),
    "a seed in words": ({"seed": "one"}, "seed = 'one': it must be an integer"),
    "permutation seed": ({"permutation_seed": 2**64}, "permutation_seed = 18446744073709551616"),
    "no steps": ({"max_steps": 0}, "max_steps = 0"),
    "many steps": ({"max_steps": 10**7}, "max_steps = 10000000"),
}


@each(("given", "complaint"), WRONG.values())
def test_what_is_wrong_is_refused_by_the_name_of_the_parameter(
    given: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        Experiment(**{"d": 4, "g": 4, **given})


def test_a_stored_experiment_says_why_it_cannot_be_run() -> None:
    gone = Experiment.recorded((4, 4, "vanished", "1", "standard", "random", 0, 0, 1000))
    assert gone.network == Network(4, 4)
    with pytest.raises(InputError, match="read from a store"):
        route(gone)
    with pytest.raises(InputError, match="no router 'vanished'"):
        gone.reopened()
    newer = Experiment.recorded((4, 4, "direct", "99", "standard", "random", 0, 0, 1000))
    with pytest.raises(InputError, match="the version here is 1, not 99"):
        newer.reopened()


def test_a_permutation_that_is_none_names_its_entry() -> None:
    with pytest.raises(PermutationError, match="entries 0 and 1 are both 2"):
        Experiment(2, 2, permutation=[2, 2, 0, 1])


def test_two_functions_of_one_name_are_two_experiments() -> None:
    def twice(network: Network, *rest: Any) -> Generator[Slot, Inbox, None]:
        yield Slot()
        yield from one_hop(network, *rest)

    twice.__name__ = one_hop.__name__
    second, other = Experiment(4, 4, router=twice), Experiment(4, 4, router=one_hop)
    assert second != other
    assert second.digest != other.digest
    assert second == Experiment(4, 4, router=twice)
    assert [route(one).slots[0] for one in (second, other)] == [5, 4]


def test_routers_that_claim_other_buffers_are_other_experiments() -> None:
    direct = get_router("direct").variants
    one, two = (Router("mine", "", "", buffers=size, variants=direct) for size in (1, 2))
    assert Experiment(4, 4, router=one) != Experiment(4, 4, router=two)
    assert Experiment(4, 4, router=two) == Experiment(4, 4, router=replace(two))
    with pytest.raises(RuleViolation):
        route(4, 4, router=one)
    assert route(4, 4, router=two).undelivered == 0


def test_what_was_read_stays_what_it_is(tmp_path: Path) -> None:
    """A file of a permutation or of a router may change or vanish; the experiment does not."""
    path, own = _saved(tmp_path / "p.npy"), _written(tmp_path / "own.py")
    one = Experiment(2, 2, router=own, permutation=path)
    before = route(one, runs=5).tally
    np.save(path, np.array([0, 1, 2, 3]))
    assert one.replaced(seed=1).replaced(seed=0) == one
    path.unlink()
    own.write_text(own.read_text() + "EDITED = True\n")
    edited = Experiment(2, 2, router=own)
    assert edited.version != one.version
    assert one.replaced(seed=1).replaced(seed=0) == one
    assert route(one, runs=5).tally == before
    assert collect([one], runs=10, store=tmp_path / "r")[0] == route(one, runs=10).tally
    with pytest.raises(InputError, match="has changed since the work began"):
        pickle.loads(pickle.dumps(one))


def test_it_is_shown_as_it_is_written() -> None:
    one = Experiment(8, 4, router="relay", variant="P1 | F R2", permutation="shift:d", seed=3)
    assert eval(repr(one)) == one


def test_a_cell_of_a_notebook_can_be_executed_again(tmp_path: Path) -> None:
    """A router of the program itself is replaced; and its results are not kept in a store."""
    script = """
import popsnet

for slots in (1, 2):
    @popsnet.register("again", summary="", slots="", buffers=1)
    def again(network, destination, coins, memory, slots=slots):
        for _ in range(slots):
            yield popsnet.Slot()
    print(popsnet.route(1, 1, router="again").slots[0])
try:
    popsnet.collect([popsnet.Experiment(1, 1, router="again")], runs=10, store="r")
except popsnet.InputError as error:
    print("file" in str(error))
try:
    popsnet.register("direct", summary="", slots="", buffers=1)(again)
except popsnet.InputError as error:
    print("already registered" in str(error))
"""
    command = [sys.executable, "-c", script]
    finished = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (finished.stdout, finished.stderr) == ("1\n2\nTrue\nTrue\n", "")


def test_a_function_of_something_else_is_not_a_router() -> None:
    def wrong(network: Network) -> Generator[Slot, Inbox, None]:
        yield Slot()

    with pytest.raises(InputError, match=r"must take \(network, destination, coins, memory\)"):
        route(2, 2, router=wrong)  # type: ignore[arg-type]


def test_shards_have_ten_runs() -> None:
    """Or results of today could not be added to those in stores."""
    assert SHARD_RUNS == 10
