"""Results as a table: one row a point, for files that other programs read."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from popsnet.engines import Tally
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.files import require_writable, write_whole
from popsnet.stats.inference import summarize_counts

__all__ = ["FORMATS", "export", "row_of"]


def row_of(experiment: Experiment, tally: Tally) -> dict[str, Any]:
    """Return an experiment and figures of its runs as one row."""
    row: dict[str, Any] = {
        "point": experiment.digest,
        "d": experiment.d,
        "g": experiment.g,
        "n": experiment.network.n,
        **{name: value for name, value in experiment.identity.items() if name not in "dg"},
        "runs": tally.runs,
        "capped": tally.capped,
    }
    for name in ("steps", "slots", "slots_delivered"):
        one = summarize_counts(tally.histograms[name])
        row |= {f"{name}_mean": one.mean, f"{name}_sd": one.sd}
        row |= {f"{name}_min": one.min, f"{name}_max": one.max}
    lost = summarize_counts(tally.lost)
    row |= {"lost_mean": lost.mean, "lost_max": lost.max, "collisions": tally.collisions}
    row |= {"destroyed": tally.destroyed, "messages": tally.messages}
    return row | {f"{name}_histogram": _plain(one) for name, one in tally.histograms.items()}


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


def _plain(histogram: Counter[int]) -> dict[str, int]:
    return {str(value): histogram[value] for value in sorted(histogram)}


def _flat(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Histograms as text, for tables that have none."""
    return [
        {key: json.dumps(value) if isinstance(value, dict) else value for key, value in row.items()}
        for row in rows
    ]


def _as_json(rows: Sequence[dict[str, Any]]) -> bytes:
    return (json.dumps({"points": list(rows)}, indent=2) + "\n").encode()


def _as_csv(rows: Sequence[dict[str, Any]]) -> bytes:
    text = io.StringIO()
    table = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    table.writeheader()
    table.writerows(_flat(rows))
    return text.getvalue().encode()


def _as_parquet(rows: Sequence[dict[str, Any]]) -> bytes:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise InputError(
            f"Parquet needs pyarrow ({error}): pip install 'popsnet[parquet]', or export to .csv "
            "or .json."
        ) from error
    flat = _flat(rows)
    seeds = {"seed": pa.uint64(), "permutation_seed": pa.uint64()}
    columns = {
        name: pa.array([row[name] for row in flat], type=seeds.get(name)) for name in flat[0]
    }
    sink = io.BytesIO()
    parquet.write_table(pa.table(columns), sink)
    return sink.getvalue()


FORMATS = {".csv": _as_csv, ".json": _as_json, ".parquet": _as_parquet}
