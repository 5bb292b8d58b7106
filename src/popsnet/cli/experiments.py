"""``popsnet sweep``, ``paper`` and ``results``."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import popsnet
from popsnet.base.errors import InputError, wrong
from popsnet.base.files import require_writable
from popsnet.base.report import Column, Fact, Report, Table, plural
from popsnet.cli import options as opt
from popsnet.cli.output import Interruption, for_people, print_parts, reporting, with_figure
from popsnet.cli.output import show as show_table

if TYPE_CHECKING:
    from popsnet.sweeps import Selection, Store
    from popsnet.sweeps.cluster import ClusterExecutor
    from popsnet.sweeps.goals import Goals

_UNITS = {"": 1, "s": 1, "min": 60, "h": 3600}


def _seconds(time: str) -> float:
    """Return the seconds of a time such as 90, 90s, 10min or 2h."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)\s*(s|min|h|)", time.strip())
    if match is None or float(match[1]) <= 0:
        raise InputError(f"--time-limit {time}: give a time such as 90s, 10min or 2h.")
    return float(match[1]) * _UNITS[match[2]]


_NOTHING = "Interrupted before any run was finished; there are no results."
_REST = "The same command does the rest."


def _announce(goals: Goals, store: Store, cluster: ClusterExecutor | None) -> None:
    """Say what is done, where there is no terminal to show a bar."""
    from popsnet.sweeps.rows import SHARD, WINDOW
    from popsnet.sweeps.shard import SHARD_RUNS

    left = [len(goal.missing(store)) for goal in goals.of_kind(SHARD)]
    experiments = sum(map(bool, left))
    points = sum(len(goal.missing(store)) for goal in goals.of_kind(WINDOW))
    if not experiments + points or sys.stderr.isatty():
        return
    what = plural(experiments, "experiment")
    if goals.precision is None:
        what = f"{plural(sum(left), 'part')} of {SHARD_RUNS} runs, of {what}"
    parts = [what] * bool(experiments) + [f"{plural(points, 'point')} of traffic"] * bool(points)
    where = ""
    if cluster is not None:
        workers = cluster.workers
        where = f" on {cluster.address}, {plural(workers, 'worker')}"
        where += " yet: the work begins when one comes" * (not workers)
    typer.echo(f"Running {' and '.join(parts)}{where}…", err=True)


def _require_usable(store: Path) -> None:
    """Refuse what cannot become a store, before a cluster is started; an empty file can."""
    if store.exists() and not (store.is_file() and store.stat().st_size == 0):
        popsnet.Store(store).close()
    else:
        require_writable(store)


@reporting
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml")],
    store: Path = opt.STORE,
    workers: int | None = None,
    precision: Annotated[str | None, typer.Option(metavar="SHARE")] = None,
    max_runs: int | None = None,
    time_limit: Annotated[str | None, typer.Option(metavar="TIME")] = None,
    part: Annotated[str | None, typer.Option(metavar="I/N")] = None,
    cluster: opt.Cluster = None,
) -> Report:
    """Run the experiments of a file, except for what the store has already.

    Example: popsnet sweep sweep.toml --store results.sqlite

    Exit code 1: a run is capped, or packets are not delivered.

    Parameters
    ----------
    file
        What to run.
    workers
        Parts of 10 runs, and points, to run at once; one per processor by default.
    precision
        Run until half the width of the 95 % interval of the mean slots is at most this, relative
        to the mean: 2% or 0.02. The runs of the file are done in any case. It does not apply to
        points of traffic.
    max_runs
        The most runs of an experiment with --precision. (default: 10000)
    time_limit
        Stop after this time: 90s, 10min, 2h.
    part
        Do part I of N parts of equal work, for job arrays.
    """
    from popsnet.sweeps.cluster import open_cluster
    from popsnet.sweeps.goals import Goals
    from popsnet.sweeps.reports import progress_in_words, sweep_report
    from popsnet.sweeps.runner import Workers, deadline_after, pursue, require_workers

    if max_runs is not None and precision is None:
        raise InputError("--max-runs needs --precision.")
    seconds = None if time_limit is None else _seconds(time_limit)
    require_workers(workers)
    if cluster is not None and workers is not None:
        raise InputError("--workers and --cluster: a cluster has its own workers. Give only one.")
    try:
        wanted = popsnet.Sweep.read(file)
        goals = Goals.of(wanted, precision=precision, max_runs=max_runs, part=part)
        _require_usable(store)
        opened = ExitStack()
        executor = None if cluster is None else opened.enter_context(open_cluster(cluster))
    except KeyboardInterrupt:
        raise Interruption(_NOTHING) from None
    with opened, popsnet.Store(store, create=True) as results:
        try:
            _announce(goals, results, executor)
            pursue(goals, results, deadline_after(seconds), Workers(executor, workers))
        except KeyboardInterrupt:
            if not results.experiments() and not results.traffic.count():
                raise Interruption(_NOTHING) from None
            message = f"Interrupted: {progress_in_words(goals, results)} {_REST}"
            raise Interruption(message, sweep_report(wanted, goals, results)) from None
        report = sweep_report(wanted, goals, results)
        if goals.is_reached(results):
            return report
        return report.plus(
            f"Stopped after {time_limit}: {progress_in_words(goals, results)} {_REST}"
        )


