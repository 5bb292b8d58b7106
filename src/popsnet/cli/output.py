"""How every command prints its report: as text, as JSON or as CSV; and how it ends."""

from __future__ import annotations

import json as json_format
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, redirect_stdout, suppress
from contextvars import ContextVar
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer
from typer.models import OptionInfo

from popsnet.cli import signals
from popsnet.cli.signals import ExitCode
from popsnet.errors import InputError, PopsnetError
from popsnet.progress import patient_progress
from popsnet.report import Fact, Report, Table
from popsnet.terminal import visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import RenderableType

Command: TypeAlias = Callable[..., Report]

_OPTIONS = {
    "json": Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")],
    "csv": Annotated[bool, typer.Option("--csv", help="Print the table as CSV instead of text.")],
}

_for_people: ContextVar[bool] = ContextVar("for_people", default=True)
_options: ContextVar[str] = ContextVar("options", default="(?!)")
"""The names of the command's options as a regular expression; before there is one, of none."""


class Interrupted(Exception):
    """Ctrl-C when part of the work is done: what to say, and the report of that part."""

    def __init__(self, message: str, report: Report | None = None) -> None:
        super().__init__(message)
        self.report = report


class UserCodeFailed(Exception):
    """The code of a user's file raised an exception: which file, its lines, and the exception."""


def reporting(command: Command) -> Callable[..., None]:
    """Give a command that returns a report the options --json and --csv, and print the report.

    A report that is not ok ends with ``FAILED``, and its cure goes to standard error. With --json
    or --csv, standard output has the report alone: what a user's own code prints goes to standard
    error, and so does the verdict of a check that failed.
    """

    @wraps(command)
    def run(*, json: bool, csv: bool, **options: object) -> None:
        if json and csv:
            raise InputError("--json and --csv are two forms of one report; give one of them.")
        for_machines, message = json or csv, ""
        _for_people.set(not for_machines)
        _options.set(names)
        with redirect_stdout(sys.stderr) if for_machines else nullcontext():
            try:
                report: Report | None = command(**options)
            except Interrupted as stop:
                report, message = stop.report, str(stop)
                report = report and report.plus(Fact("interrupted", True))
            except KeyboardInterrupt:
                report, message = None, "Interrupted."
            except PopsnetError:
                raise
            except Exception as error:
                if not signals.was_interrupted() and (text := _failure_of_user_code(error)):
                    raise UserCodeFailed(text) from None
                raise
        if report is not None:
            _print(report, json, csv)
        if message:
            say(message)
            raise typer.Exit(signals.exit_code())
        if report is not None and not report.ok:
            for text in (report.verdict if for_machines else "", report.cure):
                if text:
                    say(with_flags(text))
            raise typer.Exit(ExitCode.FAILED)

    parameters = add_options(run, command, _OPTIONS, default=False, returns=None)
    names = "|".join(one.name for one in parameters if _is_option(one))
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


def add_options(
    run: Callable[..., Any],
    command: Command,
    added: Mapping[str, object],
    instead_of: str = "",
    default: bool | None = None,
    returns: object = Report,
) -> list[Parameter]:
    """Let typer see the parameters of a command and others, perhaps instead of one, as options."""
    own = signature(command, eval_str=True).parameters.values()
    named = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own if one.name != instead_of]
    named += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, annotation in added.items()
    ]
    run.__signature__ = Signature(named, return_annotation=returns)  # type: ignore[attr-defined]
    return named


def _is_option(parameter: Parameter) -> bool:
    """Whether a parameter is typed with its name, and not by its place."""
    said = getattr(parameter.annotation, "__metadata__", ())
    return any(isinstance(one, OptionInfo) for one in said)


def _failure_of_user_code(error: Exception) -> str:
    """Say which lines of a user's file failed, before others take the exception for their own."""
    if "popsnet.programs.register" not in sys.modules:
        return ""
    from popsnet.programs.register import explain_failure

    return explain_failure(error)


def say(text: str) -> None:
    """Print a text to standard error, with the line breaks that it has and no other controls."""
    with suppress(OSError):  # there is no one to tell
        print(visible(text), file=sys.stderr, flush=True)


def with_flags(text: str, options: str = "") -> str:
    """Turn the names of parameters, in which the library speaks, into options of the command.

    >>> with_flags("runs = 0: give at least 1. Use engine='slots'.", "engine|runs")
    '--runs 0: give at least 1. Use --engine slots.'
    >>> with_flags("all_packets = True is for n = 5.", "all_packets")
    '--all-packets is for n = 5.'
    """
    names = rf"({options or _options.get()})"
    of_file = re.search(r", (grid|traffic) \d+: ", text)  # which has keys of these names
    where = "^" if of_file else r"\b"
    text = re.sub(rf"{where}{names} = True\b", lambda name: _flag(name[1]), text)
    text = re.sub(rf"{where}{names} = ", lambda name: f"{_flag(name[1])} ", text)
    return re.sub(rf"\b{names}='([^']*)'", lambda found: f"{_flag(found[1])} {found[2]}", text)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def for_people() -> bool:
    """Whether people read the output, and not a program."""
    return _for_people.get()


def show(table: Table) -> None:
    """Print a table at once, before the report is finished, if people read the output."""
    if for_people():
        _print_parts(table.renderables())
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


def with_figure(report: Report, path: Path | None, draw: Callable[[], Figure]) -> Report:
    """Draw a figure if it is asked for, and say so in the report."""
    if path is None:
        return report
    from popsnet.plots.style import save_one

    figure = draw()
    with patient_progress(f"drawing {path.name}", None):
        save_one(figure, path)
    return with_file(report, "Figure", path, "figure")


def _print(report: Report, json: bool, csv: bool) -> None:
    if json:
        typer.echo(json_format.dumps(report.to_dict(), indent=2))
    elif csv:
        typer.echo(report.csv(), nl=False)
        first, *rest = report.tables or [report.first_table]
        if others := [one.name for one in rest if one.columns and one.name != first.name]:
            say(f"Not in the CSV: {', '.join(others)}; --json has all tables.")
    else:
        _print_parts(report.renderables())


def _print_parts(parts: Iterable[RenderableType]) -> None:
    from rich.console import Console

    from popsnet.report.table import rendered

    if text := rendered(Console(highlight=False), parts):
        typer.echo(text)
