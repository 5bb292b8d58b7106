"""Reports of a store: its experiments, one of them, or those of a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, Any

import popsnet
from popsnet.base.errors import InputError
from popsnet.base.report import Column, Fact, Report, Row, Table, plural
from popsnet.base.report.table import NOTHING, ColumnKind, format_value
from popsnet.base.stats.inference import Summary, summarize_counts
from popsnet.base.terminal import escape_controls
from popsnet.engines.outcome import HISTOGRAMS, TOTALS, Tally
from popsnet.experiment.experiment import Experiment
from popsnet.experiment.traffic import TrafficExperiment
from popsnet.programs.scheduler import scheduler_label
from popsnet.runs.summary import LABELS, experiment_columns, raise_max_steps
from popsnet.runs.traffic_result import COLUMNS, NESTED, TrafficResult
from popsnet.sweeps.exports import uniform
from popsnet.sweeps.kind import Provenance
from popsnet.sweeps.rows import SHARD, WINDOW, kind_of
from popsnet.sweeps.shard import FAULT_COLUMNS, SHARD_RUNS, CountedRuns, shards_of, standard_error
from popsnet.sweeps.tables import in_words
from popsnet.sweeps.window import Point

if TYPE_CHECKING:
    from popsnet.sweeps.goals import Goals
    from popsnet.sweeps.selection import Selection
    from popsnet.sweeps.store import Store
    from popsnet.sweeps.sweep import Sweep

_SHORT = 6
"""Characters of an experiment's name that a list shows."""


def traffic_records(points: Iterable[Point]) -> list[dict[str, Any]]:
    """Return a dictionary per point: the experiment, and what a table shows of the result."""
    return uniform(map(_traffic_record, points))


def _traffic_record(point: Point) -> dict[str, Any]:
    columns = traffic_fields(point.experiment, point.provenance.popsnet)
    return {**columns, **point.result.row(), **columns, **label_of(point.experiment)}


def label_of(experiment: TrafficExperiment) -> dict[str, str]:
    """Return the column with the user's label of a point, which may be empty."""
    return {"label": str(experiment.given.get("label", ""))}


def traffic_fields(
    experiment: TrafficExperiment, version: str = popsnet.__version__
) -> dict[str, Any]:
    """Return the columns that say which point it is."""
    columns = experiment_columns(experiment, version)
    slots = columns.pop("slots")
    return {**columns, "window_slots_wanted": slots}


def store_report(
    store: Store, experiments: Sequence[Experiment], points: Sequence[Point] = (), older: int = 0
) -> Report:
    """Return experiments of a store with the means of their runs, and points of traffic."""
    rows = uniform(row_of(experiment, store.gathered(experiment)) for experiment in experiments)
    name = Column("experiment", "name", show=lambda row: row["experiment"][:_SHORT])
    count = f"{_of_all(len(rows), len(store.experiments()), 'experiment')} in {store.path}."
    table, notes = _fitting((name,), rows)
    behind = sum(map(store.runs_not_counted_of, experiments))
    facts = {"store": str(store.path), "runs_not_counted": behind, "older_left_out": older}
    parts: list[Table | str] = [table, *notes, *gap_notes(behind), count]
    if points:
        runs = parts if rows else []
        facts |= {} if rows else {"experiments": []}
        many = _of_all(len(points), store.traffic.count(), "point")
        table_of_points = traffic_parts((name,), traffic_records(points))
        parts = [*runs, *table_of_points, f"{many} of traffic in {store.path}."]
    return Report("", tuple(starmap(Fact, facts.items())), (*parts, *older_notes(older)))


def _of_all(chosen: int, total: int, what: str) -> str:
    """Return how many there are, and of how many if they are not all."""
    return f"{chosen:,} of " * (chosen < total) + plural(total, what)