@reporting
def paper(
    out: Annotated[Path, typer.Option("--out", "-o")] = Path("paper"),
    runs: int | None = None,
    max_n: int | None = None,
    full: bool = False,
    cluster: opt.Cluster = None,
) -> Report:
    """Reproduce the paper's tables and figures, with verdicts; skip finished runs.

    Example: popsnet paper --max-n 64 --runs 20

    Exit code 1: a value differs from the paper's, from its formula or from an exact one.

    Parameters
    ----------
    out
        Folder for the report, its figures and tables, and the store of runs.
    runs
        Runs per row, a multiple of ten (default: chosen row by row).
    max_n
        Largest number of processors, 4 to 2^24 (default: 2^24).
    full
        At least 100 runs of every row; not with --runs.
    """
    from popsnet.sweeps.cluster import open_cluster

    try:
        with nullcontext() if cluster is None else open_cluster(cluster) as executor:
            done = popsnet.paper.reproduce(
                out, runs=runs, max_n=max_n, full=full, show=show_table, executor=executor
            )
        report = done.report()
    except KeyboardInterrupt:
        message = f"Interrupted: finished runs are in {out}. The same command continues."
        raise Interruption(message) from None
    parts = (replace(t, columns=()) if isinstance(t, Table) else t for t in report.parts)
    return replace(report, parts=tuple(parts))  # the tables were shown


results = typer.Typer(
    name="results",
    help="List, show, plot, export, drop, merge, verify and rescue results.",
    no_args_is_help=True,
)


_Range = Annotated[str | None, typer.Option(metavar="RANGE")]


@dataclass(frozen=True)
class FilterOptions(opt.Options):
    """Options that select experiments of a store.

    Parameters
    ----------
    router
        Only this router; may be repeated.
    scheduler
        Only points of traffic of this scheduler; may be repeated.
    arrivals
        Only points of traffic with these arrivals, such as uniform; may be repeated.
    variant
        Only this variant; may be repeated.
    permutation
        Only this permutation; may be repeated.
    faults
        Only these faults, such as random:couplers=2, or none; may be repeated.
    n
        Only these n: a number or a range: 64, 64:1024, 64:, :1024.
    d
        Only these d: a number or a range: 64, 64:1024, 64:, :1024.
    g
        Only these g: a number or a range: 64, 64:1024, 64:, :1024.
    wavelengths
        Only these numbers of wavelengths: a number or a range.
    fault_seed
        Only these fault seeds: a number or a range.
    seed
        Only these seeds: a number or a range.
    all_versions
        Also results of older versions of a router or a scheduler, such as a file before an edit.
    """

    router: opt.Routers = None
    scheduler: Annotated[opt.Names, typer.Option(metavar="NAME[:VARIANT]")] = None
    arrivals: Annotated[opt.Names, typer.Option(metavar="TEXT")] = None
    variant: Annotated[opt.Names, typer.Option(metavar="NAME")] = None
    permutation: Annotated[
        opt.Names, typer.Option(metavar="NAME", autocompletion=opt.complete_permutation)
    ] = None
    faults: Annotated[opt.Names, typer.Option(metavar="TEXT")] = None
    n: _Range = None
    d: _Range = None
    g: _Range = None
    wavelengths: _Range = None
    fault_seed: _Range = None
    seed: _Range = None
    all_versions: bool = False

    def value(self) -> Selection:
        """Return what is selected."""
        from popsnet.sweeps import Selection

        given = {name: value for name, value in vars(self).items() if value}
        return Selection(versions="all" if given.pop("all_versions", None) else "newest", **given)


Only = Annotated["Selection", FilterOptions]


