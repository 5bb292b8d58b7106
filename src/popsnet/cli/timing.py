"""The options that turn slots into nanoseconds, the same for all commands that print slots."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from popsnet.cli import options as opt
from popsnet.cli.output import add_options
from popsnet.errors import InputError
from popsnet.report import Report

if TYPE_CHECKING:
    from popsnet import Timing

    Timed = Timing | None
else:
    Timed = object
"""The type of the parameter ``timing`` of a command, which no option has."""


def _option(
    metavar: str, help_text: str, complete: Callable[[str], list[str]] | None = None
) -> Any:
    made = typer.Option(
        metavar=metavar, help=help_text, rich_help_panel="Time", autocompletion=complete
    )
    return Annotated[str | None, made]


_OPTIONS = {
    "timing": _option(
        "PRESET", "Slots of pulse, sirius or shale. Options below replace theirs.",
        opt.complete_timing,
    ),
    "slot": _option("TIME", "Length of a slot, such as 20ns: print times, too."),
    "guard": _option("TIME", "Part of a slot without bits, such as 2ns."),
    "rate": _option("RATE", "Line rate, such as 100Gbps."),
    "fibre": _option("LENGTH", "Fibre from processor to processor, such as 10m."),
}  # fmt: skip


def timed(command: Callable[..., Report]) -> Callable[..., Report]:
    """Give a command with a parameter ``timing`` the options that make one."""

    @wraps(command)
    def run(**options: Any) -> Report:
        given = {name: options.pop(name) for name in _OPTIONS}
        return command(timing=_timing(given.pop("timing"), given), **options)

    add_options(run, command, _OPTIONS, instead_of="timing")
    return run


def _timing(preset: str | None, options: dict[str, str | None]) -> Timed:
    """Return the timing that options ask for, None if there are none of them."""
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if preset is None and not given:
        return None
    from popsnet.hardware import TIMINGS, Timing, find_preset

    if preset is None:
        if "slot" not in given:
            raise InputError(
                f"--{next(iter(given))} is given without a slot; give --slot, such as 20ns, or "
                f"--timing: {', '.join(TIMINGS)}."
            )
        return Timing(**given)
    return find_preset("timing", preset, TIMINGS).replaced(**given)