def traffic_curves_report(
    store: Store, only: Selection
) -> tuple[Report, dict[str, list[TrafficResult]]]:
    """Return the points of a figure of delays against loads, and the results of each line.

    Raises
    ------
    InputError
        If there are none.
    """
    points = store.selected_points(only)
    if not points:
        raise InputError(
            f"There are no points of traffic in {store.path} to draw. popsnet sweep makes some."
        )
    rows = traffic_records(points)
    older = store.left_out(only, WINDOW)
    facts = {"x": "load", "measure": "delay", "runs_not_counted": 0, "older_left_out": older}
    columns = _differing(rows)
    lines: dict[str, list[TrafficResult]] = {}
    for point, row in zip(points, rows, strict=True):
        named = [point.experiment.label, *[row["label"]] * bool(row["label"])]
        named += [f"{column.title} {column.cell(row)}" for column in columns]
        lines.setdefault(", ".join(named), []).append(point.result)
    parts = *traffic_parts((), rows), *older_notes(older)
    return Report("", tuple(starmap(Fact, facts.items())), parts), dict(sorted(lines.items()))


DETAILS = (
    *("wavelengths", "faults", "fault_seed", "known_faults"),
    *("seed", "permutation_seed", "arrival_seed"),
    *("buffer", "window_slots_wanted", "precision", "max_slots", "max_steps"),
)
"""What else tells experiments apart. A table or a label of a line has it where it differs."""
_SHOWN: Mapping[str, tuple[ColumnKind, Callable[[Row], str] | None]] = {
    "faults": ("text", lambda row: escape_controls(row["faults"], lines=False) or "none"),
    "version": ("text", lambda row: short_version(row["version"])),
    "known_faults": ("flag", None),
    "precision": ("number", None),
}
"""How those that are not integers are shown."""


def differing(rows: Sequence[Row], *more: str) -> list[str]:
    """Return the fields without which rows of different experiments would look alike."""
    names = [name for name in (*more, *DETAILS) if len({row.get(name) for row in rows}) > 1]
    programs = {row.get("router", row.get("scheduler")) for row in rows}
    versions = {(row.get("router", row.get("scheduler")), row["version"]) for row in rows}
    return [*names, *["version"] * (len(versions) > len(programs))]


def _differing(rows: Sequence[Row]) -> tuple[Column, ...]:
    """Return these fields as columns."""
    return tuple(Column(key, "", *_SHOWN.get(key, ("integer",))) for key in differing(rows))


def short_name(name: str) -> str:
    """Return the name of a workload; the digest of a file by its first characters."""
    kind, colon, rest = name.partition(":")
    return f"{kind}{colon}{rest[:8] if kind.startswith('file.') else rest}"


def short_version(version: str) -> str:
    """Return a version with the first characters of the digest of its file.

    Examples
    --------
    >>> short_version("1+fba0e9ac73229217")
    '1+fba0e9'
    """
    number, plus, digest = escape_controls(version, lines=False).partition("+")
    return f"{number}{plus}{digest[:_SHORT]}"


def traffic_parts(first: tuple[Column, ...], rows: Sequence[Row]) -> list[Table | str]:
    """Return a table of points of traffic that fits into 80 columns, if possible, and a note.

    Arrivals that all rows have and less important columns are left out; programs get all fields.
    """
    arrivals = {row["arrivals"] for row in rows}
    where = [Column("arrivals", kind="text")] * (len(arrivals) != 1)
    notes = [] if where else [f"Arrivals: {escape_controls(rows[0]['arrivals'], lines=False)}."]
    label = (Column("label", kind="text"),) if any(row["label"] for row in rows) else ()
    before = *first, *label, *_FIRST_COLUMNS, *where
    scheduler = Column("scheduler", kind="text", show=_scheduler)
    after = (scheduler if column.key == "scheduler_label" else column for column in COLUMNS)
    columns = _narrowed((*before, *_differing(rows), *after), rows)
    return [Table("traffic", "Delay in slots", columns, rows, nested=NESTED), *notes]


def _scheduler(row: Row) -> str:
    return escape_controls(scheduler_label(row["scheduler"], row["variant"]), lines=False)


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _have_results(begun: int, total: int, what: str, of: str = "") -> str:
    have = "has" if begun == 1 else "have"
    return f"{begun:,} of {plural(total, what)}{of} {have} results so far."


