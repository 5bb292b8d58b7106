"""Rows of single runs: kept beside the histograms, exported, and absent from older stores."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest
from pyarrow import parquet

from popsnet import Experiment, InputError, Store, collect, route, verify
from popsnet.base.errors import StoreError
from popsnet.engines.outcome import COLUMNS
from popsnet.sweeps import Selection
from popsnet.sweeps.kind import Result, ResultBatch
from popsnet.sweeps.rows import SHARD
from popsnet.sweeps.shard import FAULT_COLUMNS, RUN_COLUMNS, table_of
from tests.sweeps.edits import as_format_2, change, edit

EXPERIMENTS = [Experiment(4, 4, seed=2**64 - 1), Experiment(6, 3, router="direct")]
CAPPED = Experiment(8, 8, max_steps=4)
WITHOUT_RUNS = "DROP TABLE runs", "DROP TABLE digests"


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "r.sqlite"
    collect([*EXPERIMENTS, CAPPED], runs=30, store=path, progress=False)
    return path


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
    assert json.loads((tmp_path / "r.json").read_text()) == {"outcomes": records}
    assert parquet.read_table(tmp_path / "r.parquet").to_pylist() == records
    with (tmp_path / "r.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows == [{key: str(value) for key, value in one.items()} for one in records]
    assert {one["seed"] for one in records} == {0, 2**64 - 1}


def test_rows_beyond_a_gap_are_left_out(store: Path) -> None:
    change(store, "DELETE FROM results WHERE first = 10")
    with Store(store) as opened:
        assert [len(opened.runs(one)) for one in EXPERIMENTS] == [10, 10]
        assert opened.runs_without_counts() == (0, 0)
        assert opened.runs_not_counted() == 30
        assert opened.runs_not_counted(Selection(router="direct")) == 10
        assert verify(opened, 0, progress=False).flaws == ()


def test_a_store_of_popsnet_0_1_is_read_and_continued(store: Path, tmp_path: Path) -> None:
    change(as_format_2(store), *WITHOUT_RUNS, "UPDATE provenance SET popsnet = '0.1.0'")
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
    change(as_format_2(store), f"DELETE FROM runs WHERE point = '{CAPPED.digest}' AND shard = 1")
    with Store(store) as opened:
        (flaw,) = opened.flaws()
        assert f"Shard 1 of experiment {CAPPED.digest} has lost its single runs" in flaw
        with pytest.raises(StoreError, match=r"Shard 1 .* its digest does not match"):
            opened.runs_without_counts()
    change(store, "DROP TABLE digests")
    with Store(store) as opened:
        assert len(opened.flaws()) == 1
        assert opened.runs_without_counts() == (0, 10)


def test_merging_adds_rows_that_were_not_kept(store: Path, tmp_path: Path) -> None:
    collect([CAPPED], runs=20, store=tmp_path / "new")
    change(as_format_2(store), *WITHOUT_RUNS, "UPDATE provenance SET popsnet = '0.1.0'")
    with Store(store, create=True) as opened, Store(tmp_path / "new") as other:
        assert opened.merge(other) == 0
        assert opened.runs(CAPPED).numbers.tolist() == list(range(20))


def test_rows_that_contradict_the_shard_are_found(store: Path) -> None:
    as_format_2(store)
    with closing(sqlite3.connect(store)) as database:
        query = "SELECT counts FROM runs WHERE point = ? AND shard = 1"
        ((other,),) = database.execute(query, (CAPPED.digest,)).fetchall()
    where = f"WHERE point = '{CAPPED.digest}' AND shard = 0"
    change(store, "DROP TABLE digests")
    for value in (f"x'{other.hex()}'", "x'00'", "'text'"):
        change(store, f"UPDATE runs SET counts = {value} {where}")
        with Store(store) as opened:
            (flaw,) = opened.flaws()
            assert f"hard 0 of experiment {CAPPED.digest}" in flaw


def test_other_runs_with_the_same_sums_are_found(store: Path) -> None:
    """Runs in another order have the same histograms: without a digest, only a new run tells."""

    def swapped(row: Result) -> Result:
        if row[:3] != (EXPERIMENTS[0].digest, "shard", 0):
            return row
        body = msgspec.msgpack.decode(bytes(row.body))  # type: ignore[arg-type]
        other = {name: ten[::-1] if isinstance(ten, list) else ten for name, ten in body.items()}
        return row._replace(body=msgspec.msgpack.encode(other))

    edit(store, swapped)
    with Store(store) as opened:
        (flaw,) = opened.flaws()
        assert flaw == (
            f"Shard 0 of experiment {EXPERIMENTS[0].digest} was changed: its digest does not match "
            "its row."
        )
    edit(store, lambda row: row._replace(hash=""))
    with Store(store, create=True) as opened:
        assert opened.flaws() == []
        (flaw,) = verify(opened, progress=False).flaws
        assert "other single runs in the store than when run again" in flaw
        with pytest.raises(StoreError, match="another result for shard 0"):
            opened.put(_again(EXPERIMENTS[0]))


def _again(experiment: Experiment) -> ResultBatch:
    return SHARD.execute(experiment, range(1))


def test_large_counts_come_back() -> None:
    shards = _again(CAPPED)
    table = np.array(shards.outcome.table)
    messages = COLUMNS.index("messages")
    table[:, messages] = 2**62 + np.arange(10)
    changed = type(shards.outcome)(table, *(np.empty(0, np.int64),) * 2)
    rows = type(shards)(CAPPED, range(1), changed, shards.provenance).rows()
    assert table_of(rows, ["messages"])[:, 0].tolist() == table[:, messages].tolist()


FAULTY = Experiment(4, 4, router="direct", faults="coupler:0-1 loss:0.05", fault_seed=3)


def test_counts_of_runs_with_faults_are_kept(tmp_path: Path) -> None:
    """A shard names its counts, so that runs with faults have five more."""
    experiments = [FAULTY, Experiment(8, 2, router="relay", wavelengths=2), EXPERIMENTS[1]]
    collect(experiments, runs=20, store=tmp_path / "r", progress=False)
    with Store(tmp_path / "r") as opened:
        table, runs = opened.runs(FAULTY), route(FAULTY, runs=20)
        for name in (*RUN_COLUMNS, *FAULT_COLUMNS):
            assert table.column(name).tolist() == runs.outcomes.column(name).tolist(), name
        assert table.column("unheard").sum() > 0
        assert opened.gathered(FAULTY).faults == dict(runs.outcomes.fault_counts)
        assert verify(opened, progress=False).compared == 6
        records = opened.to_records()
        assert [one["faults"] for one in records] == ["", FAULTY.faults, ""]
        assert {one["wavelengths"] for one in records} == {1, 2}
        assert records[1]["unheard"] == runs.outcomes.fault_counts["unheard"]
        for name in ("r.csv", "r.json", "r.parquet"):
            assert opened.export(tmp_path / name, per_run=True) == 60
        several = opened.to_records(per_run=True)
        assert opened.to_dataframe(per_run=True).to_dict("records") == several
    assert json.loads((tmp_path / "r.json").read_text()) == {"outcomes": several}
    assert parquet.read_table(tmp_path / "r.parquet").to_pylist() == several
    with (tmp_path / "r.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert rows == [{key: str(value) for key, value in one.items()} for one in several]
