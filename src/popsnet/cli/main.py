"""The command line: which commands there are, and how a program that failed ends."""

from __future__ import annotations

import io
import itertools
import os
import re
import sys
from typing import Annotated

import typer

import popsnet
from popsnet.cli import (
    adversary,
    check,
    cite,
    compare,
    compute,
    doctor,
    exact,
    paper,
    plan,
    results,
    route,
    routers,
    schedule,
    sort,
    sorting_network,
    sweep,
    theory,
    view,
)
from popsnet.errors import InputError, PopsnetError

app = typer.Typer(
    name="popsnet",
    help="On-line permutation routing on Partitioned Optical Passive Star networks.",
    no_args_is_help=True,
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


_COMMANDS = {
    "Route and compare": (route.route, compare.compare, plan.plan, routers.routers),
    "Schedule and compute": (schedule.schedule, sort.sort, compute.compute),
    "Experiments": (sweep.sweep, paper.paper),
    "Theory": (theory.theory, exact.exact, sorting_network.sorting_network),
    "Tools": (view.view, check.check, doctor.doctor, cite.cite),
}
"""As ``popsnet --help`` lists them."""

for panel, commands in _COMMANDS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(results.app, name="results", rich_help_panel="Experiments")
app.add_typer(adversary.app, name="adversary", rich_help_panel="Theory")


def _refuse_negative_sizes(arguments: list[str]) -> None:
    """A negative size looks like an option; say what it is instead of 'no such option'."""
    rule = "N >= 1 wires" if arguments[:1] == ["sorting-network"] else "D >= 1 and G >= 1"
    for before, argument in itertools.pairwise(arguments):
        if re.fullmatch(r"-\d+", argument) and not before.startswith("--"):
            raise InputError(f"{argument} is below 1: a network has {rule}.")


_PARAMETERS = "|".join(
    ("all_packets", "dimension", "engine", "growth", "largest", "max_n", "max_steps", "most_slots",
     "paths", "permutation", "permutation_seed", "router", "runs", "seed", "shards", "slots",
     "trace", "upto", "variant", "workers")
)  # fmt: skip


def with_flags(text: str) -> str:
    """Turn the names of parameters, in which the library speaks, into those of options.

    >>> with_flags("runs = 0: give at least 1. Use engine='slots'.")
    '--runs 0: give at least 1. Use --engine slots.'
    >>> with_flags("all_packets = True is for mei-rizzi.")
    '--all-packets is for mei-rizzi.'
    """
    where = r"\b" if ", grid " not in text else "^"  # a sweep's file has keys of these names
    text = re.sub(rf"{where}({_PARAMETERS}) = True\b", lambda name: _flag(name[1]), text)
    text = re.sub(rf"{where}({_PARAMETERS}) = ", lambda name: f"{_flag(name[1])} ", text)
    return re.sub(
        rf"\b({_PARAMETERS})='([^']*)'", lambda found: f"{_flag(found[1])} {found[2]}", text
    )


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _was_interrupted(end: BaseException | None) -> bool:
    """Whether an interrupt that nobody has dealt with is what ended the program."""
    while end is not None and not isinstance(end, KeyboardInterrupt):
        end = end.__cause__ or (None if end.__suppress_context__ else end.__context__)
    return end is not None


def main() -> None:
    """Run the command line: exit code 2 for bad input, 1 for a failed check, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± is no reason to fail
    try:
        _refuse_negative_sizes(sys.argv[1:])
        try:
            app()
        finally:
            sys.stdout.flush()
    except SystemExit as end:
        if _was_interrupted(end):
            print("Interrupted.", file=sys.stderr)
        raise
    except PopsnetError as error:
        print(f"Error: {with_flags(str(error))}", file=sys.stderr)
        sys.exit(2 if isinstance(error, InputError) else 1)
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        print(f"Error: {error}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(2)
    except (KeyboardInterrupt, SystemError) as end:
        if not _was_interrupted(end):  # compiled code wraps an interrupt in a SystemError
            raise
        print("Interrupted.", file=sys.stderr)
        sys.exit(130)
    except Exception as error:
        from popsnet.routing.plugin import users_frames

        if not (frames := users_frames(error)):
            raise
        print(f"Error: the code of a router failed.\n{frames}", end="", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