@results.command("list")
@reporting
def list_(only: Only, store: Path = opt.STORE) -> Report:
    """List experiments with their runs and means, and points of traffic.

    Example: popsnet results list --store results.sqlite
    """
    with popsnet.Store(store) as results:
        return results.report(only)


@results.command()
@reporting
def show(experiment: str, store: Path = opt.STORE) -> Report:
    """Show one experiment: what it is, its results, when and where it was run.

    Example: popsnet results show EXPERIMENT --store results.sqlite

    Parameters
    ----------
    experiment
        The first characters of its name.
    """
    from popsnet.sweeps.reports import experiment_report

    with popsnet.Store(store) as results:
        return experiment_report(results, experiment)


@results.command()
@reporting
def plot(
    only: Only,
    figure: opt.Figure = None,
    x: str | None = None,
    measure: str | None = None,
    store: Path = opt.STORE,
) -> Report:
    """Draw means with 95 % intervals: one line per router, or per scheduler.

    Example: popsnet results plot --figure results.svg

    Parameters
    ----------
    x
        Horizontal axis: n, d, g or d/g; for delay: load. (default: n, or load)
    measure
        Vertical axis: slots, steps, slots_delivered or lost of runs; delay of traffic. (default:
        slots, or delay if there are no runs)
    """
    from popsnet.plots.results import draw_curves
    from popsnet.sweeps.curves import result_curves
    from popsnet.sweeps.reports import traffic_curves_report

    if figure is None and for_people():
        raise InputError(
            "--figure is missing: give a file that ends in .svg, .png or .pdf; or --csv or --json, "
            "which print the points."
        )
    with popsnet.Store(store) as results:
        if measure is None:
            has_runs = results.experiments() or not results.traffic.count()
            measure = "slots" if has_runs else "delay"
        if measure != "delay":
            curves = result_curves(results, x or "n", measure, only)
            return with_figure(curves.report(), figure, lambda: draw_curves(curves))
        if x not in (None, "load"):
            raise wrong("x", x)("delay is drawn against the load; give --x load.")
        report, lines = traffic_curves_report(results, only)
    return with_figure(report, figure, lambda: popsnet.plots.draw_load_curves(lines))


@results.command()
@reporting
def export(
    only: Only,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE")],
    per_run: bool = False,
    traffic: bool = False,
    store: Path = opt.STORE,
) -> Report:
    """Write a table with one row per experiment, one row per run, or one per point of traffic.

    Example: popsnet results export --out results.csv

    Parameters
    ----------
    out
        The file to write: .csv, .json or .parquet.
    per_run
        Write a row per run, not a row per experiment.
    traffic
        Write a row per point of continuous traffic; done in any case if there are no runs.
    """
    from popsnet.sweeps.reports import gap_notes, older_notes
    from popsnet.sweeps.rows import SHARD, WINDOW

    if per_run and traffic:
        raise InputError("--per-run and --traffic are two tables; give one of them.")
    with popsnet.Store(store) as results:
        points = len(results.traffic.points(only))
        traffic = traffic or bool(points and not per_run and not results.experiments(only))
        count = results.export(out, only, per_run=per_run, traffic=traffic)
        old, deleted = results.runs_without_counts(only) if per_run else (0, 0)
        behind = 0 if traffic else results.runs_not_counted(only)
        older = results.left_out(only, WINDOW if traffic else SHARD)
    what = "point" if traffic else "run" if per_run else "experiment"
    facts = {"file": str(out), f"{what}s": count}
    facts |= {"runs_not_counted": behind, "older_left_out": older}
    facts |= {"runs_without_counts": old + deleted} if old + deleted else {}
    notes = [f"{plural(count, what)}{' of traffic' * traffic} written to {out}."]
    for runs, why in (
        (old, "popsnet 0.1 made them and kept only histograms."),
        (deleted, "their rows were deleted from the store."),
    ):
        again = "Run the same sweep into a new store and merge it to add them."
        notes += [f"{plural(runs, 'run')} left out: {why} {again}"] * bool(runs)
    if points and not traffic:
        left = f"{plural(points, 'point')} of traffic left out"
        notes.append(f"{left}: popsnet results export --traffic writes them.")
    notes += [*gap_notes(behind), *older_notes(older)]
    return Report("", tuple(starmap(Fact, facts.items())), tuple(notes))


