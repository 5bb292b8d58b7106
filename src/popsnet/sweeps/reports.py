"""What a store has, as it is shown: all experiments, one of them, or those of a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from popsnet.experiment import Experiment
from popsnet.report import Column, Fact, Report, Row, Table, counted
from popsnet.report.table import NOTHING, ColumnKind, shown
from popsnet.sweeps.export import row_of
from popsnet.sweeps.shard import SHARD_RUNS, Provenance, shards_of
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
        f"Runs by {_COUNTS[name]}: "
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


_COUNTS = {
    "steps": "steps",
    "slots": "slots",
    "slots_delivered": "slots until the last delivery",
    "lost": "packets lost",
}
_FIGURES: dict[str, ColumnKind] = {
    "mean": "number", "sd": "number", "min": "integer", "max": "integer",
}  # fmt: skip
_LABELS: dict[str, tuple[str, ColumnKind]] = {
    "runs": ("runs", "integer"),
    "capped": ("capped runs", "integer"),
    **{
        f"{name}_{figure}": (f"{words}, {figure}", kind)
        for name, words in _COUNTS.items()
        for figure, kind in _FIGURES.items()
    },
    "collisions": ("couplers hit twice or more", "integer"),
    "destroyed": ("messages destroyed", "integer"),
    "messages": ("messages sent", "integer"),
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
