"""Rows of single runs: kept beside the histograms, exported, and absent from older stores."""

from __future__ import annotations

import csv
import json
import sqlite3
from pathlib import Path

import msgspec
import numpy as np
import pytest
from pyarrow import parquet

from popsnet import Experiment, InputError, Store, collect, route, verify
from popsnet.engines.outcome import COLUMNS
from popsnet.errors import StoreError
from popsnet.sweeps import Selection
from popsnet.sweeps.rows import RUN_COLUMNS, counts_of, run_rows
from popsnet.sweeps.shard import Shards, execute_shards

EXPERIMENTS = [Experiment(4, 4, seed=2**64 - 1), Experiment(6, 3, router="direct")]
CAPPED = Experiment(8, 8, max_steps=4)
WITHOUT_RUNS = "DROP TABLE runs", "DROP TABLE digests"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "r.sqlite"
    collect([*EXPERIMENTS, CAPPED], runs=30, store=path, progress=False)
    return path


def change(path: Path, *statements: str) -> None:
    with sqlite3.connect(path) as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def test_rows_are_the_runs_by_number(store: Path) -> None:
    with Store(store) as opened:
        for experiment in (*EXPERIMENTS, CAPPED):
            table, runs = opened.runs(experiment), route(experiment, runs=30, engine="slots")
            assert table.numbers.tolist() == list(range(30))
            for name in RUN_COLUMNS:
                expected = runs.outcomes.column(name)
                assert table.column(name).tolist() == expected.tolist(), name
        assert 0 < opened.runs(CAPPED).column("capped").sum() < 30
        with pytest.raises(InputError, match="name = 'seconds'"):
            opened.runs(CAPPED).column("seconds")