@results.command()
@reporting
def drop(
    only: Only, older_versions: bool = False, yes: bool = False, store: Path = opt.STORE
) -> Report:
    """Remove experiments and points of traffic with all their results, after a question.

    Example: popsnet results drop --router direct

    Parameters
    ----------
    older_versions
        Only results of versions of a router or a scheduler that are not the newest.
    yes
        Do not ask.
    """
    from popsnet.sweeps.rows import KINDS
    from popsnet.sweeps.selection import EVERYTHING, NEWEST

    if older_versions:
        if only.versions == "all":
            raise InputError("--older-versions and --all-versions: give only one.")
        only = replace(only, versions="older")
    if only in (NEWEST, EVERYTHING):
        raise InputError(
            "Nothing says what to drop: give --router, --n or another option that selects "
            f"experiments, or --older-versions. To drop everything, remove the file {store}."
        )
    with popsnet.Store(store) as results:
        chosen = results.selected(only, *KINDS.values())
        report = results.report(only)
    if chosen and not yes:
        print_parts(report.renderables())
        try:
            sure = typer.confirm(f"Drop {plural(len(chosen), 'experiment')}?", err=True)
        except typer.Abort:
            raise InputError("There is no answer, so nothing was dropped; give --yes.") from None
        chosen = chosen if sure else []
        report = replace(report, parts=()) if for_people() else report
    if chosen:
        with popsnet.Store(store, create=True) as results:
            results.drop(chosen)
    sentence = f"{plural(len(chosen), 'experiment')} dropped from {store}."
    return report.plus(Fact("dropped", len(chosen)), sentence)


@results.command()
@reporting
def merge(
    others: Annotated[list[Path], typer.Argument(metavar="OTHER...")], store: Path = opt.STORE
) -> Report:
    """Add the results of other stores; results that contradict each other are an error.

    Example: popsnet results merge other.sqlite

    Parameters
    ----------
    others
        Stores to add.
    """
    for other in others:
        if store.exists() and other.exists() and store.samefile(other):
            raise InputError(f"{other} is the store to merge into; give other stores.")
    with ExitStack() as opened:  # refuses what is not a store, before any work
        stores = [opened.enter_context(popsnet.Store(other)) for other in others]
        results = opened.enter_context(popsnet.Store(store, create=True))
        rows = [_merged(results, path) for path in stores]
        traffic = results.traffic.count() > 0
    columns = [Column("store", kind="text"), Column("new_shards", kind="integer")]
    columns += [Column("new_points", kind="integer")] * traffic
    if not traffic:
        rows = [{key: row[key] for key in ("store", "new_shards")} for row in rows]
    return Report("", (Fact("store", str(store)),), (Table("merged", "", tuple(columns), rows),))


def _merged(results: Store, other: Store) -> dict[str, Any]:
    """Merge a store into another, and count its new shards and points of traffic."""
    before = results.traffic.count()
    new = results.merge(other)
    points = results.traffic.count() - before
    return {"store": str(other.path), "new_shards": new - points, "new_points": points}


@results.command()
@reporting
def rescue(
    damaged: Annotated[Path, typer.Argument(metavar="STORE")],
    new: Path,
    sweep: Annotated[Path | None, typer.Option(metavar="FILE.toml")] = None,
) -> Report:
    """Copy what can be read of a damaged store to a new one.

    Example: popsnet results rescue results.sqlite rescued.sqlite

    Exit code 1: some shards of the store were lost.

    Parameters
    ----------
    damaged
        The damaged store.
    new
        The store to write.
    sweep
        The sweep that made the store: it describes experiments whose own description is lost.
    """
    experiments = popsnet.Sweep.read(sweep) if sweep is not None else ()
    return popsnet.rescue(damaged, new, experiments).report()


@results.command()
@reporting
def verify(
    context: typer.Context,
    store: Path = opt.STORE,
    shards: int = 5,
    seed: int | None = None,
    every: Annotated[bool, typer.Option("--all")] = False,
    router: Annotated[list[Path] | None, typer.Option(metavar="FILE.PY")] = None,
) -> Report:
    """Check a store and run some of its shards and points of traffic again.

    Example: popsnet results verify --shards 2

    Exit code 1: the store is damaged, or a shard that is run again differs.

    Parameters
    ----------
    shards
        Run this many shards and points again.
    seed
        Seed of the choice (default 0).
    every
        Run all of them again.
    router
        A file with a router or a scheduler that may be run; may be repeated.
    """
    if every:
        opt.refuse_given(
            context, ("shards", "seed"), "chooses some, and --all runs all of them; leave it out."
        )
    with popsnet.Store(store) as results:
        some = None if every else shards
        return popsnet.verify(results, some, seed, routers=router or ()).report()