def older_notes(experiments: int) -> list[str]:
    """Return what to say of experiments of older versions that are left out, if there are any."""
    text = f"{plural(experiments, 'experiment')} of older versions {_are(experiments)} left out"
    return [f"{text}; --all-versions shows all."] * bool(experiments)


def gap_notes(runs: int) -> list[str]:
    """Return what to say of runs behind a missing part, if there are any."""
    behind = f"{plural(runs, 'run')} behind a missing part {_are(runs)} not counted"
    return [f"{behind}. Run the sweep or merge the missing part."] * bool(runs)


def why_nothing(runs_not_counted: int) -> str:
    """Return why there are no results, and what to do."""
    return "".join(gap_notes(runs_not_counted)) or "popsnet sweep makes some."


def sweep_report(sweep: Sweep, goals: Goals, store: Store) -> Report:
    """Return the experiments of a sweep that have results, and what was skipped.

    For programs there is a second table, if there are experiments without results.
    """
    labelled = zip(sweep.wanted, sweep.labels, goals.gathered(store), strict=True)
    rows = uniform(
        {**_wanted_fields(goals, experiment, runs, label, store), **row_of(experiment, done)}
        for (experiment, runs), label, done in labelled
    )
    begun, others = ([row for row in rows if bool(row["runs"]) is some] for some in (True, False))
    label = (Column("label", kind="text"),) if any(sweep.labels) else ()
    table, below = _fitting(label, begun)
    notes = []
    if any(runs % SHARD_RUNS for runs in sweep.runs) and goals.precision is None:
        notes.append(f"Runs are rounded up to a multiple of {SHARD_RUNS}.")
    if sweep.skipped:
        notes.append(f"Skipped {len(sweep.skipped):,}: {in_words(sweep.skipped)}.")
    if others and goals.part is None:
        notes.append(_have_results(len(begun), len(rows), "experiment"))
    notes += _reached(goals, store)
    facts = [Fact("store", str(store.path)), Fact("skipped", list(sweep.skipped))]
    missing = [Table("experiments_without_results", "", (), others)] if others else []
    tables: list[Table | str] = [table, *missing, *below]
    if not sweep.experiments:  # the table of the points is the first then
        tables, facts = [], [*facts, Fact("experiments", [])]
    parts = (*tables, *_sweep_points(sweep, goals, store), *notes, f"Results are in {store.path}.")
    return Report("", tuple(facts), parts, *_verdict(rows))


def _sweep_points(sweep: Sweep, goals: Goals, store: Store) -> list[Table | str]:
    """Return the points of a sweep that are finished, and how many there are."""
    if not sweep.traffic:
        return []
    finished = {point.experiment: point for point in store.points()}
    rows, others = [], []
    for experiment, label in zip(sweep.traffic, sweep.traffic_labels, strict=True):
        named = {"label": label}
        if experiment in finished:
            rows.append(named | traffic_records([finished[experiment]])[0] | named)
        else:
            others.append(named | traffic_fields(experiment))
    none: list[Table | str] = [Table("traffic", "", (), [])]
    parts = traffic_parts((), uniform(rows)) if rows else none
    if others:
        parts.append(Table("traffic_without_results", "", (), others))
        if goals.part is None:
            parts.append(_have_results(len(rows), len(sweep.traffic), "point", " of traffic"))
    return parts


def _verdict(rows: Sequence[Row]) -> tuple[str, bool, str]:
    """Return what runs did not deliver, whether all did, and what to do about capped runs."""
    capped, lost = (sum(row[name] for row in rows) for name in ("capped", "lost"))
    failures = [f"{plural(capped, 'run')} capped"] * bool(capped)
    failures += [f"{plural(lost, 'packet')} lost"] * bool(lost)
    if not failures:
        return "", True, ""
    cure = raise_max_steps(capped, "max_steps of the sweep")
    return f"FAILED: {' and '.join(failures)}.", False, cure


