"""Exports: a row per experiment or a row per run, as CSV, JSON or Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO, TypeAlias

import numpy as np
import numpy.typing as npt

from popsnet.base.errors import InputError, how_to_install
from popsnet.base.files import require_writable, write_whole
from popsnet.base.report import Table, write_csv
from popsnet.base.report.table import nest
from popsnet.runs.summary import experiment_columns
from popsnet.runs.traffic_result import NESTED, OF_FAULTS
from popsnet.sweeps.rows import SHARD, WINDOW
from popsnet.sweeps.shard import FAULT_COLUMNS, RUN_COLUMNS, RunTable

_Write: TypeAlias = Callable[[Any, TextIO], None]


_ABSENT: Mapping[str, Any] = {
    **SHARD.experiment.spelling.defaults,
    **WINDOW.experiment.spelling.defaults,
    **dict.fromkeys((*FAULT_COLUMNS, *OF_FAULTS), 0),
}
"""What rows of experiments without a feature have where others have its columns."""


def uniform(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows that all have the columns that any of them has, in the same order."""
    listed = list(rows)
    longest = max(listed, key=len, default={})
    keys = [*longest, *dict.fromkeys(key for row in listed for key in row if key not in longest)]
    return [{key: row.get(key, _ABSENT.get(key)) for key in keys} for row in listed]


_KEYS = {"results": "experiments", "points of traffic": "traffic"}
"""What is written, and its key in JSON."""


def export_records(what: str, rows: Sequence[dict[str, Any]], path: Path, reason: str) -> int:
    """Write a row per experiment or per point to a file, whole; its ending says how."""
    if not rows:
        raise InputError(f"There are no {what} to write to {path}. {reason}")
    write_json = partial(_json, _KEYS[what])
    _write({".csv": _csv, ".json": write_json, ".parquet": _records_parquet}, rows, path)
    return len(rows)


def export_runs(tables: Sequence[RunTable], path: Path, reason: str) -> int:
    """Write a row per run to a file, whole; its ending says how."""
    count = sum(map(len, tables))
    if not count:
        if any(table.deleted for table in tables):
            reason = "They were deleted; popsnet results verify says which."
        elif any(table.without for table in tables):
            reason = "popsnet 0.1 kept histograms only. Run the sweep again into a new store."
        raise InputError(f"There are no single runs to write to {path}. {reason}")
    _write(_RUNS, tables, path)
    return count


def _write(formats: dict[str, _Write], rows: Any, path: Path) -> None:
    write = formats.get(path.suffix.lower())
    if write is None:
        raise InputError(f"{path}: results are written to files ending in {', '.join(formats)}.")
    require_writable(path)
    with write_whole(path) as file:
        write(rows, file)


def _json(key: str, rows: Sequence[dict[str, Any]], file: TextIO) -> None:
    json.dump({key: [nest(row, NESTED) for row in rows]}, file, indent=2)
    file.write("\n")


def _csv(rows: Sequence[dict[str, Any]], file: TextIO) -> None:
    file.write(Table("experiments", "", (), rows).csv())


def _records_parquet(rows: Sequence[dict[str, Any]], file: TextIO) -> None:
    """Write histograms as texts, as in a CSV file."""
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    histograms = {name: column for name, column in columns.items() if name.endswith("_histogram")}
    texts = {name: list(map(json.dumps, column)) for name, column in histograms.items()}
    _parquet(columns | texts, file)


def _records(tables: Sequence[RunTable]) -> Iterator[dict[str, Any]]:
    """Yield all runs with the same columns, which the first run of each experiment shows."""
    first = uniform(record for table in tables for record in islice(table.records(), 1))
    keys = list(first[0])
    for table in tables:
        for record in table.records():
            yield {key: record.get(key, _ABSENT.get(key)) for key in keys}


def _runs_json(tables: Sequence[RunTable], file: TextIO) -> None:
    """Write a line per run, inside one JSON object."""
    records = map(json.dumps, _records(tables))
    file.write(f'{{"outcomes": [\n{next(records)}')
    file.writelines(f",\n{record}" for record in records)
    file.write("\n]}\n")


def _runs_csv(tables: Sequence[RunTable], file: TextIO) -> None:
    records = _records(tables)
    first = next(records)
    write_csv(chain([first, first.values()], (record.values() for record in records)), file)


def run_columns(tables: Sequence[RunTable]) -> dict[str, npt.NDArray[Any]]:
    """Return all runs as columns."""
    rows = uniform(experiment_columns(table.experiment, table.version) for table in tables)
    lengths = [len(table) for table in tables]
    columns: dict[str, npt.NDArray[Any]] = {
        name: np.repeat(_values([row[name] for row in rows], name), lengths)
        for name in (rows[0] if rows else ())
    }
    columns["run"] = np.concatenate([np.empty(0, np.int64), *(table.numbers for table in tables)])
    counts = max((table.names for table in tables), key=len, default=RUN_COLUMNS)
    zeros = (dict.fromkeys(counts, np.zeros(length, np.int64)) for length in lengths)
    parts = [none | table.columns for none, table in zip(zeros, tables, strict=True)]
    for name in (*counts, "seconds", "engine"):
        columns[name] = np.concatenate([part[name] for part in parts] or [np.empty(0)])
    return columns


def _runs_parquet(tables: Sequence[RunTable], file: TextIO) -> None:
    _parquet(run_columns(tables), file)


_SEEDS = ("seed", "permutation_seed", "arrival_seed", "fault_seed")


def _values(values: list[Any], name: str) -> npt.NDArray[Any]:
    kind = object if isinstance(values[0], str) else np.uint64 if name in _SEEDS else np.int64
    return np.array(values, dtype=kind)


def _parquet(columns: dict[str, Any], file: TextIO) -> None:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            f"Parquet needs pyarrow ({error}). {how_to_install('parquet')} Or export to .csv or "
            ".json."
        ) from error
    kinds = dict.fromkeys(_SEEDS, pa.uint64())
    arrays = {name: pa.array(column, type=kinds.get(name)) for name, column in columns.items()}
    sink = io.BytesIO()
    parquet.write_table(pa.table(arrays), sink)
    file.buffer.write(sink.getvalue())


_RUNS: dict[str, _Write] = {".csv": _runs_csv, ".json": _runs_json, ".parquet": _runs_parquet}
