"""``popsnet sweep`` and ``paper``."""

from __future__ import annotations

import re
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import popsnet
from popsnet.cli.options import STORE, Cluster, StoreFile
from popsnet.cli.output import Interrupted, reporting
from popsnet.errors import InputError
from popsnet.files import require_writable
from popsnet.report import Report, counted

if TYPE_CHECKING:
    from popsnet.sweeps import Store
    from popsnet.sweeps.cluster import ClusterExecutor
    from popsnet.sweeps.goals import Goals


from contextlib import nullcontext
from dataclasses import replace

from popsnet.cli.output import show as show_table
from popsnet.report import Table

_UNITS = {"": 1, "s": 1, "min": 60, "h": 3600}


def _seconds(time: str | None) -> float | None:
    """Return the seconds of a time such as 90, 90s, 10min or 2h."""
    if time is None:
        return None
    found = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)\s*(s|min|h|)", time.strip())
    if found is None or float(found[1]) <= 0:
        raise InputError(f"--time {time}: give a time such as 90s, 10min or 2h.")
    return float(found[1]) * _UNITS[found[2]]


_NOTHING = "Interrupted before any run was finished; there are no results."


def _announce(goals: Goals, store: Store, cluster: ClusterExecutor | None) -> None:
    """Say what is done, where there is no terminal to show a bar."""
    left = {one: len(goal.missing(store)) for one, goal in goals.goals.items()}
    experiments, points = sum(map(bool, left.values())), len(goals.missing_points(store))
    if not experiments + points or sys.stderr.isatty():
        return
    what = counted(experiments, "experiment")
    if goals.precision is None:
        what = f"{counted(sum(left.values()), 'shard')} of {what}"
    parts = [what] * bool(experiments) + [f"{counted(points, 'point')} of traffic"] * bool(points)
    where = ""
    if cluster is not None:
        there = cluster.workers
        where = f" on {cluster.address}, {counted(there, 'worker')}"
        where += " yet: the work begins when one comes" * (not there)
    typer.echo(f"Running {' and '.join(parts)}{where}…", err=True)


def _require_usable(store: Path) -> None:
    """Refuse what cannot become a store, before a cluster is started; an empty file can."""
    if store.exists() and not (store.is_file() and store.stat().st_size == 0):
        popsnet.Store(store).close()
    else:
        require_writable(store)


@reporting
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="What to run.")],
    store: StoreFile = STORE,
    workers: Annotated[
        int | None,
        typer.Option(help="Shards and points to run at once; one per processor by default."),
    ] = None,
    until_se: Annotated[
        str | None,
        typer.Option(
            metavar="ERROR",
            help="Run until the standard error of the mean slots is at most this: 1% of the mean, "
            "or 0.05 slots. The runs of the file are done in any case. It does not apply to points "
            "of traffic.",
        ),
    ] = None,
    max_runs: Annotated[
        int | None,
        typer.Option(help="The most runs of an experiment with --until-se. (default: 10000)"),
    ] = None,
    time: Annotated[
        str | None,
        typer.Option("--time", metavar="TIME", help="Stop after this time: 90s, 10min, 2h."),
    ] = None,
    part: Annotated[
        str | None,
        typer.Option(metavar="I/N", help="Do part I of N parts of equal work, for job arrays."),
    ] = None,
    cluster: Cluster = None,
) -> Report:
    """Run the experiments of a file, except for what the store has already."""
    from popsnet.sweeps.cluster import open_cluster
    from popsnet.sweeps.goals import Goals
    from popsnet.sweeps.reports import progress_in_words, sweep_report
    from popsnet.sweeps.runner import Workers, deadline_after, pursue, require_workers

    if max_runs is not None and until_se is None:
        raise InputError("--max-runs needs --until-se.")
    seconds = _seconds(time)
    require_workers(workers)
    if cluster is not None and workers is not None:
        raise InputError("--workers and --cluster: a cluster has its own workers. Give only one.")
    try:
        wanted = popsnet.Sweep.read(file)
        goals = Goals.of(wanted, until_se=until_se, max_runs=max_runs, part=part)
        _require_usable(store)
        opened = ExitStack()
        executor = None if cluster is None else opened.enter_context(open_cluster(cluster))
    except KeyboardInterrupt:
        raise Interrupted(_NOTHING) from None
    with opened, popsnet.Store(store, create=True) as results:
        try:
            _announce(goals, results, executor)
            pursue(goals, results, deadline_after(seconds), Workers(executor, workers))
        except KeyboardInterrupt:
            if not results.experiments() and not results.traffic.count():
                raise Interrupted(_NOTHING) from None
            message = f"{progress_in_words(goals, results)} The same command does the rest."
            raise Interrupted(
                f"Interrupted: {message}", sweep_report(wanted, goals, results)
            ) from None
        report = sweep_report(wanted, goals, results)
        if not goals.is_reached(results):
            message = f"{progress_in_words(goals, results)} The same command does the rest."
            report = report.plus(f"Stopped after {time}: {message}")
        return report


@reporting
def paper(
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="Folder for the report, its figures and tables, and the store of runs.",
        ),
    ] = Path("paper"),
    runs: Annotated[
        int | None,
        typer.Option(help="Runs per row, a multiple of ten (default: chosen row by row)."),
    ] = None,
    max_n: Annotated[
        int | None, typer.Option(help="Largest number of processors, 4 to 2^24 (default: 2^24).")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="At least 100 runs of every row; not with --runs.")
    ] = False,
    cluster: Cluster = None,
) -> Report:
    """Reproduce the paper's tables and figures, with verdicts; skip finished runs."""
    from popsnet.sweeps.cluster import open_cluster

    try:
        with nullcontext() if cluster is None else open_cluster(cluster) as executor:
            done = popsnet.paper.reproduce(
                out, runs=runs, max_n=max_n, full=full, show=show_table, executor=executor
            )
        report = done.report()
    except KeyboardInterrupt:
        message = f"Interrupted: finished runs are in {out}. The same command continues."
        raise Interrupted(message) from None
    parts = (replace(one, columns=()) if isinstance(one, Table) else one for one in report.parts)
    return replace(report, parts=tuple(parts))  # the tables were shown