def _wanted_fields(
    goals: Goals, experiment: Experiment, runs: int, label: str, store: Store
) -> dict[str, Any]:
    """Return what a row of a sweep has besides the experiment and its results."""
    goal = goals.goals.get(experiment)
    missing = len(goal.missing(store)) * SHARD_RUNS if goal else 0
    if goals.precision is not None:
        precise = goal is not None and not missing and goal.is_precise(store)
        return {"label": label, "runs_missing": missing, "precise": precise}
    if goals.part is not None:
        runs = len(goal.shards) * SHARD_RUNS if goal else 0
    else:
        missing = len(store.missing(experiment, runs)) * SHARD_RUNS
    return {"label": label, "runs_wanted": runs, "runs_missing": missing}


def _reached(goals: Goals, store: Store) -> Iterator[str]:
    """Yield what was reached of a precision, and of a part."""
    if goals.precision is not None:
        runs = goals.of_kind(SHARD)
        complete = [goal for goal in runs if not goal.missing(store)]
        precise = sum(goal.is_precise(store) for goal in complete)
        of_all = f"{precise:,} of {plural(len(runs), 'experiment')}"
        yield f"{of_all} reached a 95 % interval of at most {goals.precision}."
        if capped := sum(goal.is_capped(store) for goal in complete):
            singular = "has capped runs, so its mean is a lower bound"
            several = "have capped runs, so their means are lower bounds"
            yield f"{plural(capped, 'experiment')} {singular if capped == 1 else several}."
        if precise + capped < len(complete):
            most = f"the limit of {goals.precision.max_runs:,} runs"
            yield f"{len(complete) - precise - capped:,} reached {most} before that."
    if goals.part is not None:
        what = f"Part {goals.part}: {progress_in_words(goals, store)}"
        yield f"{what} The rows above have the runs of this part alone."


def progress_in_words(goals: Goals, store: Store) -> str:
    """Return how much of what was wanted is in the store."""
    points = goals.of_kind(WINDOW)
    sentences = [_runs_in_words(goals, store)] if goals.of_kind(SHARD) or not points else []
    if points:
        done, _ = goals.done(store, WINDOW)
        of_all = f"{plural(len(points), 'point')} of traffic"
        sentences.append(f"{done:,} of {of_all} {_are(done)} in {store.path}.")
    return " ".join(sentences)


def _runs_in_words(goals: Goals, store: Store) -> str:
    done, total = goals.done(store, SHARD)
    if goals.precision is not None:
        return f"{done:,} of {plural(total, 'experiment')} {_are(done)} finished in {store.path}."
    return f"{done:,} of {plural(total, 'part')} of {SHARD_RUNS} runs {_are(done)} in {store.path}."


def experiment_report(store: Store, name: str) -> Report:
    """Return one experiment: its results, and when, where and with what it was run."""
    experiment: Any = store.find_any(name)
    return (_point_report if kind_of(experiment) is WINDOW else _runs_report)(store, experiment)


def _runs_report(store: Store, experiment: Experiment) -> Report:
    """Return the runs of an experiment: histograms, and when, where and with what it was run."""
    shards, gathered = store.shards(experiment), store.gathered(experiment)
    origins, tally = store.provenances(experiment), gathered.tally
    row = row_of(experiment, gathered)
    labels = {key: _LABELS.get(key, ("", "integer")) for key in row}
    labels |= {key: (key.replace("_", " "), "text") for key in experiment.identity}
    marked = {key for key in row.keys() & _LABELS if key.endswith(("_mean", "_sd", "_max"))}
    texts = {key: _figure(key, row) for key in marked}
    facts = [Fact(key, value, *labels[key], texts.get(key, "")) for key, value in row.items()]
    notes = [
        f"Runs by {LABELS[name]}: "
        + ", ".join(f"{value:,}: {runs:,}" for value, runs in sorted(histogram.items()))
        for name, histogram in tally.histograms.items()
        if histogram
    ]
    behind = store.runs_not_counted_of(experiment)
    facts.append(Fact("runs_not_counted", behind))
    notes += gap_notes(behind)
    pairs = zip(shards, origins, strict=True)
    done = Table("shards", "", (), [{"shard": shard, **_flat(origin)} for shard, origin in pairs])
    title = f"experiment {experiment.digest}"
    return Report(title, tuple(facts), (*notes, done, *_made_by(origins)))


