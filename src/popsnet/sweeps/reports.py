"""Reports of a store: its experiments, one of them, or those of a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from popsnet.engines.outcome import HISTOGRAMS, TOTALS, Tally
from popsnet.experiment import Experiment
from popsnet.report import Column, Fact, Report, Row, Table, counted
from popsnet.report.table import NOTHING, ColumnKind, shown
from popsnet.runs.summary import LABELS
from popsnet.stats.inference import summarize_counts
from popsnet.sweeps.exports import experiment_fields
from popsnet.sweeps.shard import SHARD_RUNS, Provenance, shards_of

if TYPE_CHECKING:
    from popsnet.sweeps.goals import Goals
    from popsnet.sweeps.store import Store
    from popsnet.sweeps.sweep import Sweep

_SHORT = 6
"""Characters of an experiment's name that a list shows."""


def store_report(store: Store, experiments: Sequence[Experiment]) -> Report:
    """Return experiments of a store, with the means of their runs."""
    rows = [row_of(one, store.unbroken(one)) for one in experiments]
    name = Column("experiment", "name", show=lambda row: row["experiment"][:_SHORT])
    total = len(store.experiments())
    of_all = f" of {total:,}" if len(rows) < total else ""
    count = f"{len(rows):,}{of_all} experiment{'' if total == 1 else 's'} in {store.path}."
    table, notes = _fitting((name,), rows)
    return Report("", (Fact("store", str(store.path)),), (table, *notes, count))


def sweep_report(sweep: Sweep, goals: Goals, store: Store) -> Report:
    """Return the experiments of a sweep that have results, and what was skipped.

    For programs there is a second table, if there are experiments without results.
    """
    labelled = zip(sweep.wanted, sweep.labels, goals.tallies(store), strict=True)
    rows = [
        {**_wanted_fields(goals, experiment, runs, label, store), **row_of(experiment, tally)}
        for (experiment, runs), label, tally in labelled
    ]
    begun, others = ([row for row in rows if bool(row["runs"]) is some] for some in (True, False))
    label = (Column("label", kind="text"),) if any(sweep.labels) else ()
    table, notes = _fitting(label, begun)
    if any(runs % SHARD_RUNS for runs in sweep.runs) and goals.precision is None:
        notes.append(f"Runs are rounded up to whole shards of {SHARD_RUNS}.")
    if sweep.skipped:
        skipped = "".join(f"\n  {text}" for text in sweep.skipped)
        notes.append(f"Skipped: {len(sweep.skipped):,} that do not apply:{skipped}")
    if others and goals.part is None:
        have = "has" if len(begun) == 1 else "have"
        count = f"{len(begun):,} of {counted(len(rows), 'experiment')}"
        notes.append(f"{count} {have} results so far.")
    notes += _reached(goals, store)
    facts = Fact("store", str(store.path)), Fact("skipped", list(sweep.skipped))
    missing = [Table("experiments_without_results", "", (), others)] if others else []
    return Report("", facts, (table, *missing, *notes, f"Results are in {store.path}."))


def _wanted_fields(
    goals: Goals, experiment: Experiment, runs: int, label: str, store: Store
) -> dict[str, Any]:
    """Return what a row of a sweep has besides the experiment and its results."""
    fields: dict[str, Any] = {"label": label}
    goal = goals.goals.get(experiment)
    if goals.precision is not None:
        missing = goal.missing(store) if goal else []
        return fields | {
            "runs_missing": len(missing) * SHARD_RUNS,
            "precise": goal is not None and not missing and goal.is_precise(store),
        }
    if goals.part is not None:
        runs = len(goal.shards) * SHARD_RUNS if goal else 0
        missing = goal.missing(store) if goal else []
    else:
        missing = store.missing(experiment, runs)
    return fields | {"runs_wanted": runs, "runs_missing": len(missing) * SHARD_RUNS}


def _reached(goals: Goals, store: Store) -> Iterator[str]:
    """Yield what was reached of a precision, and of a part."""
    if goals.precision is not None:
        there = [goal for goal in goals.goals.values() if not goal.missing(store)]
        precise = sum(goal.is_precise(store) for goal in there)
        of_all = f"{precise:,} of {counted(len(goals.goals), 'experiment')}"
        yield f"{of_all} reached a standard error of at most {goals.precision}."
        if precise < len(there):
            most = f"the limit of {goals.precision.max_runs:,} runs"
            yield f"{len(there) - precise:,} reached {most} before that."
    if goals.part is not None:
        what = f"Part {goals.part}: {progress_in_words(goals, store)}"
        yield f"{what} The rows above have the runs of this part alone."


