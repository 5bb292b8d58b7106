"""What a store has, as it is shown and exported: all experiments, one of them, or a sweep's."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from popsnet.engines.outcome import HISTOGRAMS, TOTALS, Tally
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.files import require_writable, write_whole
from popsnet.report import Column, Fact, Report, Row, Table, counted
from popsnet.report.table import NOTHING, ColumnKind, shown
from popsnet.runs.summary import LABELS
from popsnet.stats.inference import summarize_counts
from popsnet.sweeps.shard import SHARD_RUNS, Provenance, shards_of

if TYPE_CHECKING:
    from popsnet.sweeps.store import Store
    from popsnet.sweeps.sweep import Sweep

_SHORT = 6
"""Characters of an experiment's name that a list shows."""


def store_report(store: Store) -> Report:
    """Return all experiments of a store, with the means of their runs."""
    rows = [row_of(one, store.unbroken(one)) for one in store.experiments()]
    name = Column("experiment", "name", show=lambda row: row["experiment"][:_SHORT])
    table = Table("experiments", "", (name, *_COLUMNS), rows)
    count = f"{counted(len(rows), 'experiment')} in {store.path}."
    return Report("", (Fact("store", str(store.path)),), (table, count))


def sweep_report(sweep: Sweep, store: Store) -> Report:
    """Return the experiments of a sweep: labelled, with what is missing and what was skipped."""
    rows = [
        _wanted_row(experiment, runs, label, store)
        for (experiment, runs), label in zip(sweep.wanted, sweep.labels, strict=True)
    ]
    label = (Column("label", kind="text"),) if any(sweep.labels) else ()
    notes = [f"Results are in {store.path}."]
    if sweep.skipped:
        skipped = "".join(f"\n  {text}" for text in sweep.skipped)
        notes.insert(0, f"Skipped: {len(sweep.skipped):,} that do not apply:{skipped}")
    if any(runs % SHARD_RUNS for runs in sweep.runs):
        notes.insert(0, f"Runs are rounded up to whole shards of {SHARD_RUNS}.")
    facts = Fact("store", str(store.path)), Fact("skipped", list(sweep.skipped))
    return Report("", facts, (Table("experiments", "", (*label, *_COLUMNS), rows), *notes))


def _wanted_row(experiment: Experiment, runs: int, label: str, store: Store) -> dict[str, Any]:
    """An experiment with the figures of the runs that are there."""
    missing = len(store.missing(experiment, runs)) * SHARD_RUNS
    tally = store.tally(experiment, runs) or store.unbroken(experiment)
    wanted = {"label": label, "runs_wanted": runs, "runs_missing": missing}
    return {**wanted, **row_of(experiment, tally)}


def experiment_report(store: Store, name: str) -> Report:
    """Return the experiment whose name begins so: histograms, and where and when it was run."""
    experiment = store.find(name)
    shards, tally = store.shards(experiment), store.unbroken(experiment)
    origins = [store.provenance(experiment, shard) for shard in shards]
    row = row_of(experiment, tally)
    labels = {key: _LABELS.get(key, ("", "integer")) for key in row}
    labels |= {key: (key.replace("_", " "), "text") for key in experiment.identity}
    facts = [Fact(key, value, *labels[key]) for key, value in row.items()]
    notes = [
        f"Runs by {LABELS[name]}: "
        + ", ".join(f"{value:,}: {runs:,}" for value, runs in sorted(one.items()))
        for name, one in tally.histograms.items()
        if one
    ]
    if beyond := len(shards) - tally.runs // SHARD_RUNS:
        notes.append(f"Not counted, beyond a shard that is missing: {beyond:,}.")
    pairs = zip(shards, origins, strict=True)
    done = Table("shards", "", (), [{"shard": shard, **asdict(one)} for shard, one in pairs])
    title = f"experiment {experiment.digest}"
    return Report(title, tuple(facts), (*notes, done, *_made_by(origins)))


def _made_by(origins: Sequence[Provenance]) -> list[str]:
    """Which versions and machines made the shards, alike ones together."""
    alike = Counter(
        f"engine {one.engine}, popsnet {one.popsnet}, python {one.python}, numpy {one.numpy}, "
        f"numba {one.numba}, on {one.machine}"
        for one in origins
    )
    made = [f"{counted(count, 'shard')}: {text}" for text, count in alike.items()]
    seconds, last = sum(one.seconds for one in origins), max(one.finished for one in origins)
    return [*made, f"{seconds:,.2f} s of work, the last at {last}."]


_FIGURES: dict[str, ColumnKind] = {
    "mean": "number", "sd": "number", "min": "integer", "max": "integer",
}  # fmt: skip
_LABELS: dict[str, tuple[str, ColumnKind]] = {
    "runs": ("runs", "integer"),
    "capped": ("capped runs", "integer"),
    **{
        f"{name}_{figure}": (f"{LABELS[name]}, {figure}", kind)
        for name in HISTOGRAMS
        for figure, kind in _FIGURES.items()
    },
    **{name: (LABELS[name], "integer") for name in TOTALS},
}


def _at_least(key: str, heading: str, kind: ColumnKind = "number") -> Column:
    """A column whose cells say so if runs were capped, and so cut short."""

    def show(row: Row) -> str:
        value = row.get(key)
        return NOTHING if value is None else f"{'≥ ' * bool(row['capped'])}{shown(value, kind)}"

    return Column(key, heading, kind, show)


def _described(row: Row) -> str:
    """Router, variant and permutation; the digest of a file by its first characters."""
    kind, colon, rest = row["permutation"].partition(":")
    rest = rest[:8] if kind.startswith("file.") else rest
    return f"{row['router']} ({row['variant']}), {kind}{colon}{rest}"


def _runs(row: Row) -> str:
    wanted = shards_of(row.get("runs_wanted", 0)) * SHARD_RUNS
    of_wanted = f" of {wanted:,}" if row["runs"] < wanted else ""
    capped = f", {row['capped']:,} capped" if row["capped"] else ""
    return f"{row['runs']:,}{of_wanted}{capped}"


_COLUMNS = (
    Column("d", kind="integer"),
    Column("g", kind="integer"),
    Column("router", "router (variant), permutation", "text", _described),
    Column("runs", show=_runs),
    _at_least("steps_mean", "steps mean"),
    _at_least("slots_mean", "slots mean"),
    Column("slots_sd", "sd"),
    _at_least("slots_max", "max", "integer"),
    _at_least("slots_delivered_mean", "last delivery"),
    Column("lost", kind="integer"),
)


def row_of(experiment: Experiment, tally: Tally) -> dict[str, Any]:
    """Return an experiment and figures of its runs, if there are any, as one row."""
    row: dict[str, Any] = {
        "experiment": experiment.digest,
        **experiment.network.to_dict(),
        **{name: value for name, value in experiment.identity.items() if name not in "dg"},
        "runs": tally.runs,
        "capped": tally.capped,
    }
    if not tally.runs:
        return row
    for name in ("steps", "slots", "slots_delivered"):
        one = summarize_counts(tally.histograms[name])
        row |= {f"{name}_{figure}": value for figure, value in asdict(one).items()}
    lost = summarize_counts(tally.lost)
    total = sum(packets * runs for packets, runs in tally.lost.items())
    row |= {"lost": total, "lost_mean": lost.mean, "lost_max": lost.max}
    row |= {name: getattr(tally, name) for name in TOTALS}
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
