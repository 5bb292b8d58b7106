"""Results as rows, one per experiment, for files that other programs read."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from popsnet.engines import Tally
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.files import require_writable, write_whole
from popsnet.report import Table
from popsnet.stats.inference import summarize_counts


def row_of(experiment: Experiment, tally: Tally) -> dict[str, Any]:
    """Return an experiment and figures of its runs, if there are any, as one row."""
    row: dict[str, Any] = {
        "experiment": experiment.digest,
        "d": experiment.d,
        "g": experiment.g,
        "n": experiment.network.n,
        **{name: value for name, value in experiment.identity.items() if name not in "dg"},
        "runs": tally.runs,
        "capped": tally.capped,
    }
    if not tally.runs:
        return row
    for name in ("steps", "slots", "slots_delivered"):
        one = summarize_counts(tally.histograms[name])
        row |= {f"{name}_mean": one.mean, f"{name}_sd": one.sd}
        row |= {f"{name}_min": one.min, f"{name}_max": one.max}
    lost = summarize_counts(tally.lost)
    total = sum(packets * runs for packets, runs in tally.lost.items())
    row |= {"lost": total, "lost_mean": lost.mean, "lost_max": lost.max}
    row |= {name: getattr(tally, name) for name in ("collisions", "destroyed", "messages")}
    return row | {
        f"{name}_histogram": {str(value): one[value] for value in sorted(one)}
        for name, one in tally.histograms.items()
    }


def export(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Write rows to a file, whole; its ending says how."""
    write = FORMATS.get(path.suffix.lower())
    if write is None:
        raise InputError(f"{path}: results are written to files ending in {', '.join(FORMATS)}.")
    if not rows:
        raise InputError(f"There are no results to write to {path}; a sweep makes some.")
    require_writable(path)
    content = write(rows)
    with write_whole(path) as file:
        file.buffer.write(content)


def _as_json(rows: Sequence[dict[str, Any]]) -> bytes:
    return (json.dumps({"experiments": list(rows)}, indent=2) + "\n").encode()


def _as_csv(rows: Sequence[dict[str, Any]]) -> bytes:
    return Table("experiments", "", (), rows).csv().encode()


def _as_parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    """Histograms are texts, as in a CSV file."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            f"Parquet needs pyarrow ({error}): pip install 'popsnet[parquet]', or export to .csv "
            "or .json."
        ) from error
    seeds = {"seed": pa.uint64(), "permutation_seed": pa.uint64()}
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    for name in columns:
        if name.endswith("_histogram"):
            columns[name] = [json.dumps(one) for one in columns[name]]
    arrays = {name: pa.array(one, type=seeds.get(name)) for name, one in columns.items()}
    sink = io.BytesIO()
    parquet.write_table(pa.table(arrays), sink)
    return sink.getvalue()


FORMATS = {".csv": _as_csv, ".json": _as_json, ".parquet": _as_parquet}