def _flat(origin: Provenance) -> dict[str, Any]:
    """Return a provenance as columns."""
    names = "engine", "python", "numpy", "numba", "machine"
    made = {name: getattr(origin, name) for name in names} | {"popsnet_version": origin.popsnet}
    files = {name: str(origin.given.get(name, "")) for name in SHARD.files}
    return {**made, **files, "seconds": origin.seconds, "finished": origin.finished}


def _point_report(store: Store, experiment: TrafficExperiment) -> Report:
    """Return one point of traffic: its measures, and when, where and with what it was made."""
    point = store.traffic.get(experiment)
    assert point is not None
    origin, setting = point.provenance, point.result.setting
    result = replace(point.result, setting=replace(setting, engine=origin.engine))
    took = f"{origin.seconds:,.2f} s of work, finished at {origin.finished}."
    report = result.report()
    made = asdict(origin)
    made["popsnet_version"] = made.pop("popsnet")
    identity = Fact("identity", experiment.identity), Fact("provenance", made)
    facts = Fact("experiment", experiment.digest), *report.facts, *identity
    label = label_of(point.experiment)["label"]
    title = f"experiment {experiment.digest}{', ' * bool(label)}{label}\n{report.title}"
    return replace(report, title=title, facts=facts).plus(f"Made by {_with(origin)}", took)


def _with(origin: Provenance) -> str:
    return (
        f"engine {origin.engine}, popsnet {origin.popsnet}, python {origin.python}, "
        f"numpy {origin.numpy}, numba {origin.numba}, on {origin.machine}"
    )


def _made_by(origins: Sequence[Provenance]) -> list[str]:
    """Return which versions and machines made the shards, equal ones together."""
    alike = Counter(map(_with, origins))
    made = [f"{plural(count, 'shard')}: {text}" for text, count in alike.items()]
    seconds = sum(origin.seconds for origin in origins)
    last = max(origin.finished for origin in origins)
    return [*made, f"{seconds:,.2f} s of work, the last at {last}."]


_FIGURES: dict[str, ColumnKind] = {
    "mean": "number", "sd": "number", "se": "number", "min": "integer", "max": "integer",
}  # fmt: skip
_LABELS: dict[str, tuple[str, ColumnKind]] = {
    "runs": ("runs", "integer"),
    "capped": ("capped runs", "integer"),
    **{
        f"{name}_{figure}": (f"{LABELS[name]}, {figure.replace('se', 's.e.')}", kind)
        for name in HISTOGRAMS
        for figure, kind in _FIGURES.items()
    },
    **{name: (LABELS[name], "integer") for name in (*TOTALS, *FAULT_COLUMNS)},
}


def _figure(key: str, row: Row) -> str:
    """Return the text of a figure, which capped runs make a lower bound or meaningless."""
    if row.get(key) is None or (row["capped"] and key.endswith("_sd")):
        return NOTHING
    return f"{'≥ ' * bool(row['capped'])}{format_value(row[key], _LABELS[key][1])}"


def _column(key: str, heading: str) -> Column:
    return Column(key, heading, _LABELS[key][1], partial(_figure, key))


def _router(row: Row) -> str:
    """Return router and variant; a long schedule by its beginning."""
    name, variant = (escape_controls(row[key], lines=False) for key in ("router", "variant"))
    room = max(_LONGEST_ROUTER - len(name) - 3, _SHORT)
    return f"{name} ({variant if len(variant) <= room else f'{variant[: room - 1].rstrip()}…'})"


def _described(row: Row) -> str:
    """Return router, variant and permutation; the digest of a file by its first characters."""
    return f"{_router(row)}, {escape_controls(short_name(row['permutation']), lines=False)}"


