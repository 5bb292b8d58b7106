"""The command line: which commands there are, and how a program that failed ends."""

from __future__ import annotations

import errno
import io
import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Annotated, Any

import typer

import popsnet
from popsnet.base import progress
from popsnet.base.errors import InputError, PopsnetError, lacks_memory
from popsnet.base.system import available_memory, format_bytes
from popsnet.base.terminal import escape_controls
from popsnet.cli import about, advice, computing, experiments, limits, route, signals, traffic, view
from popsnet.cli.output import UserCodeError, in_flags, say
from popsnet.cli.signals import ExitCode
from popsnet.cli.usage import Command, Group

_COMMANDS: dict[str, tuple[Callable[..., None] | typer.Typer, ...]] = {
    "Start here": (view.demo, view.view, route.route, advice.compare, advice.plan),
    "Traffic": (traffic.traffic, traffic.schedule, traffic.check),
    "Experiments": (experiments.sweep, experiments.results, advice.faults, experiments.paper),
    "Limits and theory": (limits.theory, limits.exact, limits.distribution, limits.adversary),
    "Sorting and computing": (computing.sort, computing.compute, computing.sorting_network),
    "Hardware": (advice.budget,),
    "About": (about.routers, about.doctor, about.cite),
}
"""As ``popsnet --help`` lists them."""


class _Popsnet(Group):
    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of the commands; Typer would list groups of commands last."""
        every = (item for members in _COMMANDS.values() for item in members)
        names = (i.info.name if isinstance(i, typer.Typer) else i.__name__ for i in every)
        return [str(name).replace("_", "-") for name in names]


app = typer.Typer(
    name="popsnet",
    cls=_Popsnet,
    help="Simulate routing on Partitioned Optical Passive Star networks.\n\nA POPS(D, G) has G "
    "groups of D processors, and an optical coupler from every group to every group. In a slot a "
    "coupler carries one message to every listener in a group; two messages at once destroy each "
    "other.",
    epilog="New here? popsnet demo shows two routers at work in your browser.",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"popsnet {popsnet.__version__}")
        raise typer.Exit


@app.callback()
def _popsnet(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


for panel, members in _COMMANDS.items():
    for member in members:
        if isinstance(member, typer.Typer):
            app.add_typer(member, cls=Group, rich_help_panel=panel)
            for command in member.registered_commands:
                command.cls = Command
        else:
            app.command(cls=Command, rich_help_panel=panel)(member)


def main() -> None:
    """Run the command line; see :class:`ExitCode` for how it ends."""
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± is no reason to fail
    warnings.formatwarning = _worded
    progress.writes_lines = True
    with signals.interrupting():
        try:
            code = _flushed(_run())
        except KeyboardInterrupt:  # in the last lines of either
            code = _interrupted()
        finally:
            progress.writes_lines = False
    sys.exit(int(code))


def _run() -> int:
    """Run the command that is typed; return its exit code."""
    try:
        code = int(app(prog_name="popsnet", standalone_mode=False) or ExitCode.DONE)
        return signals.exit_code() if code == ExitCode.INTERRUPTED else code
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):
            return ExitCode.BROKEN_PIPE
        return end.code if isinstance(end.code, int) else int(bool(end.code))
    except Exception as error:
        return _interrupted() if signals.was_interrupted() else _of_error(error)


def _of_error(error: Exception) -> int:
    """Say what failed; an exception that is not raised on purpose is a fault of popsnet."""
    if isinstance(error, UserCodeError):
        say(f"Error: {error}")
        return ExitCode.FAILED
    if isinstance(error, PopsnetError):
        _complain(in_flags(str(error), error.parameter, error.others))
        if _lacks_room(error):
            return ExitCode.CANNOT_WRITE
        return ExitCode.BAD_INPUT if isinstance(error, InputError) else ExitCode.FAILED
    if lacks_memory(error):
        return _out_of_memory(error)
    if isinstance(error, OSError):
        return _of_os_error(error)
    if not hasattr(error, "format_message"):
        raise error
    return _of_usage_error(error)


def _out_of_memory(error: Exception) -> int:
    """Say that memory ran out, and what takes less."""
    what = f": {error}" if isinstance(error, MemoryError) and str(error) else ""
    _complain(
        f"Memory ran out{what.rstrip('.')}; {format_bytes(available_memory())} are available here. "
        "Use a smaller network, fewer runs or workers, another router or --engine fused, or allow "
        "more memory (ulimit -v)."
    )
    return ExitCode.FAILED


def _of_usage_error(error: Exception) -> int:
    """Say what cannot be understood, and where the help is."""
    _complain(error.format_message())  # type: ignore[attr-defined]
    if (context := getattr(error, "ctx", None)) is not None:
        say(context.get_usage())
        say(f"Help: {context.command_path} --help")
    return ExitCode.BAD_INPUT


def _of_os_error(error: OSError) -> int:
    if isinstance(error, BrokenPipeError):
        return ExitCode.BROKEN_PIPE
    if not _is_of_output(error):
        _complain(str(error))
        return ExitCode.BAD_INPUT
    is_named = error.filename is not None
    _complain(str(error) if is_named else f"The output could not be written: {error.strerror}.")
    return ExitCode.CANNOT_WRITE


def _is_of_output(error: BaseException) -> bool:
    """Whether something could not be written for lack of room, or because the device failed."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_FULL", "SQLITE_IOERR"))


def _lacks_room(error: BaseException | None) -> bool:
    return error is not None and (_is_of_output(error) or _lacks_room(error.__cause__))


def _interrupted() -> int:
    say("Interrupted.")
    return signals.exit_code()


def _flushed(code: int) -> int:
    """Write what is left of the output, and return how the command ends."""
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _of_os_error(error) if code == ExitCode.DONE else code
        with suppress(OSError):  # or Python would try again, and complain
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code


def _complain(text: str, most: int = 1_500) -> None:
    """Print an error; a very long one, which repeats what was given, without its middle.

    A line break in it is part of a name, and would begin a line of its own.
    """
    text = escape_controls(text, lines=False)
    if len(text) > most:
        text = f"{text[: most // 2]} … {text[-most // 2 :]}"
    say(f"Error: {text}")


_as_python_does = warnings.formatwarning


def _worded(message: Warning | str, category: type[Warning], *place: Any, **line: Any) -> str:
    """Return what a warning says; where popsnet gives it is of no use."""
    if category.__module__.startswith("popsnet."):
        return f"Warning: {message}\n"
    return _as_python_does(message, category, *place, **line)


def _open_closed_streams() -> None:
    """Give closed streams an end: or the next file to be opened would take their place."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123
