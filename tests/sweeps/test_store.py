"""The store: what is put in comes out, what is no store is refused, merging adds up."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from popsnet import Experiment, Network, route, verify
from popsnet.base.errors import InputError, StoreError
from popsnet.base.stats.inference import summarize, summarize_counts
from popsnet.engines import Outcomes, Tally
from popsnet.engines.outcome import COLUMNS
from popsnet.programs.files import code_digest
from popsnet.programs.router import find_router, unregister
from popsnet.sweeps.kind import Provenance, Result
from popsnet.sweeps.runner import collect
from popsnet.sweeps.shard import SHARD_RUNS, Shards, columns_of, shards_of
from popsnet.sweeps.store import Store
from tests.each import examples
from tests.sweeps.edits import as_format_2, change, edit, results, rows_of, with_counts

FILES = {"router_file": "", "permutation_file": ""}
ORIGIN = Provenance("slots", "0.7", "3", "2", "0", "here", FILES, 1.5, "2001-01-01T00:00:00+00:00")
EXPERIMENT = Experiment(4, 4, seed=2**64 - 1)

TEN = st.lists(st.integers(0, 10**9), min_size=10, max_size=10).map(Counter)
COUNT = st.integers(0, (2**63 - 1) // SHARD_RUNS)
ROW = st.tuples(*[COUNT] * (len(COLUMNS) - 1), st.integers(0, 1))
ROWS = st.lists(ROW, min_size=SHARD_RUNS, max_size=SHARD_RUNS)


def outcomes_of(table: npt.ArrayLike) -> Outcomes:
    none = np.empty(0, dtype=np.int64)
    return Outcomes(np.array(table, dtype=np.int64), none, none)


def ten_runs(steps: int = 3) -> Outcomes:
    counts = {"slots": steps, "slots_delivered": steps, "steps": steps}
    return outcomes_of([[counts.get(name, 0) for name in COLUMNS]] * SHARD_RUNS)


def finished(
    shard: int, outcomes: Outcomes | None = None, experiment: Experiment = EXPERIMENT
) -> Shards:
    return Shards(experiment, range(shard, shard + 1), outcomes or ten_runs(), ORIGIN)


def store_of(path: Path, *shards: Shards) -> Path:
    with Store(path, create=True) as store:
        for one in shards:
            store.put(one)
    return path


@examples(40)
@given(st.dictionaries(st.integers(0, 30), ROWS.map(outcomes_of), max_size=8))
def test_what_is_put_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory, shards: dict[int, Outcomes]
) -> None:
    path = tmp_path_factory.mktemp("store") / "r.sqlite"
    store_of(path, *(finished(shard, outcomes) for shard, outcomes in shards.items()))
    tallies = {shard: Tally.of(outcomes) for shard, outcomes in shards.items()}
    with Store(path) as store:
        assert store.experiments() == ([EXPERIMENT] if tallies else [])
        assert store.shards(EXPERIMENT) == sorted(tallies)
        assert store.flaws() == []
        assert store.missing(EXPERIMENT, 301) == [s for s in range(31) if s not in tallies]
        for shard, tally in tallies.items():
            assert store.shard(EXPERIMENT, shard) == tally
            assert store.provenance(EXPERIMENT, shard) == ORIGIN
        whole = next(s for s in range(32) if s not in tallies)
        total = sum((tallies[s] for s in range(whole)), Tally())
        assert store.unbroken(EXPERIMENT) == total
        assert store.tally(EXPERIMENT, whole * SHARD_RUNS) == total
        assert store.tally(EXPERIMENT, whole * SHARD_RUNS + 1) is None


def test_a_closed_store_is_not_called_damaged(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite", create=True) as store:
        pass
    with pytest.raises(StoreError, match=r"closed database\. Open it again"):
        store.experiments()


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    path = store_of(tmp_path / "r.sqlite", finished(0))
    with Store(path) as store:
        for ask in (store.shard, store.provenance):
            with pytest.raises(InputError, match="does not have shard 999"):
                ask(EXPERIMENT, 999)
        with pytest.raises(InputError, match="shards = -1"):
            verify(store, shards=-1)


def test_runs_are_rounded_up_to_whole_shards() -> None:
    assert [shards_of(runs) for runs in (1, 10, 11, 20, 21)] == [1, 1, 2, 2, 3]


@given(TEN)
def test_the_summary_of_a_histogram_is_that_of_its_sample(histogram: Counter[int]) -> None:
    one, other = summarize_counts(histogram), summarize(list(histogram.elements()))
    assert asdict(one) == pytest.approx(asdict(other), rel=1e-9, abs=1e-6)


def test_a_store_at_rest_is_one_file(tmp_path: Path) -> None:
    path = store_of(tmp_path / "r.sqlite", finished(0))
    assert list(tmp_path.iterdir()) == [path]
    path.chmod(0o444)
    tmp_path.chmod(0o555)
    try:
        with Store(path) as store:
            assert store.shards(EXPERIMENT) == [0]
    finally:
        tmp_path.chmod(0o755)


def test_the_same_result_twice_is_one_and_another_is_refused(tmp_path: Path) -> None:
    path = store_of(tmp_path / "r.sqlite", finished(0), finished(0))
    before = path.read_bytes()
    with Store(path, create=True) as store, pytest.raises(StoreError, match="another result"):
        store.put(finished(0, ten_runs(4)))
    assert columns_of(rows_of(path)[0])["steps"] == [3] * SHARD_RUNS
    assert len(path.read_bytes()) == len(before)


def test_merging_adds_what_is_new_once(tmp_path: Path) -> None:
    elsewhere = finished(0, experiment=EXPERIMENT.replaced(seed=1))
    one = store_of(tmp_path / "1", finished(0), finished(1))
    two = store_of(tmp_path / "2", finished(1), finished(3), elsewhere)
    both = store_of(tmp_path / "12", elsewhere, *(finished(shard) for shard in (3, 1, 0)))
    for new in (2, 0):
        with Store(one, create=True) as store, Store(two) as other:
            assert store.merge(other) == new
        assert results(one) == results(both)


def test_a_conflict_stops_a_merge_before_anything_is_taken(tmp_path: Path) -> None:
    one = store_of(tmp_path / "1", finished(5))
    two = store_of(tmp_path / "2", finished(0), finished(5, ten_runs(4)), finished(6))
    before = results(one)
    with (
        Store(one, create=True) as store,
        Store(two) as other,
        pytest.raises(StoreError, match="another result for shard 5"),
    ):
        store.merge(other)
    assert results(one) == before


FLAWS: dict[str, tuple[Callable[[Result], Result], str]] = {
    "runs": (lambda row: row._replace(runs=9), "has 9 runs"),
    "a shard below 0": (lambda row: row._replace(first=row.first - 10), "numbered from 0"),
    "a run between": (lambda row: row._replace(first=row.first + 1), "numbered from 0"),
    "a column": (lambda row: with_counts(row, steps=[3] * 9), "cannot be read"),
    "a negative count": (lambda row: with_counts(row, messages=-1), "cannot be read"),
    "text for a number": (lambda row: with_counts(row, lost="x"), "cannot be read"),
    "caps": (lambda row: with_counts(row, capped=11), "cannot be read"),
    "an empty body": (lambda row: row._replace(body=b""), "cannot be read"),
    "another kind": (lambda row: row._replace(kind="x"), "of the unknown kind x"),
    "provenance": (lambda row: row._replace(provenance="{}"), "provenance that cannot be read"),
    "no name": (lambda row: row._replace(digest="x"), "its row in the table experiments is"),
}


@pytest.mark.parametrize("hashed", [False, True])
@pytest.mark.parametrize("kind", FLAWS)
def test_what_contradicts_itself_is_found_and_not_merged(
    kind: str, hashed: bool, tmp_path: Path
) -> None:
    path = store_of(tmp_path / "r.sqlite", finished(0), finished(1))
    flawed, complaint = FLAWS[kind]
    edit(path, flawed, hashed=hashed)
    require_flaw(path, complaint)


OLD_FLAWS = {
    "runs": ("UPDATE shards SET runs = 9", "has 9 runs"),
    "a shard below 0": ("UPDATE shards SET shard = -1 WHERE shard = 1", "numbered from 0"),
    "a histogram": ("UPDATE shards SET steps = '{\"3\": 9}'", "its digest does not match"),
    "no histogram": ("UPDATE shards SET lost = '[]'", "cannot be read"),
    "caps": ("UPDATE shards SET capped = 11", "its digest does not match"),
    "another seed": ("UPDATE points SET seed = '5'", "does not match its parameters (expected "),
    "no seed": ("UPDATE points SET seed = 'x'", "cannot be read"),
    "an orphan": ("DELETE FROM points", "its row in the table experiments is missing"),
    "no provenance": ("DELETE FROM provenance", "has provenance that cannot be read"),
    "no shard": ("DELETE FROM shards WHERE shard = 1", "cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("kind", OLD_FLAWS)
def test_flaws_of_stores_of_format_2_are_found(kind: str, tmp_path: Path) -> None:
    path = as_format_2(store_of(tmp_path / "r.sqlite", finished(0), finished(1)))
    statement, complaint = OLD_FLAWS[kind]
    change(path, statement)
    require_flaw(path, complaint)
    before = path.read_bytes()
    with Store(path, create=True) as store, pytest.raises(StoreError, match="results rescue"):
        store.put(finished(2))
    assert path.read_bytes() == before
    assert list(tmp_path.glob("*.format2*")) == []


def require_flaw(path: Path, complaint: str) -> None:
    with Store(path) as store:
        assert any(complaint in flaw for flaw in store.flaws()), store.flaws()
        with (
            Store(path.with_name("new"), create=True) as new,
            pytest.raises(StoreError, match="contrad"),
        ):
            new.merge(store)


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE cats (name TEXT)")
    database.close()


def newer(path: Path) -> None:
    store_of(path, finished(0))
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
    database.close()


def older(path: Path) -> None:
    """As the first format was, which did not keep the slot of the last delivery."""
    as_format_2(store_of(path, finished(0)))
    with sqlite3.connect(path) as database:
        database.execute("ALTER TABLE shards DROP COLUMN slots_delivered")
        database.execute("PRAGMA user_version = 1")
    database.close()


def torn(path: Path) -> None:
    store_of(path, *(finished(shard) for shard in range(200)))
    path.write_bytes(path.read_bytes()[:-5000])


def scribbled(path: Path) -> None:
    store_of(path, *(finished(shard) for shard in range(200)))
    content = bytearray(path.read_bytes())
    content[8192:12288] = b"\x55" * 4096
    path.write_bytes(content)


NO_STORES: dict[str, tuple[Callable[[Path], object], str]] = {
    "text": (lambda path: path.write_text("d,g\n1,2\n"), "not a store"),
    "a few bytes": (lambda path: path.write_bytes(b"SQLite"), "not a store"),
    "foreign": (foreign, "a database of another program"),
    "newer": (newer, "has format 99, and this popsnet reads 3 and 2"),
    "older": (older, "has format 1, and this popsnet reads 3 and 2. Use the popsnet that wrote it"),
    "torn": (torn, "damaged"),
    "scribbled": (scribbled, "damaged"),
    "a folder": (Path.mkdir, "folder|no store"),
}


@pytest.mark.parametrize("create", [False, True])
@pytest.mark.parametrize("kind", NO_STORES)
def test_what_is_no_store_is_refused_and_left_alone(
    kind: str, create: bool, tmp_path: Path
) -> None:
    make, complaint = NO_STORES[kind]
    path = tmp_path / "r.sqlite"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(InputError, match=complaint):
        Store(path, create=create)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_nothing_and_an_empty_file_can_become_a_store_but_hold_none(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    with pytest.raises(StoreError, match=r"The store .* does not exist"):
        Store(path)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreError, match="is empty"):
        Store(path)
    store_of(path, finished(0))
    assert len(results(path)[1]) == 1


def test_a_name_with_signs_of_its_own_is_a_name(tmp_path: Path) -> None:
    path = store_of(tmp_path / "a?mode=ro#%20b.sqlite", finished(0))
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


BASE = Experiment(4, 4)
OTHERS = {
    "d": Experiment(8, 4, variant="idealized"),
    "router": Experiment(4, 4, router="direct"),
    "variant": Experiment(4, 4, variant="idealized"),
    "permutation": Experiment(4, 4, permutation="shift"),
    "seed": Experiment(4, 4, seed=1),
    "permutation seed": Experiment(4, 4, permutation_seed=1),
    "max steps": Experiment(4, 4, max_steps=9),
    "version": BASE.replaced(router=replace(BASE.resolved_router, version="2")),
}


def test_what_affects_a_result_changes_the_identity_and_nothing_else() -> None:
    digests = {one.digest for one in (BASE, *OTHERS.values())}
    assert len(digests) == len(OTHERS) + 1
    runs = [route(BASE, engine=engine)[0] for engine in ("slots", "fused")]
    assert {run.experiment.digest for run in runs} == {BASE.digest}


def test_the_name_of_a_point_stays_what_it_is() -> None:
    """Or the stores there are would be of no use."""
    one = Experiment.recorded((4, 8, "router", "1", "variant", "random", 0, 2**64 - 1, 1000))
    assert one.digest == "799e738319e38d392a117c611695ad9c"


def test_a_permutation_from_a_file_is_known_by_its_bytes(tmp_path: Path) -> None:
    points = []
    for name, values in (("a", range(16)), ("b", range(16)), ("c", range(15, -1, -1))):
        np.save(tmp_path / f"{name}.npy", np.array(values))
        points.append(Experiment(4, 4, permutation=tmp_path / f"{name}.npy"))
    one, same, other = points
    assert one == same != other
    assert str(tmp_path) not in one.permutation


def test_a_router_from_a_file_is_known_by_what_it_does(tmp_path: Path) -> None:
    text = (
        "from popsnet import Slot, register\n"
        "@register('known-by-text', summary='', slots='', buffers=1)\n"
        "def route(network, destination, coins, memory):\n"
        "    yield Slot()\n"
    )
    described = f'"""Mine."""\n\n{text}  # edited\n'.replace("    yield", '  "Run."\n\n  yield')
    digests = []
    for version in (text, text, described, text + "X = f'{1:{2}}'\n", described + "__doc__\n"):
        (tmp_path / "r.py").write_text(version)
        digests.append(Experiment(4, 4, router=tmp_path / "r.py").digest)
    assert digests[0] == digests[1] == digests[2]
    assert len({*digests}) == 3
    assert code_digest(text.encode()) == "e6105390ecc8f0e8", "the same for every version of Python"
    for no_program in (b"\0x", b"x = (", b"x = 0x" + b"f" * 9999):
        assert len(code_digest(no_program)) == 16
    assert find_router(str(tmp_path / "r.py")).file == str(tmp_path / "r.py")
    unregister("known-by-text")


def test_shards_are_the_runs_of_the_point(tmp_path: Path) -> None:
    """By the engine that executes every message, one run after another."""
    for name, point in OTHERS.items():
        if name == "version":
            continue
        with Store(tmp_path / name, create=True) as store:
            collect([(point, 25)], store=store)
            runs = route(point, runs=30, engine="slots")
            assert store.tally(point, 25) == runs.tally
            assert store.tally(point, 20) == runs[:20].tally
            assert store.experiments()[0].network == Network(point.d, point.g)
