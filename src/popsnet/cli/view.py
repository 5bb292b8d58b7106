"""``popsnet view``: a page that plays runs slot by slot."""

from __future__ import annotations

import json
import os
import re
import sys
import webbrowser
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from popsnet.cli.streams import user_code
from popsnet.engines import choose_engine
from popsnet.errors import InputError
from popsnet.experiment import Experiment
from popsnet.files import require_writable
from popsnet.network import Network
from popsnet.notebook import record
from popsnet.permutations.files import SUFFIXES
from popsnet.progress import patient_progress
from popsnet.runs.run import Run
from popsnet.runs.tracing import require_traceable
from popsnet.trace import Event
from popsnet.trace.checker import Report, check_trace
from popsnet.viewer import MOST_TEXT, Page, Recording, require_showable

__all__ = ["view_command"]

_INTERRUPTED = 130
_ROUTER = "mei-rizzi"
_NAMED = re.compile(r"(.+?\.py|[^:]+)(?::(.+))?", re.DOTALL)
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


@dataclass(frozen=True)
class _Shown:
    """A run on the page, in figures."""

    router: str
    variant: str
    d: int
    g: int
    packets: int
    slots: int
    delivered: int
    lost: int | None
    """None if its trace does not say."""
    collisions: int


@dataclass(frozen=True)
class _Checked(_Shown):
    """One that comes from a file."""

    trace: str
    ok: bool
    violation_count: int


def view_command(
    what: Sequence[str], *, out: Path, opened: bool, as_json: bool, **choices: Any
) -> None:
    """Read the traces or do the runs, write the page, open it; nothing is written before."""
    given = {name: value for name, value in choices.items() if value is not None}
    require_writable(out)
    try:
        if _is_network(what):
            _refuse_overwriting(_files_named(**given), out)
            with user_code(as_json):
                shown, recordings = _execute(int(what[0]), int(what[1]), **given)
        else:
            _refuse_choices(what, given)
            paths = [Path(name) for name in what]
            _refuse_overwriting(dict.fromkeys(paths, "a trace to be shown"), out)
            shown, recordings = _read(paths)
        page = Page.of(recordings)
    except KeyboardInterrupt:
        typer.echo("Interrupted: no page is written.", err=True)
        raise typer.Exit(_INTERRUPTED) from None
    page.save(out)
    if as_json:
        rows = [asdict(one) for one in shown]
        written = {"page": str(out), "bytes": out.stat().st_size, "title": page.title}
        typer.echo(json.dumps({**written, "runs": rows}, indent=2))
        return
    for one in shown:
        typer.echo(_sentence(one))
    seen = opened and _open(out)
    typer.echo(f"Page written to {out}{'' if seen else '; open it in a browser'}.")


def _is_network(what: Sequence[str]) -> bool:
    """Whether D and G are given, and not files."""
    numbers = [name for name in what if name.isascii() and name.isdigit()]
    if numbers and len(numbers) == len(what) == 2:
        return True
    if numbers:
        raise InputError(
            f"{' '.join(what)}: give D and G, two numbers, or the names of traces; a file that is "
            f"called {numbers[0]} is ./{numbers[0]}."
        )
    return False


def _refuse_choices(what: Sequence[str], given: dict[str, Any]) -> None:
    """A trace has all these already."""
    for name, value in given.items():
        shown = " ".join(value) if isinstance(value, list) else value
        raise InputError(
            f"--{name.replace('_', '-')} {shown} is for runs to be done, and {what[0]} is a trace "
            "of one; leave it out, or give D and G."
        )


def _files_named(router: Sequence[str] = (), permutation: str = "", **_: Any) -> dict[Path, str]:
    """The files that runs are done from, and what each of them is."""
    names = [named[1] for text in router if (named := _NAMED.fullmatch(text))]
    files = {Path(name): "the file of a router" for name in names if name.endswith(".py")}
    if Path(permutation).suffix.lower() in SUFFIXES:
        files[Path(permutation)] = "the permutation to be routed"
    return files