def progress_in_words(goals: Goals, store: Store) -> str:
    """Return how much of what was wanted is in the store."""
    if goals.precision is not None:
        done = sum(not goal.missing(store) for goal in goals.goals.values())
        return (
            f"{done:,} of {counted(len(goals.goals), 'experiment')} are finished in {store.path}."
        )
    done, total = goals.shards_done(store)
    return f"{done:,} of {total:,} shards of {SHARD_RUNS} runs are in {store.path}."


def experiment_report(store: Store, name: str) -> Report:
    """Return one experiment: histograms, and when, where and with what it was run."""
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
        notes.append(f"Shards beyond a missing one, not counted: {beyond:,}.")
    pairs = zip(shards, origins, strict=True)
    done = Table("shards", "", (), [{"shard": shard, **asdict(one)} for shard, one in pairs])
    title = f"experiment {experiment.digest}"
    return Report(title, tuple(facts), (*notes, done, *_made_by(origins)))


def _made_by(origins: Sequence[Provenance]) -> list[str]:
    """Return which versions and machines made the shards, equal ones together."""
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
    """Make a column that marks its values as lower bounds if runs were capped."""

    def show(row: Row) -> str:
        value = row.get(key)
        return NOTHING if value is None else f"{'≥ ' * bool(row['capped'])}{shown(value, kind)}"

    return Column(key, heading, kind, show)


def _router(row: Row) -> str:
    return f"{row['router']} ({row['variant']})"


def _described(row: Row) -> str:
    """Return router, variant and permutation; the digest of a file by its first characters."""
    kind, colon, rest = row["permutation"].partition(":")
    rest = rest[:8] if kind.startswith("file.") else rest
    return f"{_router(row)}, {kind}{colon}{rest}"


def _runs(row: Row) -> str:
    wanted = shards_of(row.get("runs_wanted", 0)) * SHARD_RUNS
    of_wanted = f" of {wanted:,}" if row["runs"] < wanted else ""
    capped = f", {row['capped']:,} capped" if row["capped"] else ""
    return f"{row['runs']:,}{of_wanted}{capped}"


_FIRST_COLUMNS = (Column("d", kind="integer"), Column("g", kind="integer"))
_NUMBERS = (
    Column("runs", show=_runs),
    _at_least("steps_mean", "steps mean"),
    _at_least("slots_mean", "slots mean"),
    Column("slots_sd", "sd"),
    _at_least("slots_max", "max", "integer"),
    _at_least("slots_delivered_mean", "last delivery"),
    Column("lost", kind="integer"),
)
_LESS_IMPORTANT = ("slots_delivered_mean", "steps_mean", "slots_max", "slots_sd")
"""Columns that are left out, in this order, where the lines would be too long."""

_WIDTH = 80


def _fitting(first: tuple[Column, ...], rows: Sequence[Row]) -> tuple[Table, list[str]]:
    """Return a table that fits into 80 columns, if possible without breaking names.

    A permutation that all rows have, lost packets where there are none, and less important
    columns are left out; programs get all fields.
    """
    notes = []
    permutations = {row["permutation"] for row in rows}
    router = Column("router", "router (variant), permutation", "text", _described)
    if len(permutations) == 1:
        router = Column("router", "router (variant)", "text", _router)
        notes.append(f"Permutation: {_described(rows[0]).removeprefix(f'{_router(rows[0])}, ')}.")
    numbers = [one for one in _NUMBERS if one.key != "lost" or any(r.get("lost") for r in rows)]
    left_out = iter(_LESS_IMPORTANT)
    while _natural_width(columns := (*first, *_FIRST_COLUMNS, router, *numbers), rows) > _WIDTH:
        key = next(left_out, None)
        if key is None:
            break
        numbers = [one for one in numbers if one.key != key]
    return Table("experiments", "", columns, rows), notes


def _natural_width(columns: Sequence[Column], rows: Sequence[Row]) -> int:
    """Return the width of lines in which no cell is broken; headings may be."""
    longest = (
        max(map(len, [*column.title.split(), *(column.cell(row) for row in rows)]))
        for column in columns
    )
    return sum(longest) + len(columns) - 1


def row_of(experiment: Experiment, tally: Tally) -> dict[str, Any]:
    """Return an experiment and figures of its runs, if there are any, as one row."""
    row: dict[str, Any] = {
        **experiment_fields(experiment),
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