def _runs(row: Row) -> str:
    wanted = shards_of(row.get("runs_wanted", 0)) * SHARD_RUNS
    of_wanted = f" of {wanted:,}" if row["runs"] < wanted else ""
    capped = f", {row['capped']:,} capped" if row["capped"] else ""
    return f"{row['runs']:,}{of_wanted}{capped}"


_FIRST_COLUMNS = (Column("d", kind="integer"), Column("g", kind="integer"))
_NUMBERS = (
    Column("runs", show=_runs),
    _column("steps_mean", "steps mean"),
    _column("slots_mean", "slots mean"),
    _column("slots_sd", "sd"),
    _column("slots_se", "s.e."),
    _column("slots_max", "max"),
    _column("slots_delivered_mean", "last delivery"),
    Column("lost", kind="integer"),
)
_LESS_IMPORTANT = (
    *("slots_delivered_mean", "steps_mean", "slots_max", "slots_sd", "slots_se"),
    *("delay_p95", "delay_p90", "delay_p50", "delay_p999", "delay_max", "accepted"),
    *DETAILS[:3:-1],  # limits, then seeds
)
"""Columns that are left out, in this order, where the lines would be too long."""

_WIDTH = 80
_LONGEST_ROUTER = 28
"""Characters of a router and its variant that a list shows."""


def _fitting(first: tuple[Column, ...], rows: Sequence[Row]) -> tuple[Table, list[str]]:
    """Return a table that fits into 80 columns, if possible without breaking names.

    A permutation that all rows have, lost packets where there are none, and less important
    columns are left out; programs get all fields.
    """
    notes, router = [], Column("router", "router (variant), permutation", "text", _described)
    if len({row["permutation"] for row in rows}) == 1:
        router = Column("router", "router (variant)", "text", _router)
        notes.append(f"Permutation: {_described(rows[0]).removeprefix(f'{_router(rows[0])}, ')}.")
    numbers = [c for c in _NUMBERS if c.key != "lost" or any(r.get("lost") for r in rows)]
    columns = _narrowed((*first, *_FIRST_COLUMNS, router, *_differing(rows), *numbers), rows)
    return Table("experiments", "", columns, rows), notes


def _narrowed(columns: tuple[Column, ...], rows: Sequence[Row]) -> tuple[Column, ...]:
    """Leave out less important columns until the lines fit."""
    for key in _LESS_IMPORTANT:
        if _natural_width(columns, rows) > _WIDTH:
            columns = tuple(column for column in columns if column.key != key)
    return columns


def _natural_width(columns: Sequence[Column], rows: Sequence[Row]) -> int:
    """Return the width of lines in which no cell is broken; headings may be."""
    longest = (
        max(map(len, [*column.title.split(), *(column.cell(row) for row in rows)]))
        for column in columns
    )
    return sum(longest) + len(columns) - 1


def _summary(tally: Tally, name: str) -> dict[str, Any]:
    if not tally.runs:
        return dict.fromkeys(field.name for field in fields(Summary))
    return asdict(summarize_counts(tally.histograms[name]))


def row_of(experiment: Experiment, counted: CountedRuns) -> dict[str, Any]:
    """Return an experiment and figures of its runs as one row.

    Without runs, means and the like are None.
    """
    tally = counted.tally
    row: dict[str, Any] = experiment_columns(experiment, counted.version)
    row |= {"runs": tally.runs, "capped": tally.capped}
    for name in ("steps", "slots", "slots_delivered"):
        row |= {f"{name}_{key}": value for key, value in _summary(tally, name).items()}
        if name == "slots":
            row["slots_se"] = standard_error(tally)
    lost = _summary(tally, "lost")
    total = sum(packets * runs for packets, runs in tally.lost.items())
    row |= {"lost": total, "lost_per_run": lost["mean"], "lost_max": lost["max"]}
    row |= {name: getattr(tally, name) for name in TOTALS} | dict(counted.faults)
    return row | {
        f"{name}_histogram": {str(value): histogram[value] for value in sorted(histogram)}
        for name, histogram in tally.histograms.items()
    }