def _refuse_overwriting(files: Mapping[Path, str], out: Path) -> None:
    for path, what in files.items():
        if out.resolve() == path.resolve():
            raise InputError(
                f"--out {out} is {what}, and the page would take its place; give the page another "
                "name."
            )


def _execute(
    d: int, g: int, router: Sequence[str] = (_ROUTER,), **given: Any
) -> tuple[list[_Shown], list[Recording]]:
    """A run of each router, all on the same permutation."""
    require_showable(Network(d, g))
    experiments = [_experiment(d, g, text, given) for text in router]
    names = [(one.router, one.variant) for one in experiments]
    for text, name in zip(router, names, strict=True):
        if names.count(name) > 1:
            raise InputError(
                f"--router {text}: {name[0]} ({name[1]}) is given twice; once will do."
            )
    shown: list[_Shown] = []
    recordings: list[Recording] = []
    room = MOST_TEXT
    for experiment in experiments:
        run, recording = _record(experiment, room)
        room -= len(recording.text)
        recordings.append(recording)
        shown.append(_shown(run))
    return shown, recordings


def _experiment(d: int, g: int, text: str, given: dict[str, Any]) -> Experiment:
    named = _NAMED.fullmatch(text)
    if named is None:
        raise InputError(f"--router {text!r}: give the name of a router, or NAME:VARIANT.")
    experiment = Experiment(d, g, router=named[1], variant=named[2], **given)
    require_traceable(experiment)
    choose_engine("slots", experiment, traced=True)  # refuses what does not fit
    return experiment


def _record(experiment: Experiment, room: int) -> tuple[Run, Recording]:
    with patient_progress(f"{experiment.router} on {experiment.network}", None) as update:

        def watch(event: Event) -> None:
            update(0, f"step {event.step + 1}, {event.pending:,} packets pending")

        return record(experiment, 0, [watch], room)


def _shown(run: Run) -> _Shown:
    experiment, outcome = run.experiment, run.outcome
    network = experiment.network
    return _Shown(
        experiment.router, experiment.variant, network.d, network.g, network.n,
        outcome.slots, outcome.delivered, outcome.lost, outcome.collisions,
    )  # fmt: skip


def _read(paths: Sequence[Path]) -> tuple[list[_Shown], list[Recording]]:
    """The traces in files; one that breaks rules is shown all the same, and it is said."""
    recordings = [Recording.read(path) for path in paths]
    Page.require(recordings)
    shown: list[_Shown] = []
    for path in paths:
        with patient_progress(f"checking {path.name}", path.stat().st_size) as update:
            report = check_trace(path, update)
        shown.append(_checked(path, report))
        if not report.ok:
            count = report.violation_count
            typer.echo(
                f"popsnet check finds {count:,} {'violation' if count == 1 else 'violations'} in "
                f"{path}, the first: {report.violations[0]}",
                err=True,
            )
    return shown, recordings


def _checked(path: Path, report: Report) -> _Checked:
    return _Checked(
        report.router, report.variant, report.network.d, report.network.g, report.packets,
        report.slots, report.delivered, len(report.lost) if report.tells_holdings else None,
        report.collisions, str(path), report.ok, report.violation_count,
    )  # fmt: skip


def _sentence(one: _Shown) -> str:
    where = f", {one.trace}" if isinstance(one, _Checked) else ""
    lost = "losses not told" if one.lost is None else f"{one.lost:,} lost"
    return (
        f"{one.router} ({one.variant}) on POPS({one.d}, {one.g}){where}: {one.slots:,} "
        f"{'slot' if one.slots == 1 else 'slots'}, "
        f"{one.delivered:,} of {one.packets:,} packets delivered, {lost}, "
        f"{one.collisions:,} {'collision' if one.collisions == 1 else 'collisions'}"
    )


def _open(page: Path) -> bool:
    """Show the page, where there is a screen; say whether a browser took it."""
    if sys.platform == "linux" and not any(os.environ.get(name) for name in _SCREENS):
        return False
    try:
        return webbrowser.open(page.resolve().as_uri())
    except webbrowser.Error:
        return False
