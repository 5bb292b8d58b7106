"""How every command prints its report: as text, as JSON or as CSV; and how it ends."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, redirect_stdout, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from popsnet.base.errors import InputError, PopsnetError
from popsnet.base.progress import patient_progress
from popsnet.base.report import Fact, Report, Table
from popsnet.base.terminal import escape_controls
from popsnet.cli import signals
from popsnet.cli.options import FigureOptions, Options, described, summary_of, texts_of
from popsnet.cli.signals import ExitCode

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

Command: TypeAlias = Callable[..., Report]


_for_people: ContextVar[bool] = ContextVar("for_people", default=True)
flags: ContextVar[Mapping[str, str]] = ContextVar("flags", default={})  # noqa: B039
"""The options of the command that is called, by the names of the parameters that they give."""


class Interruption(Exception):
    """Ctrl-C when part of the work is done: what to say, and the report of that part."""

    def __init__(self, message: str, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report


class UserCodeError(Exception):
    """The code of a user's file raised an exception: which file, its lines, and the exception."""


def reporting(command: Command) -> Callable[..., None]:
    """Give a command that returns a report the options --json and --csv, and print the report.

    A report that is not ok ends with ``FAILED``, and its cure goes to standard error. With --json
    or --csv, standard output has the report alone: what a user's own code prints goes to standard
    error, and so does the verdict of a check that failed.
    """
    own, groups = _expanded(command)

    @wraps(command)
    def run(**options: Any) -> None:
        form = _FormOptions.taken(options)
        if form.json and form.csv:
            raise InputError("--json and --csv are two forms of one report; give one of them.")
        for_machines, message = form.json or form.csv, ""
        _for_people.set(not for_machines)
        with redirect_stdout(sys.stderr) if for_machines else nullcontext():
            try:
                for name, group in groups.items():
                    options[name] = group.taken(options).value()
                report: Report | None = command(**options)
            except Interruption as stop:
                report, message = stop.report, str(stop)
                report = report and report.plus(Fact("interrupted", True))
            except KeyboardInterrupt:
                report, message = None, "Interrupted."
            except PopsnetError:
                raise
            except Exception as error:
                if not signals.was_interrupted() and (text := _failure_of_user_code(error)):
                    raise UserCodeError(text) from None
                raise
        if report is not None:
            report = _in_flags(report)
            _print(report, form)
        if message:
            say(message)
            raise typer.Exit(signals.exit_code())
        if report is not None and not report.ok:
            for text in filter(None, (report.verdict * for_machines, report.cure)):
                say(text)
            raise typer.Exit(ExitCode.FAILED)

    own += _FormOptions.parameters()
    run.__doc__ = summary_of(command.__doc__)
    run.__signature__ = Signature(own)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in own}
    return run


@dataclass(frozen=True)
class _FormOptions(Options):
    """How a report is printed.

    Parameters
    ----------
    json
        Print one JSON object instead of text.
    csv
        Print the table as CSV instead of text.
    """

    json: bool = False
    csv: bool = False


def _expanded(command: Command) -> tuple[list[Parameter], dict[str, type[Options]]]:
    """Return the parameters of a command, and those that stand for several options."""
    parameters, groups, texts = [], {}, texts_of(command.__doc__)
    for parameter in signature(command, eval_str=True).parameters.values():
        if (group := _group_of(parameter.annotation)) is None:
            parameters.append(described(parameter, texts))
        else:
            groups[parameter.name] = group
            parameters += group.parameters()
    return parameters, groups


def _group_of(annotation: Any) -> type[Options] | None:
    for annotated in (annotation, *getattr(annotation, "__metadata__", ())):
        if isinstance(annotated, type) and issubclass(annotated, Options):
            return annotated
    return None


def _failure_of_user_code(error: Exception) -> str:
    """Say which lines of a user's file failed, before others take the exception for their own."""
    if "popsnet.programs.register" not in sys.modules:
        return ""
    from popsnet.programs.register import explain_failure

    return explain_failure(error)


