"""Runs as a notebook shows them: repeated with their messages recorded, and played on a page."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import popsnet
from popsnet.base.errors import InputError, PopsnetError, as_path
from popsnet.base.progress import patient_progress
from popsnet.base.report import Column, Fact, Report, Row, Table, plural
from popsnet.base.terminal import escape_controls
from popsnet.engines import Outcome, choose_engine
from popsnet.experiment.experiment import Experiment
from popsnet.runs.run import Run, Runs, require_traceable, write_trace
from popsnet.runs.schedule_check import ScheduleCheck
from popsnet.runs.summary import LABELS, cure_of, seeds_of
from popsnet.trace import Event
from popsnet.trace.checker import TraceCheck, check_trace
from popsnet.trace.viewer import MOST_TEXT, Page, Recording, require_showable, too_long

_MOST_INLINE = 16_000_000
"""Bytes of a trace that a run may show by itself: a notebook stores its pages."""


def record(experiment: Experiment, number: int, room: int = MOST_TEXT) -> tuple[Run, Recording]:
    """Run an experiment and record its messages, in at most ``room`` bytes."""
    require_showable(experiment.network)
    file = _BoundedText(f"{experiment.router} ({experiment.variant})", room)
    with patient_progress(f"{experiment.router} on {experiment.network}") as report:

        def watch(event: Event) -> None:
            report(detail=f"step {event.step + 1}, {event.pending:,} packets pending")

        run = write_trace(experiment, number, file, [watch])
    return run, Recording.of(file.getvalue())


def recorded(run: Run, room: int = MOST_TEXT) -> Recording:
    """Repeat a run and record its messages.

    Raises
    ------
    InputError
        If the outcome differs from that of the run, or if the trace is longer than ``room`` bytes.
    """
    again, recording = record(run.experiment, run.number, room)
    if _counts(again.outcome) != _counts(run.outcome):
        raise InputError(
            "Repeating the run gave a different outcome: a file that it needs has changed, or its "
            "router draws random numbers outside of coins. Run the experiment again."
        )
    return recording


def shown(run: Run) -> str:
    """Return a run as HTML: the page that plays it, or a table and why there is no page."""
    try:
        return Page.of([recorded(run, _MOST_INLINE)])._repr_html_()
    except PopsnetError as error:
        return _table(run, str(error))


def view(*runs: Run | Experiment | ScheduleCheck | Path | str) -> Page:
    """Return the page that plays runs or traces slot by slot, side by side.

    As the last line of a notebook's cell the page is shown there. ``save`` writes it to a file.

    Parameters
    ----------
    runs : Run, Experiment, ScheduleCheck, Path or str
        Runs, experiments, of which the first run is executed, schedules that were checked, or files
        with traces. All must have the same network and packets.

    Returns
    -------
    Page
        One HTML file that needs no network and no server.

    Raises
    ------
    InputError
        If the runs cannot be shown, or not together. More than 256 groups cannot be shown.

    See Also
    --------
    popsnet.runs.notebook.page_of : Return a report as well.

    Examples
    --------
    >>> import popsnet
    >>> run = popsnet.route(4, 4, router="mei-rizzi")[0]
    >>> page = popsnet.view(run, popsnet.Experiment(4, 4, router="relay", variant="S"))
    >>> page.title
    'POPS(4, 4): mei-rizzi (published), relay (S)'
    """
    return page_of(*runs)[0]


def page_of(*runs: Run | Experiment | ScheduleCheck | Path | str) -> tuple[Page, Report]:
    """Return the page that plays runs side by side, and a report with one row per run.

    A trace that breaks rules of the network is shown too, and the report says so.

    Parameters
    ----------
    runs : Run, Experiment, ScheduleCheck, Path or str
        As for :func:`popsnet.view`.

    Returns
    -------
    tuple of Page and Report
        The page, and the slots, deliveries, losses and collisions of each run.

    Examples
    --------
    >>> from popsnet import Experiment
    >>> from popsnet.runs.notebook import page_of
    >>> page, report = page_of(Experiment(4, 4, router="direct"))
    >>> report.to_dict()["outcomes"][0]["slots"]
    4
    """
    traces = [_require(run) for run in runs]
    if shown := [trace for trace in traces if trace is not None]:
        Page.require(shown)
    _require_distinct([run for run in runs if isinstance(run, Experiment)])
    recordings: list[Recording] = []
    rows: list[dict[str, object]] = []
    room, played = MOST_TEXT, list[Run]()
    for entry, trace in zip(runs, traces, strict=True):
        if isinstance(entry, Run | Experiment):
            run, recording = (
                (entry, recorded(entry, room)) if isinstance(entry, Run) else record(entry, 0, room)
            )
            row = _row(run.experiment, run.outcome)
            played.append(run)
        else:
            assert trace is not None
            recording, row = trace, _row_of_check(entry)
        room -= len(recording.text)
        recordings.append(recording)
        rows.append(row)
    page = Page.of(recordings)
    columns = tuple(column for column in _COLUMNS if any(column.key in row for row in rows))
    notes = (_violations(row) for row in rows if row.get("violation_count"))
    parts: tuple[Table | str, ...] = (Table("outcomes", "", columns, rows), *notes)
    title, facts = escape_controls(page.title, lines=False), (Fact("title", page.title),)
    cure, verdict = cure_of(played), _verdict(rows)
    same = {"popsnet_version": popsnet.__version__}
    return page, Report(title, facts, parts, verdict, not verdict, cure, ("max_steps",), same)


_COLUMNS = (
    Column("router", kind="text", show=lambda row: escape_controls(_name(row), lines=False)),
    Column("trace", kind="text"),
    Column("slots", kind="integer"),
    Column("delivered", show=lambda row: f"{row['delivered']:,} of {row['packets']:,}"),
    Column("lost", show=lambda row: "not recorded" if row["lost"] is None else f"{row['lost']:,}"),
    Column("unreachable", show=lambda row: f"{row.get('unreachable', 0):,}"),
    Column("collisions", kind="integer"),
)


def _name(row: Row) -> str:
    return f"{row['router']} ({row['variant']})" if row["variant"] else str(row["router"])


def _require(run: Run | Experiment | ScheduleCheck | Path | str) -> Recording | None:
    """Refuse what cannot be shown, and return the trace if it is in a file."""
    if isinstance(run, Runs):
        raise InputError(f"{run!r} has several runs; give one of them, as in runs[0].")
    if isinstance(run, ScheduleCheck):
        return Recording.of(run.trace, run.name)
    if isinstance(run, Path | str):
        return Recording.read(as_path("runs", run))
    if not isinstance(run, Run | Experiment):
        raise InputError(
            f"{type(run).__name__} {run!r:.40} cannot be shown; give single runs, experiments, or "
            "names of files with traces."
        )
    experiment = run if isinstance(run, Experiment) else run.experiment
    require_showable(experiment.network)
    require_traceable(experiment)
    choose_engine("slots", experiment, traced=True)  # refuses what does not fit
    return None


def _require_distinct(experiments: Sequence[Experiment]) -> None:
    for experiment in experiments:
        if experiments.count(experiment) > 1:
            program = f"{experiment.router} ({experiment.variant})"
            raise InputError(f"{program} is given twice; give it once.")


def _row(of: Experiment | TraceCheck, result: Outcome | TraceCheck) -> dict[str, object]:
    """Return the router, network and counts of a run, or of a trace that was checked."""
    whose = {"router": of.router, "variant": of.variant, **of.network.columns()}
    counts = {name: getattr(result, name) for name in ("slots", "delivered", "lost", "collisions")}
    of_faults = {}
    if isinstance(result, Outcome) and result.faulty is not None:
        of_faults = {"unreachable": result.faulty.unreachable, "held": result.faulty.held}
    elif isinstance(result, TraceCheck) and result.faulty:
        of_faults = {"unreachable": result.unreachable}
    seeds = seeds_of(of) if isinstance(of, Experiment) else {}
    return {**whose, **seeds, "packets": of.packets, **counts, **of_faults}


def _row_of_check(entry: ScheduleCheck | Path | str) -> dict[str, object]:
    """Return the row of a schedule that was checked; check a trace, and refuse one that is torn."""
    if isinstance(entry, ScheduleCheck):
        check, name = entry.result, entry.name
    else:
        path = Path(entry)
        with patient_progress(f"checking {path.name}", path.stat().st_size) as update:
            check, name = check_trace(path, update), str(path)
    return _row(check, check) | {
        **({"held": check.held, "refused": check.refused} if check.traffic else {}),
        "lost": len(check.lost) if check.tells_holdings else None,
        "trace": name,
        "ok": check.ok,
        "violation_count": check.violation_count,
        "first_violation": None if check.ok else str(check.violations[0]),
    }


def _verdict(rows: Sequence[Row]) -> str:
    """Return which checks failed, if any did."""
    missing = sum(
        row["packets"] - row["delivered"] - row.get("unreachable", 0)
        for row in rows
        if "refused" not in row
    )
    if missing:
        return f"FAILED: {plural(missing, 'packet')} not delivered."
    broken = any(row.get("violation_count") for row in rows)
    return "FAILED: a rule of the network is broken." if broken else ""


def _violations(row: Row) -> str:
    violations = f"{plural(row['violation_count'], 'violation')} in {row['trace']}"
    return f"popsnet check finds {violations}, the first: {row['first_violation']}"


class _BoundedText(io.StringIO):
    """A text of limited length."""

    def __init__(self, name: str, room: int) -> None:
        super().__init__()
        self._name, self._room = name, room

    def write(self, text: str) -> int:
        if self.tell() + len(text) > self._room:
            raise too_long(
                f"The trace of {self._name} is longer than the {self._room:,} bytes that there is "
                "room for here"
            )
        return super().write(text)


def _counts(outcome: Outcome) -> Outcome:
    """Keep the counts that every engine reports."""
    return replace(outcome, peak_buffers=None, control_bits=None)


def _table(run: Run, reason: str) -> str:
    names = ("slots", "slots_delivered", "steps", "delivered", "lost", "collisions")
    words = {"delivered": "packets delivered", **LABELS}
    facts = [Fact(name, getattr(run, name), words[name]) for name in names]
    capped = "The run was capped. " if run.outcome.capped else ""
    note = f"{capped}There is no figure of this run. {reason}"
    return Report(str(run.experiment), tuple(facts), (note,))._repr_html_()