def test_exports_say_the_same_with_a_row_per_run(store: Path, tmp_path: Path) -> None:
    with Store(store) as opened:
        records = opened.to_records(per_run=True)
        frame = opened.to_dataframe(per_run=True)
        for name in ("r.csv", "r.json", "r.parquet"):
            assert opened.export(tmp_path / name, per_run=True) == 90
        some = opened.to_records(Selection(router="direct"), per_run=True)
    assert [one for one in records if one["router"] == "direct"] == some
    assert len(records) == 90
    assert frame.to_dict("records") == records
    assert json.loads((tmp_path / "r.json").read_text()) == {"runs": records}
    assert parquet.read_table(tmp_path / "r.parquet").to_pylist() == records
    with (tmp_path / "r.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows == [{key: str(value) for key, value in one.items()} for one in records]
    assert {one["seed"] for one in records} == {0, 2**64 - 1}


def test_rows_beyond_a_gap_are_left_out(store: Path) -> None:
    tables = ("provenance", "runs", "shards", "digests")
    change(store, *(f"DELETE FROM {table} WHERE shard = 1" for table in tables))
    with Store(store) as opened:
        assert [len(opened.runs(one)) for one in EXPERIMENTS] == [10, 10]
        assert opened.runs_without_counts() == (0, 0)
        assert opened.runs_not_counted() == 30
        assert opened.runs_not_counted(Selection(router="direct")) == 10
        assert verify(opened, 0, progress=False).flaws == ()


def test_a_store_of_popsnet_0_1_is_read_and_continued(store: Path, tmp_path: Path) -> None:
    change(store, *WITHOUT_RUNS, "UPDATE provenance SET popsnet = '0.1.0'")
    with Store(store) as opened:
        assert opened.flaws() == []
        assert opened.unbroken(CAPPED).runs == 30
        assert (len(opened.runs(CAPPED)), opened.runs_without_counts()) == (0, (90, 0))
        assert verify(opened, progress=False).flaws == ()
        with pytest.raises(InputError, match=r"popsnet 0\.1 kept histograms only"):
            opened.export(tmp_path / "r.csv", per_run=True)
        with Store(tmp_path / "new", create=True) as new:
            assert new.merge(opened) == 9
    collect([(CAPPED, 50)], store=store)
    with Store(store) as opened:
        assert opened.runs(CAPPED).numbers.tolist() == list(range(30, 50))
        assert opened.runs_without_counts() == (90, 0)
        assert verify(opened, progress=False).flaws == ()


def test_rows_that_were_deleted_are_a_flaw(store: Path) -> None:
    """The shard's provenance says that this popsnet kept them."""
    change(store, f"DELETE FROM runs WHERE point = '{CAPPED.digest}' AND shard = 1")
    with Store(store) as opened:
        (flaw,) = opened.flaws()
        assert f"Shard 1 of experiment {CAPPED.digest} has lost its single runs" in flaw
        with pytest.raises(StoreError, match=r"Shard 1 .* has no row in the table runs"):
            opened.runs_without_counts()
    change(store, "DROP TABLE digests")
    with Store(store) as opened:
        assert len(opened.flaws()) == 1
        assert opened.runs_without_counts() == (0, 10)


def test_merging_adds_rows_that_were_not_kept(store: Path, tmp_path: Path) -> None:
    collect([CAPPED], runs=20, store=tmp_path / "new")
    change(store, *WITHOUT_RUNS)
    with Store(store, create=True) as opened, Store(tmp_path / "new") as other:
        assert opened.merge(other) == 0
        assert opened.runs(CAPPED).numbers.tolist() == list(range(20))


def test_rows_that_contradict_the_shard_are_found(store: Path) -> None:
    with Store(store) as opened:
        runs = {row[:2]: row for row in opened.rows("runs")}
    (point, shard), other = (CAPPED.digest, 0), runs[CAPPED.digest, 1][2]
    where = f"WHERE point = '{point}' AND shard = {shard}"
    for value in (f"x'{other.hex()}'", "x'00'", "'text'"):
        change(store, f"UPDATE runs SET counts = {value} {where}")
        with Store(store) as opened:
            (flaw,) = opened.flaws()
            assert f"hard 0 of experiment {point}" in flaw


def test_other_runs_with_the_same_sums_are_found(store: Path) -> None:
    """Runs in another order have the same histograms: without a digest, only a new run tells."""
    with Store(store, create=True) as opened:
        (counts,) = (row[2] for row in opened.rows("runs") if row[:2] == (EXPERIMENTS[0].digest, 0))
    swapped = [one if isinstance(one, int) else one[::-1] for one in msgspec.msgpack.decode(counts)]
    text = msgspec.msgpack.encode(swapped).hex()
    change(
        store,
        f"UPDATE runs SET counts = x'{text}' WHERE point = '{EXPERIMENTS[0].digest}' AND shard = 0",
    )
    with Store(store) as opened:
        (flaw,) = opened.flaws()
        assert flaw == (
            f"Shard 0 of experiment {EXPERIMENTS[0].digest} was changed: its digest does not match "
            "its rows."
        )
    change(store, "DROP TABLE digests")
    with Store(store, create=True) as opened:
        assert opened.flaws() == []
        (flaw,) = verify(opened, progress=False).flaws
        assert "has other single runs in the store" in flaw
        with pytest.raises(StoreError, match="another result for shard 0"):
            opened.put(_again(EXPERIMENTS[0]))


def _again(experiment: Experiment) -> Shards:
    return execute_shards(experiment, range(1))


def test_large_counts_come_back() -> None:
    shards = _again(CAPPED)
    table = np.array(shards.outcomes.table)
    messages = COLUMNS.index("messages")
    table[:, messages] = 2**62 + np.arange(10)
    changed = type(shards.outcomes)(table, *(np.empty(0, np.int64),) * 2)
    rows = run_rows(type(shards)(CAPPED, range(1), changed, shards.provenance))
    assert counts_of(rows)[:, RUN_COLUMNS.index("messages")].tolist() == table[:, messages].tolist()