def say(text: str) -> None:
    """Print a text to standard error, with the line breaks that it has and no other controls."""
    with suppress(OSError):  # there is no one to tell
        print(escape_controls(text), file=sys.stderr, flush=True)


def in_flags(text: str, parameter: str = "", others: Iterable[str] = ()) -> str:
    """Show parameters, in which the library speaks, as options of the command.

    The text begins with the first of them, and names values of the others.

    >>> _ = flags.set({"runs": "--runs", "engine": "--engine", "every": "--all"})
    >>> in_flags("runs = 0: give 1, or use engine='slots'.", "runs", ["engine"])
    '--runs 0: give 1, or use --engine slots.'
    >>> in_flags("every = True: leave it out.", "every")
    '--all: leave it out.'
    """
    options = flags.get()
    if parameter in options and text.startswith(start := f"{parameter} = "):
        text = f"{options[parameter]} {text.removeprefix(start)}"
        text = text.replace(f"{options[parameter]} True:", f"{options[parameter]}:", 1)
    for name in options.keys() & {*others}:
        text = text.replace(f"{name} = True", options[name])
        text = text.replace(f"{name} = ", f"{options[name]} ")
        text = re.sub(f"{name}='([^']*)'", rf"{options[name]} \1", text)
    return text


def _in_flags(report: Report) -> Report:
    def shown(part: Any) -> Any:
        return in_flags(part, others=report.parameters) if isinstance(part, str) else part

    parts, verdict = tuple(map(shown, report.parts)), shown(report.verdict)
    return replace(report, parts=parts, verdict=verdict, cure=shown(report.cure))


def for_people() -> bool:
    """Whether people read the output, and not a program."""
    return _for_people.get()


def show(table: Table) -> None:
    """Print a table at once, before the report is finished, if people read the output."""
    if for_people():
        print_parts(table.renderables())
        typer.echo()


def with_file(report: Report, what: str, path: Path, key: str = "out") -> Report:
    """Say in the report that a file was written."""
    return report.plus(Fact(key, str(path)), f"{what} written to {path}.")


def with_trace(report: Report, trace: Path | None) -> Report:
    """Say in the report where the trace is, if one was written, and how to check it."""
    if trace is None:
        return report
    text = f"Trace written to {trace}; popsnet check {trace} replays it."
    return report.plus(Fact("trace", str(trace)), text)


def with_seconds(report: Report, seconds: float) -> Report:
    """Say in the report how long the runs took."""
    return report.plus(Fact("seconds", seconds), f"Routed in {seconds:,.2f} s.")


def with_figure(
    report: Report, options: FigureOptions | None, draw: Callable[[], Figure]
) -> Report:
    """Draw a figure if it is asked for, and say so in the report.

    The report remains if the figure has not what its layout changes: its numbers may have taken
    long.
    """
    if options is None or options.figure is None:
        return report
    from popsnet.plots.style import save_one

    figure, path = draw(), options.figure
    try:
        options.layout().apply(figure)
    except InputError as error:
        why = str(error).replace("labels = ", "--label ")
        return replace(report, ok=False, cure=f"No figure is written. {why}")
    with patient_progress(f"drawing {path.name}", None):
        save_one(figure, path)
    return with_file(report, "Figure", path, "figure")


def _print(report: Report, form: _FormOptions) -> None:
    if form.json:
        typer.echo(json.dumps(report.to_dict(), indent=2))
    elif form.csv:
        typer.echo(report.csv(), nl=False)
        first, *rest = report.tables or [report.first_table]
        if others := [table.name for table in rest if table.columns and table.name != first.name]:
            say(f"Not in the CSV: {', '.join(others)}; --json has all tables.")
    else:
        print_parts(report.renderables())


def print_parts(parts: Iterable[RenderableType]) -> None:
    """Print the parts of a report as text."""
    from rich.console import Console

    from popsnet.base.report.table import rendered

    if text := rendered(Console(highlight=False), parts):
        typer.echo(text)
